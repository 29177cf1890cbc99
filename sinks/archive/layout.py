"""
Names of the files and folders of an archived table.

::

    ROOT/TABLE/_tmp/WRITER/ATTEMPT/      what tasks have written and no commit has moved yet
    ROOT/TABLE/_writers/WRITER.json      the last micro-batch that a writer has committed
    ROOT/TABLE/_reruns/ID.json           a partition that is being written again
    ROOT/TABLE/_reruns/ID.WRITER         the answer of a writer to it
    ROOT/TABLE/dt=20151210/_CURRENT      the folder of the version that readers read, in one line
    ROOT/TABLE/dt=20151210/version=1449784608/
        _STARTED                         who has created the version
        _SUCCESS                         it is complete; without it no reader may be pointed at it
        _KEEP                            the user keeps it: it is never removed
        _SUPERSEDED                      since when it is not current any more
        part-0001449784612345-00000-5f0c9a31.parquet

`version_id` is no column of the table, and files whose names begin with "_" or "." are invisible to Spark. So a query
of a partition reads the files of one version.

Source: the layout of Hive tables with a `version_id` below each partition, whose location one statement changes.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote, unquote

CURRENT, STARTED, SUCCESS, KEEP = "_CURRENT", "_STARTED", "_SUCCESS", "_KEEP"
SUPERSEDED = "_SUPERSEDED"
TMP, WRITERS, RERUNS = "_tmp", "_writers", "_reruns"
NO_TIME = "__HIVE_DEFAULT_PARTITION__"
"""Value of the partition of events without a time, which Hive and Spark read as null."""

_VERSION = re.compile(r"version=([1-9][0-9]{8,11})", re.ASCII)  # from 1973, so `version=1` is not ours
_PART = re.compile(r"part-([0-9]{16})-([0-9]{5,})-([0-9a-f]{8})\.([a-z.]+)", re.ASCII)
_COLUMN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}", re.ASCII)
_DIRECTIVES = re.compile(r"%[YmdH]")
_TABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.~-]{0,126}", re.ASCII)


class ArchiveFormat(StrEnum):
    """The format of the files; the value is that of the option, and the table's in Spark."""

    PARQUET = "parquet"
    JSON = "json"

    @property
    def suffix(self) -> str:
        """The end of the names of its files."""
        return "parquet" if self is ArchiveFormat.PARQUET else "json.gz"


@dataclass(frozen=True, slots=True)
class PartitionRule:
    """
    How an event time names a partition.

    Attributes:
        column: of the table, `dt`.
        pattern: of strftime with `%Y`, `%m`, `%d` and `%H`; the time is in UTC.
    """

    column: str = "dt"
    pattern: str = "%Y%m%d"

    def value_of(self, time_ms: int) -> str:
        """
        The value of the partition of a time.

        Raises:
            ValueError: the time is before the year 1 or after 9999.
            OverflowError: the same.
            OSError: the same.
        """
        time = datetime.fromtimestamp(time_ms // 1000, UTC)
        parts = {"%Y": f"{time.year:04}", "%m": f"{time.month:02}", "%d": f"{time.day:02}", "%H": f"{time.hour:02}"}
        return _DIRECTIVES.sub(lambda found: parts[found[0]], self.pattern)

    def folder_of(self, value: str) -> str:
        """The folder of a partition, as Hive names it."""
        return f"{self.column}={quote(value, safe='')}"

    def value_in(self, folder: str) -> str | None:
        """The inverse of `folder_of`; None if it is no folder of a partition."""
        column, equals, value = folder.partition("=")
        if column != self.column or not equals or not value:
            return None
        found = unquote(value)
        return found if self.folder_of(found) == folder else None

    @property
    def problem(self) -> str | None:
        """Why it names no partitions; None if it does."""
        if not _COLUMN.fullmatch(self.column):
            return f'"{self.column}" is no name of a column'
        if is_reserved(self.column):
            return f'"{self.column}" is reserved'
        rest = _DIRECTIVES.sub("", self.pattern)
        if "%Y" not in self.pattern or not re.fullmatch(r"[0-9A-Za-z-]*", rest, re.ASCII):
            return f'"{self.pattern}" is no pattern of a partition: write %Y, %m, %d, %H, letters, digits and "-"'
        return None


class PartName(NamedTuple):
    """
    The name of a file of rows.

    Attributes:
        time_ms: the batch time of its micro-batch.
        rank: number of the task's file in the micro-batch.
        writer: 8 hexadecimal digits of the sink and the micro-batch, so that several sinks, and replays, never have
            the same names.
        suffix: end of the name.
    """

    time_ms: int
    rank: int
    writer: str
    suffix: str

    def __str__(self) -> str:
        return f"part-{self.time_ms:016}-{self.rank:05}-{self.writer}.{self.suffix}"

    @classmethod
    def parsed(cls, name: str) -> "PartName | None":
        """The inverse of `str`; None for another file."""
        found = _PART.fullmatch(name)
        return None if found is None else cls(int(found[1]), int(found[2]), found[3], found[4])


class EntryKind(StrEnum):
    """What a name in the folder of a partition, or of a version, is."""

    VERSION = "version"
    """A folder of a version."""
    PART = "part"
    """A file of rows of a version."""
    MARKER = "marker"
    """A file of this product without rows."""
    FOREIGN = "foreign"
    """Not written by this product: never current, never removed."""


def version_folder(version_id: int) -> str:
    """The folder of a version in its partition."""
    return f"version={version_id}"


def version_path(folder: str, version_id: int, name: str = "") -> str:
    """The path of a version, or of a file in it, below the folder of the table; `folder` is that of its partition."""
    return f"{folder}/{version_folder(version_id)}/{name}".rstrip("/")


def version_id_of(folder: str) -> int | None:
    """The inverse of `version_folder`; None if it is none, such as one with a space or a small number."""
    found = _VERSION.fullmatch(folder)
    return None if found is None else int(found[1])


def kind_in_partition(name: str, *, is_folder: bool) -> EntryKind:
    """What an entry of the folder of a partition is."""
    if is_folder:
        return EntryKind.FOREIGN if version_id_of(name) is None else EntryKind.VERSION
    return EntryKind.MARKER if name == CURRENT else EntryKind.FOREIGN


def kind_in_version(name: str, *, is_folder: bool) -> EntryKind:
    """What an entry of the folder of a version is."""
    if is_folder:
        return EntryKind.FOREIGN
    if name in {STARTED, SUCCESS, KEEP, SUPERSEDED}:
        return EntryKind.MARKER
    return EntryKind.FOREIGN if PartName.parsed(name) is None else EntryKind.PART


def writer_digits(writer: str, batch_name: str) -> str:
    """The part of file names that is of one micro-batch of one sink."""
    return sha256(f"{writer}\0{batch_name}".encode()).hexdigest()[:8]


def staging_folder(writer: str, attempt: str = "") -> str:
    """The folder of a sink, or of one of its attempts, for files that no commit has moved yet."""
    return f"{TMP}/{writer}/{attempt}".rstrip("/")


def is_reserved(column: str) -> bool:
    """Whether a column has a name of this product; SQL does not distinguish upper and lower case."""
    return column.startswith("_") or column.lower() == "version_id"


def is_table_name(table: str) -> bool:
    """Whether a table can be a folder of an archive."""
    return _TABLE.fullmatch(table) is not None
