"""The dump: tables are written into files, by a command, a request, or once a day."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.amounts import counted
from ingest.api import ConfigError, FrozenView, IngestError, StoreSettings
from ingest.clock import now_ms
from ingest.config.model import Configuration
from ingest.config.options import SharedDumpOptions
from ingest.durable import file_errors
from ingest.observe.logs import logger
from ingest.observe.metric_table import BY_NAME
from ingest.plan.assemble import live_store, store_component
from ingest.service.dumps.options import DumpRunOptions
from ingest.service.dumps.plan import DumpSources, tables_of
from ingest.service.dumps.steps import DumpEngine, dump_steps
from ingest.service.jobs.command import JobCommand, NextCommand, Subject, Summary
from ingest.service.jobs.job import Job, Steps
from ingest.service.jobs.place import Place
from ingest.service.jobs.schedule import DAY_S, Daily, ScheduledJob
from sinks.dumps.listing import complete_dumps
from sinks.dumps.manifest import consistency_of
from sinks.files.opening import open_root

if TYPE_CHECKING:  # a command that asks the service starts without Spark and Kafka
    from ingest.observe.metrics import Metrics

_log = logger(__name__)

_ROWS, _BYTES, _SECONDS, _LAST, _INTERVAL = (
    BY_NAME[f"attr2hbase_dump_{each}"]
    for each in ("rows_total", "bytes_total", "seconds", "last_success_timestamp_seconds", "interval_seconds")
)


class Dump(Job[DumpRunOptions]):
    """
    Dumps tables. A dump that was killed can be resumed.

    Of a store that only the driver may write, the driver makes a frozen view, between two writes of the pipelines; the
    tasks read the view. The store stays open until the dump ends: another process that opens it removes its views. So
    the dump uses no pipeline, and a reload cannot change the store meanwhile.

    Args:
        subject: root of the dumps.
        options: which tables, and how.
    """

    kind = "dump"
    options_model = DumpRunOptions
    command = JobCommand(
        help="""
        Dump tables into files, as lines of JSON or Parquet.

        A dump has every change before its start. From RocksDB it is the state of one moment; from HBase each row is as
        it was at some moment of the dump. Of a table with deferred updates it has the merged rows of all micro-batches
        that were complete at its start.

        If the service runs, it makes the dump beside its pipelines; interrupting the command (Ctrl-C) cancels it.
        Readers see a dump when it is complete. One process at a time makes a dump in a root; another one is refused
        with exit code 4, and a second request to the service waits.

        Example: attr2hbase dump run --root ./dumps --tables logs,users
        Example: attr2hbase dump run --resume 2026-01-31-02-00-00-5f0c1a
        """,
        subject=Subject.ROOT,
        section=("dump", SharedDumpOptions),
        advances=("rows", "rows"),
        does="makes the dump",
        resumes="with --resume, as above, the files that are complete are kept",
        resumed_by=lambda content: f"--resume {content['id']}",
    )

    @classmethod
    def subject_of(cls, given: str | None, configuration: Configuration) -> str:
        """The root; a path of this machine is from the current folder of the command, not of the service."""
        dump = configuration.dump
        root = given or ("" if dump is None else dump.root)
        if not root:
            raise ConfigError("the root of the dumps is missing", hint="add --root, or `dump: {root: …}` to the file")
        return root if "://" in root else str(Path(root).absolute())

    @classmethod
    def scheduled(cls, configuration: Configuration) -> list[ScheduledJob]:
        """That of `dump: {at: …}`."""
        dump = configuration.dump
        if dump is None or dump.at_s is None:
            return []
        return [ScheduledJob(Daily(dump.at_s), cls(dump.root, DumpRunOptions()), tuple(tables_of(configuration, ())))]

    @classmethod
    def schedule_changed(cls, metrics: "Metrics", scheduled: list[ScheduledJob], now_s: float) -> None:
        """Set the interval, a day, and the end of the last dump of the tables."""
        last_s: dict[str, float] = {}
        for each in scheduled:
            last_s |= _last_s(each, now_s)
        metrics.scheduled(_INTERVAL, _LAST, dict.fromkeys(last_s, DAY_S), last_s)

    def is_same(self, other: Job[Any]) -> bool:
        """Whether the other one has the same options; one that is left out differs from the same value."""
        return (
            isinstance(other, Dump)
            and super().is_same(other)
            and self.options.model_fields_set == other.options.model_fields_set
        )

    def checked(self, configuration: Configuration) -> None:
        """Refuse tables that could be in several stores."""
        tables_of(configuration, self.options.tables)

    def steps(self, place: Place) -> Steps:
        """Make the dump; see `dump_steps`."""
        configuration = place.configuration
        options = self.options.completed(configuration.dump)
        with ExitStack() as views:
            yield from dump_steps(
                self.subject,
                options,
                [*tables_of(configuration, options.tables)],
                partial(sources_of, place, views),
                partial(spark_engine, place, self.subject),
                place,
            )

    def record(self, content: Mapping[str, Any], metrics: "Metrics") -> None:
        """Set the metrics of the tables."""
        end_s = now_ms() / 1000
        for name, counts in content["tables"].items():
            metrics.record(
                (_ROWS, (name,), counts["rows"]),
                (_BYTES, (name,), counts["bytes"]),
                (_SECONDS, (name,), content["seconds"]),
                (_LAST, (name,), end_s),
            )

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:  # noqa: ARG002 - there is none
        """The counts of each table, and the older dumps that were removed."""
        is_exact = content["consistency"] == consistency_of(True)
        moments = "rows of one moment" if is_exact else "rows of several moments"
        return Summary(
            content,
            table=[
                {"table": name} | {f"#{each}": f"{counts[each]:,}" for each in ("files", "rows", "bytes")}
                for name, counts in sorted(content["tables"].items())
            ],
            lines=[f'dump "{name}" is removed' for name in content["expired"]],
            done=f'{counted(content["rows"], "row")} in dump "{content["dump"]}", {moments}',
            next=NextCommand("dump tables", [content["root"]], is_about_file=False),
        )


def sources_of(place: Place, opened: ExitStack, tables: Sequence[str]) -> DumpSources:
    """
    What a dump of some tables reads.

    Args:
        place: where it runs.
        opened: removes the views of their stores.
        tables: their names.
    """

    def freeze(name: str) -> FrozenView[StoreSettings] | None:
        component = store_component(place.configuration, name, place.catalog)
        if not live_store(component).capabilities.freezes:
            return None
        with place.store(name, outlives_reload=True)() as store:
            view: FrozenView[StoreSettings] = store.freeze()
        opened.callback(view.remove)
        return view

    return DumpSources(place.configuration, place.catalog, tables_of(place.configuration, tables), freeze)


def spark_engine(place: Place, root: str, tables: Sequence[str]) -> DumpEngine:
    """
    The tasks of the Spark session of a place, for a dump of these tables to a root.

    Raises:
        ConfigError: a table is in an embedded store, which the tasks of a cluster cannot read.
    """
    from ingest.spark.jobs.dump import SparkDump

    session = place.session(f"dump to {root}")
    master, stores = str(session.sparkContext.master), place.configuration.stores
    for table, name in tables_of(place.configuration, tables).items():
        if stores[name].settings.own_folder is not None and not master.startswith("local"):
            raise ConfigError(
                f'table "{table}" is in the embedded store "{name}": tasks on a cluster cannot read it ("{master}")',
                hint="use a local master",
            )
    return SparkDump(session, place.tasks(session))


def _last_s(daily: ScheduledJob, now_s: float) -> Mapping[str, float]:
    """The end of the last complete dump of each table, in seconds since the epoch; now if there is none."""
    last_s = dict.fromkeys(daily.tables, now_s)
    try:
        root = open_root(daily.job.subject)
        with file_errors(root):
            for dump in complete_dumps(root):
                known = dump.tables() if dump.manifest is None else dump.manifest.tables
                last_s |= dict.fromkeys((name for name in known if name in last_s), dump.success.end_ms / 1000)
    except IngestError as error:
        _log.warning("the last dump cannot be read", root=daily.job.subject, reason=str(error))
    return last_s
