"""The tables into which a replay writes no cell again, since they have no rows when it begins."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from ingest.api import StoreUnavailableError
from ingest.observe.logs import logger
from ingest.plan.plan import Plan
from ingest.plan.stores import reading_store
from ingest.service.replay.plan import ReplayBatch
from sinks.bulk_load.feature import BulkLoad
from sinks.scanning.stored_rows import has_rows

_log = logger(__name__)


def empty_tables(plan: Plan, batches: Sequence[ReplayBatch]) -> Mapping[str, frozenset[str]]:
    """
    The tables with bulk load that have no rows: name of a store -> tables.

    A replay that resumes finds the rows that it has written. Tables with an owner are left out: their rows may be taken
    back and written again. A store that cannot be read now has none, so its tables get calls.

    Args:
        plan: of the sinks that run.
        batches: in the order in which they run. If their times do not rise, two may have one time, or a delete may be
            written before a row that it hides.
    """
    if not all(before.time_ms < after.time_ms for before, after in pairwise(batches)):
        return {}
    found = {}
    for name, tables in plan.tables_with(BulkLoad).items():
        names = tables.keys() - plan.owned_in(name)
        try:
            with reading_store(plan.stores[name]) as store:
                found[name] = frozenset(
                    table for table in names if store.families(table) is not None and not has_rows(store, table)
                )
        except StoreUnavailableError as error:
            _log.warning("rows are replayed in calls", pipeline=plan.pipeline, store=name, reason=str(error))
    return found
