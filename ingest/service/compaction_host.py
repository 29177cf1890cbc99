"""Compacts a table in a process of its own: in this process, or with a Spark session for the compaction alone."""

from collections.abc import Callable
from contextlib import ExitStack, nullcontext

from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.plan.assemble import plan_of
from ingest.plan.stores import owned_store, reading_store
from ingest.service.compaction import CompactionResult, Engine, InProcess, TableCompaction, updated_table
from ingest.service.compaction_request import CompactionRequest
from sinks.rewriting.groups_of_table import StoreCalls


def compact_alone(
    configuration: Configuration,
    catalog: Catalog,
    name: str,
    request: CompactionRequest,
    *,
    is_dry_run: bool = False,
    on_progress: Callable[[CompactionResult, int, int], None] = lambda _result, _done, _total: None,
) -> CompactionResult:
    """
    Compact a table in a process of its own.

    A store that only one process may write is opened for writing, so it is refused while a service runs; a dry run
    opens it for reading.

    Raises:
        NotFoundError: there is no such table.
        ConfigError: it has no deferred updates, or no pipeline of the file writes it.
        ConflictError: another process has locked the store, or compacts or rolls back the table.
        StoreError: the store is unavailable; what is done is complete, and another run does the rest.
    """
    table, pipeline = updated_table(configuration, name)
    plan = plan_of(configuration, pipeline, catalog)
    component = configuration.stores[table.store]
    with ExitStack() as opened:
        open_store = reading_store if is_dry_run else owned_store
        store = opened.enter_context(open_store(component, catalog))
        calls = StoreCalls(lambda: nullcontext(store))
        engine: Engine = InProcess(calls, plan, table.store)
        return TableCompaction(name, request, calls, engine).run(is_dry_run=is_dry_run, on_progress=on_progress)
