"""Who makes a dump: a Spark session for it alone, or a running service."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from ingest.api import ConfigError, FrozenView, LifecycleError, Store, StoreSettings
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config.model import Component, Configuration
from ingest.plan.assemble import live_store, store_component
from ingest.plan.stores import owned_store
from ingest.service.dumps.dump import UNIT_S, DumpEngine, TableDump
from ingest.service.dumps.plan import DumpSources, tables_of
from ingest.service.dumps.request import DumpRequest
from ingest.service.dumps.result import DumpResult
from ingest.spark.jobs.dump import DumpWork
from sinks.dumps.ranges import DumpRange, DumpUnit, Limits


def dump_alone(  # noqa: PLR0913 - the arguments of `TableDump` and of its run
    configuration: Configuration,
    catalog: Catalog,
    request: DumpRequest,
    engine: DumpEngine,
    *,
    on_progress: Callable[[DumpResult, int, int], None] = lambda _result, _done, _total: None,
    on_blocked: Callable[[str], None] = lambda _reason: None,
    limits: Limits | None = None,
    unit_s: float = UNIT_S,
    clock_ms: Callable[[], int] = now_ms,
) -> DumpResult:
    """
    Make a dump in a process of its own.

    A store that only one process may write is open for writing until the dump is complete, so it is refused while a
    service runs, and the service cannot start meanwhile.

    Args:
        configuration: declares stores and tables.
        catalog: of the configuration.
        request: which tables, where and how.
        engine: carries out units of work.
        on_progress: as in `TableDump.run`.
        on_blocked: as in `TableDump.run`.
        limits: as in `TableDump`.
        unit_s: as in `TableDump`.
        clock_ms: milliseconds since the epoch.

    Raises:
        ConflictError: another process has locked a store, or makes a dump in the root.
        IngestError: as `TableDump.run`.
    """
    tables = tables_of(configuration, request.tables)
    with ExitStack() as opened:

        def opened_store(component: Component[StoreSettings]) -> AbstractContextManager[Store[Any]]:
            return nullcontext(opened.enter_context(owned_store(configuration.stores[component.name], catalog)))

        dump = TableDump(
            request,
            sources_of(configuration, catalog, opened_store, opened),
            engine,
            limits=limits,
            unit_s=unit_s,
            clock_ms=clock_ms,
        )
        return dump.run([*tables], on_progress=on_progress, on_blocked=on_blocked)


def sources_of(
    configuration: Configuration,
    catalog: Catalog,
    opened_store: Callable[[Component[StoreSettings]], AbstractContextManager[Store[Any]]],
    opened: ExitStack,
) -> Callable[[Sequence[str]], DumpSources]:
    """
    The function from names of tables to what a dump of them reads.

    Args:
        configuration: declares stores and tables.
        catalog: of the configuration.
        opened_store: the store of a component, open for writing, for the time that it takes to freeze a view; it stays
            open until `opened` closes.
        opened: removes the views.
    """

    def freeze(name: str) -> FrozenView[StoreSettings] | None:
        component = store_component(configuration, name, catalog)
        if not live_store(component).capabilities.freezes:
            return None
        with opened_store(component) as store:
            view: FrozenView[StoreSettings] = store.freeze()
        opened.callback(view.remove)
        return view

    return lambda names: DumpSources(configuration, catalog, tables_of(configuration, names), freeze)


class SparkWhenNeeded:
    """
    A Spark session for a dump alone, which starts after the checks of the dump.

    Args:
        configuration: has the options of the session.
        opened: closes the session.
    """

    def __init__(self, configuration: Configuration, opened: ExitStack) -> None:
        self._configuration = configuration
        self._opened = opened
        self._engine: DumpEngine | None = None

    @property
    def tasks(self) -> int:
        """As of `DumpEngine`."""
        return self._started.tasks

    def start(self, tables: Sequence[str]) -> None:
        """
        Start the session.

        Raises:
            ConfigError: a table is in an embedded store, which the tasks of a cluster cannot read.
        """
        from ingest.spark.jobs.dump import SparkDump
        from ingest.spark.session import close_session, open_session
        from ingest.spark.state import session_options

        session = open_session("attr2hbase dump", **session_options(self._configuration))
        self._opened.callback(close_session, session)
        refuse_cluster_of_views(self._configuration, tables, str(session.sparkContext.master))
        self._engine = SparkDump(session, session.sparkContext.defaultParallelism)

    def unit(self, work: DumpWork, ranges: Sequence[DumpRange]) -> DumpUnit:
        """As of `DumpEngine`."""
        return self._started.unit(work, ranges)

    @property
    def _started(self) -> DumpEngine:
        if self._engine is None:
            raise LifecycleError("Spark is used before it has started")
        return self._engine


def refuse_cluster_of_views(configuration: Configuration, tables: Sequence[str], master: str) -> None:
    """
    Refuse a cluster master for tables of an embedded store.

    Raises:
        ConfigError: the tasks cannot read the store.
    """
    if master.startswith("local"):
        return
    for table, name in tables_of(configuration, tables).items():
        if configuration.stores[name].settings.own_folder is not None:
            raise ConfigError(
                f'table "{table}" is in the embedded store "{name}": tasks on a cluster cannot read it ("{master}")',
                hint="use a local master",
            )
