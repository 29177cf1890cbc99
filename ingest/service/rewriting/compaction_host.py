"""A compaction in a process of its own, with a Spark session if the tasks read its store."""

from collections.abc import Callable
from contextlib import ExitStack

from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.plan.assemble import plan_of
from ingest.plan.plan import Plan
from ingest.plan.stores import owned_store, reading_store
from ingest.plan.updates import live_merging
from ingest.service.rewriting.compaction import CompactionResult, TableCompaction, table_with_updates
from ingest.service.rewriting.compaction_request import CompactionRequest
from ingest.service.rewriting.table_group import table_group_beside
from ingest.service.rewriting.table_lease import one_at_a_time
from sinks.rewriting.compaction import UNIT_S
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.units import CompactionEngine, InProcess


def compact_alone(
    configuration: Configuration,
    catalog: Catalog,
    name: str,
    request: CompactionRequest,
    *,
    is_dry_run: bool = False,
    on_progress: Callable[[CompactionResult, int, int], None] = lambda _result, _done, _total: None,
    on_blocked: Callable[[str], None] = lambda _reason: None,
) -> CompactionResult:
    """
    Compact a table in a process of its own.

    A store that only one process may write is opened for writing, so it is refused while a service runs. A dry run
    reads the table in this process.

    Raises:
        NotFoundError: there is no such table.
        ConfigError: it has no deferred updates, or no pipeline of the file writes it.
        ConflictError: another process has locked the store, or compacts or rolls back the table.
        StoreError: the store is unavailable; what is done is complete, and another run does the rest.
    """
    table, pipeline = table_with_updates(configuration, name)
    plan = plan_of(configuration, pipeline, catalog)
    component = configuration.stores[table.store]
    with ExitStack() as opened:
        open_store = reading_store if is_dry_run else owned_store
        store = opened.enter_context(open_store(component, catalog))
        calls = StoreCalls(one_at_a_time(store))
        if is_dry_run or store.capabilities.written_by_driver:
            engine: CompactionEngine = InProcess(calls, live_merging(plan.updates[table.store][name]))
        else:
            engine = _on_spark(configuration, plan, table.store, opened)
        group = table_group_beside(configuration, pipeline, catalog, {table.store: calls}, opened)
        compaction = TableCompaction(table.spec(), request, calls, engine, group)
        return compaction.run(is_dry_run=is_dry_run, on_progress=on_progress, on_blocked=on_blocked)


def _on_spark(configuration: Configuration, plan: Plan, store: str, opened: ExitStack) -> CompactionEngine:
    """An engine with a session for the compaction alone."""
    from ingest.spark.jobs.compaction import SparkEngine
    from ingest.spark.session import close_session, open_session
    from ingest.spark.state import session_options

    session = open_session(f"attr2hbase compact {plan.pipeline}", **session_options(configuration))
    opened.callback(close_session, session)
    return SparkEngine(session, plan, store, session.sparkContext.defaultParallelism, seconds=UNIT_S)
