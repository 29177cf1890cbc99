"""The sink `archive`."""

from enum import StrEnum
from functools import partial
from typing import Self

from pydantic import field_validator, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import (
    Committer,
    DryWrite,
    Duration,
    Event,
    Example,
    Sink,
    SinkContext,
    SinkSettings,
    SinkWriter,
    option,
)
from ingest.durable import file_errors
from sinks.archive.columns import Column, ColumnOptions, columns_of, plain_row_maker, row_maker
from sinks.archive.event_times import NO_LIMIT_MS, EventPartitions, EventTimes
from sinks.archive.layout import ArchiveFormat, PartitionRule, is_reserved, is_table_name
from sinks.files.opening import open_root
from sinks.files.root import Root

_BODY = {"body": {"value": "%{body}", "type": "binary"}}


class OnNoTime(StrEnum):
    """The action for an event without a time that names a partition."""

    ERROR = "error"
    DEFAULT_PARTITION = "default_partition"


class ArchiveSettings(SinkSettings):
    """Options of the archive sink."""

    root: str = option(
        "Folder or URL of the archive, as for dumps; the driver and all workers reach it. A relative path starts at "
        "the current folder of the process.",
        example="hdfs://namenode:8020/archive",
    )
    table: str = option("Name of the table: its folder below the root.", example="customer")
    partition: dict[str, str] = option(
        "Column of the partitions, and the pattern of its value: `%Y`, `%m`, `%d` and `%H` of the event time in UTC.",
        default={"dt": "%Y%m%d"},
        min_length=1,
        max_length=1,
    )
    format: ArchiveFormat = option(
        "Format of the files: `parquet`, or lines of JSON compressed with gzip (`json`).",
        default="parquet",
        strict=False,
    )
    columns: dict[str, ColumnOptions] = option(
        "Columns of the files besides `_topic`, `_partition`, `_offset`, `_fan_out` and `_time`; a template alone is a "
        "column of text. By default the body as `body`.",
        default=_BODY,
        example={"user": "%{json.user}", "amount": {"value": "%{json.amount}", "type": "float64"}},
    )
    late: Duration = option(
        "An event whose time is earlier than this before the batch time fails as `late_event`.", default="7d"
    )
    early: Duration = option(
        "An event whose time is later than this after the batch time fails as `early_event`.", default="1d"
    )
    on_no_time: OnNoTime = option(
        "If an event has no time of the years 1970 to 9999: it fails as `no_event_time` (`error`), or goes to the "
        "partition that Hive and Spark read as null (`default_partition`).",
        default="error",
        strict=False,
    )

    @field_validator("columns", mode="before", json_schema_input_type=dict[str, str | ColumnOptions])
    @classmethod
    def _with_templates_alone(cls, columns: object) -> object:
        if not isinstance(columns, dict):
            return columns
        return {name: {"value": each} if isinstance(each, str) else each for name, each in columns.items()}

    @field_validator("columns")
    @classmethod
    def _own_names(cls, columns: dict[str, ColumnOptions]) -> dict[str, ColumnOptions]:
        for name in columns:
            if not name or is_reserved(name):
                raise PydanticCustomError("not_one_of", '"{name}" is reserved; choose another name', {"name": name})
        return columns

    @field_validator("partition")
    @classmethod
    def _names_partitions(cls, partition: dict[str, str]) -> dict[str, str]:
        problem = PartitionRule(*next(iter(partition.items()))).problem
        if problem is not None:
            raise PydanticCustomError("wrong_type", "{problem}", {"problem": problem})
        return partition

    @field_validator("table")
    @classmethod
    def _is_a_folder(cls, table: str) -> str:
        if not is_table_name(table):
            hint = "begin with a letter or a digit; then also . _ ~ and -, at most 127 characters"
            raise PydanticCustomError(
                "wrong_type", '"{table}" is no name of a table; {hint}', {"table": table, "hint": hint}
            )
        return table

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        known = {self.rule.column.lower(): f"partition.{self.rule.column}"}
        for name in self.columns:
            if other := known.get(name.lower()):
                raise PydanticCustomError(
                    "conflict",
                    '"{other}" and "columns.{name}" are one column in SQL, which ignores case; rename one of them',
                    {"other": other, "name": name},
                )
            known[name.lower()] = f"columns.{name}"
        return self

    @property
    def rule(self) -> PartitionRule:
        """How event times name partitions."""
        return PartitionRule(*next(iter(self.partition.items())))

    @property
    def typed_columns(self) -> tuple[Column, ...]:
        """The columns of Parquet; none of lines of JSON, which have no types."""
        return columns_of(self.columns) if self.format is ArchiveFormat.PARQUET else ()

    @property
    def times(self) -> EventTimes:
        """Which event times are accepted."""
        keeps_no_time = self.on_no_time is OnNoTime.DEFAULT_PARTITION
        return EventTimes(int(self.late * 1000), int(self.early * 1000), keeps_no_time)

    def open_table(self) -> Root:
        """
        The files of the table.

        Raises:
            ConfigError: the URL has no file system here.
        """
        return open_root(f"{self.root.rstrip('/')}/{self.table}")

    def refuse_other_types(self, root: Root) -> None:
        """
        Refuse columns that the newest file of the table has with other types.

        Raises:
            ConflictError: `archive_columns_differ`.
            ArchiveCorruptError: the pointer or the file is damaged.
            OSError: of the file system.
        """
        from sinks.archive.column_types import current_versions, refuse_other_types
        from sinks.archive.partition import partitions

        refuse_other_types(current_versions(partitions(root, self.rule)), self.typed_columns)


class Archive(Sink[ArchiveSettings]):
    """
    Write each event once as a row of a file, in a partition by its time.

    A partition is a folder, `dt=20151210`, with versions, `version=1449784608`, of which `_CURRENT` names the one that
    readers read. The pipeline adds files to it. `attr2hbase archive rerun` writes a partition again, as another
    version, and then moves the pointer; meanwhile the pipeline writes to both, so no event is missing.

    The files of a micro-batch have its batch time in their names. They are moved into place when all tasks have
    written, before the acknowledgement. If the micro-batch runs again, it replaces its own files.

    Each row has the origin of its event: `_topic`, `_partition`, `_offset`, `_fan_out`, and its time: `_time`.
    """

    kind = "archive"
    examples = (
        Example("the body of each event", settings="{root: ./archive, table: customer}"),
        Example(
            "typed columns, in hours",
            settings="{root: ./archive, table: payments, partition: {hour: '%Y%m%d%H'}, "
            "columns: {user: '%{user}', amount: {value: '%{amount}', type: float64}}}",
        ),
    )

    def writer(self, context: SinkContext) -> SinkWriter:
        """Writes the files of a task."""
        from sinks.archive.task_writer import ArchiveWriter

        settings = self.settings
        return ArchiveWriter(
            settings.open_table(),
            settings.rule,
            settings.format,
            columns_of(settings.columns),
            row_maker(settings.columns),
            settings.times,
            context.max_event_bytes,
        )

    def committer(self, context: SinkContext) -> Committer:
        """Moves the files of a micro-batch into place."""
        from sinks.archive.committing import ArchiveCommitter

        root, suffix = self.settings.open_table(), self.settings.format.suffix
        check = partial(self.settings.refuse_other_types, root)
        return ArchiveCommitter(
            root,
            context.staging_name,
            suffix,
            is_replay=context.is_replay,
            check=check,
            check_owner=context.check_owner,
        )

    def check(self, context: SinkContext) -> str:  # noqa: ARG002 - the same for every pipeline
        """The number of partitions; the table's folder is created by the first micro-batch."""
        from sinks.archive.partition import partitions

        root = self.settings.open_table()
        with file_errors(root):
            self.settings.refuse_other_types(root)
            return f"partitions: {len(partitions(root, self.settings.rule))}"

    def dry_run(self) -> DryWrite:
        """The partition and the columns of an event."""
        settings = self.settings
        row_of, plain_row_of = row_maker(settings.columns), plain_row_maker(columns_of(settings.columns))
        no_limit = settings.times._replace(late_ms=NO_LIMIT_MS, early_ms=NO_LIMIT_MS)
        partitions = EventPartitions(settings.rule, settings.times, row_of)
        at_any_time = EventPartitions(settings.rule, no_limit, row_of)

        def row(event: Event, batch_time_ms: int) -> dict[str, object]:
            chosen = partitions if batch_time_ms else at_any_time
            chosen.begin(batch_time_ms)
            folder, values, _ = chosen.placed(event)
            return {"table": settings.table, "partition": folder, "columns": plain_row_of(values)}

        return row
