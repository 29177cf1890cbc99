"""The options of the data source, parsed without I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ingest.api import ALL_TIMES, ConfigError, FuzzyPattern, Scan, TimeRange, alias_rejection
from ingest.api.cells import MAX_TIME_MS
from ingest.api.notation import from_readable, shown
from ingest.formats.cell_types import CellType
from ingest.formats.times import iso_milliseconds
from ingest.plan.features import added_columns
from ingest.spark.datasource.columns import DeclaredColumns, TypeOf
from ingest.suggest import did_you_mean

_TABLE_OPTIONS = frozenset({"config", "store", "table", "columns"})
_READ_OPTIONS = frozenset(
    {
        "start",
        "stop",
        "prefix",
        "fuzzy",
        "start_time",
        "end_time",
        "versions",
        "minPartitions",
        "push_filters",
    }
)
_OF_FEATURES = frozenset({"raw", "blobs"})
"""Options of a read that readers of features take, as `TableFeature.read_options`; a test compares them."""
_WRITE_OPTIONS = frozenset({"time", "time_column"})
_DUMP_OPTIONS = frozenset({"dump_root", "dump", "pin"})
_OF_DUMPS = _DUMP_OPTIONS | {"table", "columns", "start", "stop", "prefix", "versions"}
OPTIONS = _TABLE_OPTIONS | _READ_OPTIONS | _OF_FEATURES | _WRITE_OPTIONS | _DUMP_OPTIONS
"""Names of all options, as users write them; without a pipeline file, others are those of the store."""
_LOWER_CASE = frozenset(name.lower() for name in OPTIONS)  # as Spark passes them
_OF_SPARK = frozenset({"checkpointlocation", "queryname"})
"""Options of a streaming query, which Spark also passes to its sink."""
MAX_PARTITIONS = 10_000


@dataclass(frozen=True, slots=True)
class TableOptions:
    """
    Which table of which store.

    Attributes:
        config: path of a pipeline file; None if the options describe the store.
        store: with a pipeline file, the name of a store in it, None for the one that the file has for the table;
            else the kind of the store.
        store_options: of the store, without a pipeline file; they may contain secrets.
    """

    table: str
    config: str | None
    store: str | None
    store_options: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class DumpReadOptions:
    """
    Which table of which dump.

    Attributes:
        root: path or URL of the dumps.
        dump: its name, or its start as in "2026-01-31T02:00:00Z"; None for the newest complete one.
        is_pinned: a pin of a day is written below the root, so that the dump does not expire.
    """

    root: str
    table: str
    dump: str | None = None
    is_pinned: bool = True


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """
    What is read of a table.

    Attributes:
        scan: range, patterns, columns, versions and timestamps of all rows, by logical row keys.
        has_versions: each cell is read with its time; else only the newest value of each column is.
        min_partitions: desired minimum number of partitions; there may be fewer, if few row keys differ.
        push_filters: filters of the query on the row key narrow the range.
        asked: options of features that are true, as `ReaderPlace.asked`.
    """

    columns: DeclaredColumns
    scan: Scan
    has_versions: bool = False
    min_partitions: int = 1
    push_filters: bool = False
    asked: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """
    How rows are written to a table.

    Attributes:
        time_ms: timestamp of all cells; None if a column has it, or for the time of a batch write.
        time_column: name of the column with the timestamp of the row's cells.
    """

    columns: DeclaredColumns
    time_ms: int | None = None
    time_column: str | None = None


def table_options(options: Mapping[str, str]) -> TableOptions:
    """
    The table of the options of a DataFrameReader or DataFrameWriter, whose names are in lower case.

    Raises:
        ConfigError: an option is missing, or unknown beside a pipeline file.
    """
    if not options.get("table"):
        raise ConfigError("the name of the table is missing", hint='add .option("table", "NAME")')
    if (hint := alias_rejection(options["table"])) is not None:
        raise ConfigError(f'the option "table" is "{options["table"]}"', hint=hint)
    _refuse(options, _DUMP_OPTIONS, "read of a dump")
    config, store = options.get("config"), options.get("store")
    others = {name: value for name, value in options.items() if name not in _LOWER_CASE | _OF_SPARK}
    if config is None and store is None:
        raise ConfigError(
            "neither a pipeline file nor a store is given",
            hint='add .option("config", "pipeline.yaml"), or .option("store", "hbase") and the options of that store',
        )
    if config is not None and others:
        unknown = min(others)
        hint = did_you_mean(unknown, OPTIONS) or f"options of the store belong into {config}"
        raise ConfigError(f'there is no option "{unknown}"', hint=hint)
    return TableOptions(options["table"], config, store, others)


def dump_options(options: Mapping[str, str]) -> DumpReadOptions:
    """
    The dump of the options of a DataFrameReader, whose names are in lower case; `dump_root` is among them.

    Raises:
        ConfigError: the table is missing, an option is unknown or does not apply to dumps.
    """
    if not options.get("table"):
        raise ConfigError("the name of the table is missing", hint='add .option("table", "NAME")')
    if not options["dump_root"]:
        raise ConfigError('the option "dump_root" is empty', hint="write the root of the dumps, a path or a URL")
    unknown = min((name for name in options if name not in _OF_DUMPS), default=None)
    if unknown is not None:
        hint = did_you_mean(unknown, _OF_DUMPS) or f"there is {', '.join(sorted(_OF_DUMPS))}"
        raise ConfigError(f'the option "{unknown}" does not apply to dumps', hint=hint)
    if options.get("versions", "1") != "1":
        raise ConfigError(
            f'the option "versions" is "{options["versions"]}"', hint="a dump has one version of each cell: write 1"
        )
    return DumpReadOptions(
        options["dump_root"], options["table"], options.get("dump"), _flag(options, "pin", default="true")
    )


def read_options(options: Mapping[str, str], type_of: TypeOf = lambda _column: None) -> ReadOptions:
    """
    The options of a read.

    Args:
        options: of a DataFrameReader, whose names are in lower case.
        type_of: see `DeclaredColumns.parse`.

    Raises:
        ConfigError: an option is not valid, or has no effect on a read.
    """
    _refuse(options, _WRITE_OPTIONS, "write")
    columns = _columns(options, type_of)
    versions = _positive(options, "versions")
    if versions is not None and columns.columns:
        raise ConfigError(
            'the options "versions" and "columns" exclude each other',
            hint="a declared column has the newest value; read all cells, and select columns in SQL",
        )
    stop = options.get("stop")
    scan = Scan(
        start=from_readable(options.get("start", "")),
        stop=None if stop is None else from_readable(stop),
        prefix=from_readable(options.get("prefix", "")),
        columns=columns.names,
        versions=versions or 1,
        fuzzy=tuple(FuzzyPattern.parse(text) for text in options.get("fuzzy", "").split(",") if text),
        times=_times(options),
    )
    partitions = _positive(options, "minPartitions") or 1
    if partitions > MAX_PARTITIONS:
        raise ConfigError(f'the option "minPartitions" is {partitions}', hint=f"at most {MAX_PARTITIONS} are allowed")
    asked = frozenset(name for name in sorted(_OF_FEATURES) if _flag(options, name))
    names = {columns.row.name.lower(), *(column.name.lower() for column in columns)}
    for added in added_columns(asked):
        if added.name in names:
            message = f'a column is named "{added.name}", as that with {added.text}'
            raise ConfigError(message, hint="give it another name")
    push_filters = _flag(options, "push_filters")
    return ReadOptions(columns, scan, versions is not None, partitions, push_filters=push_filters, asked=asked)


def write_options(
    options: Mapping[str, str], type_of: TypeOf = lambda _column: None, *, is_streaming: bool
) -> WriteOptions:
    """
    The options of a write.

    Args:
        options: of a DataFrameWriter, whose names are in lower case.
        type_of: a column -> its type in the table; None if it has none. It only shows values, so it decides nothing of
            what is written: a column without TYPE is text.
        is_streaming: whether it is a streaming write.

    Raises:
        ConfigError: an option is not valid, has no effect on a write, or a streaming write has no time; or a column
            without TYPE has another type than text in the table.
    """
    _refuse(options, _READ_OPTIONS | _OF_FEATURES, "read")

    def text_of(column: bytes) -> None:
        if (shown_as := type_of(column) or CellType.UTF8) is not CellType.UTF8:
            raise ConfigError(
                f"{shown(column)} has no TYPE, and the table shows it as {shown_as}",
                hint=f"write TYPE after it: {shown_as}, or utf8 for text",
            )

    found = WriteOptions(_columns(options, text_of), time_column=options.get("time_column"))
    if "time" in options:
        if found.time_column is not None:
            raise ConfigError('the options "time" and "time_column" exclude each other', hint="choose one of them")
        return replace(found, time_ms=_time_ms(options, "time"))
    if is_streaming and found.time_column is None:
        raise ConfigError(
            "a streaming write needs the timestamp of its cells: Spark runs a micro-batch again after a failure, and "
            "it must write the same cells again",
            hint='add .option("time_column", "NAME") for a timestamp of each row, or .option("time", "2026-01-31T00Z")',
        )
    return found


def _columns(options: Mapping[str, str], type_of: TypeOf) -> DeclaredColumns:
    return DeclaredColumns.parse(options["columns"], type_of) if "columns" in options else DeclaredColumns()


def _refuse(options: Mapping[str, str], names: frozenset[str], what: str) -> None:
    for name in sorted(name for name in names if name.lower() in options):
        raise ConfigError(f'the option "{name}" only applies to a {what}', hint="remove it")


def _flag(options: Mapping[str, str], name: str, default: str = "false") -> bool:
    text = options.get(name, default).lower()  # PySpark writes True as "true"
    if text not in {"true", "false"}:
        raise ConfigError(f'the option "{name}" is "{text}"', hint="write true or false")
    return text == "true"


def _positive(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name.lower())
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > len(str(MAX_TIME_MS)) or int(text) == 0:
        raise ConfigError(f'the option "{name}" is "{text}"', hint="write a number from 1")
    return int(text)


def _times(options: Mapping[str, str]) -> TimeRange:
    from_ms = _time_ms(options, "start_time") if "start_time" in options else ALL_TIMES.from_ms
    to_ms = _time_ms(options, "end_time") if "end_time" in options else ALL_TIMES.to_ms
    if from_ms >= to_ms:
        raise ConfigError(
            f'the option "end_time" is "{options["end_time"]}", which is not later than the start of the range',
            hint="start_time is in the range, end_time is not",
        )
    return TimeRange(from_ms, to_ms)


def _time_ms(options: Mapping[str, str], name: str) -> int:
    text = options[name]
    try:
        time_ms = int(text) if text.isascii() and text.isdecimal() else iso_milliseconds(text.encode())
    except ValueError as error:
        raise ConfigError(
            f'the option "{name}" is "{text}", which is no time with a zone',
            hint='write milliseconds since 1970, or "2026-01-31T12:00:00Z"',
        ) from error
    if not 0 <= time_ms <= MAX_TIME_MS:
        raise ConfigError(
            f'the option "{name}" is "{text}"', hint=f"write a time from 0 to {MAX_TIME_MS} ms since 1970"
        )
    return time_ms
