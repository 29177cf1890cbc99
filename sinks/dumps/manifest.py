"""The manifest of a dump: its tables and files, with counts and checksums; and the three lines of `_SUCCESS`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field, PlainSerializer, PlainValidator

from ingest.api import FamilySpec
from ingest.api.notation import Notated
from ingest.durable.record import Plain, Record, UnreadableRecordError
from ingest.formats.column_types import AS_BYTES, ColumnTypes
from ingest.formats.times import iso_milliseconds
from sinks.dumps.errors import DumpCorruptError
from sinks.dumps.layout import MANIFEST, SUCCESS, FileFormat, Moment, second_of
from sinks.files.root import Root

_DERIVED = {"consistency", "empty_tables"}
"""Names in the manifest that follow from others."""


@dataclass(frozen=True, slots=True)
class TableFile(Plain):
    """
    A file of a dump.

    Attributes:
        path: below the folder of the dump.
        rows: their number; at least 1.
        size_bytes: of the file.
        sha256: of its content, in hexadecimal.
        first_row: the first row key.
        last_row: the last row key.
    """

    path: str
    rows: int
    size_bytes: int
    sha256: str
    first_row: Notated
    last_row: Notated


@dataclass(frozen=True, slots=True)
class DumpedPart(Record, kind="record of a file of a dump", remedy="start another dump, without --resume"):
    """
    A part of a table that is dumped.

    Attributes:
        number: of the file in the table; those of a range are consecutive.
        file: None if the range has no more rows.
    """

    table: str
    number: int
    file: TableFile | None


@dataclass(frozen=True, slots=True)
class DumpedTable(Plain):
    """
    A table of a dump.

    Attributes:
        files: with at least one row each; empty for a table without rows. Those of a salted table may overlap.
        is_exact: the rows are from one moment; else each row is as it was at some moment of the dump.
        families: as they were at the start.
        columns: of a Parquet file with declared columns: name -> type; None if it has all cells.
        has_values: large values are in place of the pointers to their blobs.
        types: of the columns, with which commands show the values; nothing in the files depends on them.
    """

    files: tuple[TableFile, ...]
    is_exact: bool = False
    families: tuple[FamilySpec, ...] = ()
    columns: Mapping[str, str] | None = None
    has_values: bool = False
    types: Annotated[ColumnTypes, PlainValidator(ColumnTypes.from_json), PlainSerializer(ColumnTypes.to_json)] = (
        AS_BYTES
    )

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.rows for file in self.files)

    @property
    def size_bytes(self) -> int:
        """Size of all files."""
        return sum(file.size_bytes for file in self.files)


@dataclass(frozen=True)  # slots would break super()
class Manifest(Record, kind="manifest of a dump", remedy="read another dump, or restore the file from a copy"):
    """
    The content of a dump.

    Attributes:
        dump: its folder.
        id: of the run that has made it.
        start_ms: every change before it is in the dump.
        end_ms: no change after it is in the dump.
        file_format: of all files.
        tables: by name; also those without rows.
        feed: positions of the feeds at the start: name of a table -> what its reader needs to start there.
        software: version that has made it.
    """

    dump: str
    id: str
    start_ms: Annotated[Moment, Field(alias="start")]
    end_ms: Annotated[Moment, Field(alias="end")]
    file_format: FileFormat
    tables: Mapping[str, DumpedTable]
    feed: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    software: str = ""

    @property
    def empty_tables(self) -> list[str]:
        """Tables without rows, sorted."""
        return sorted(name for name, table in self.tables.items() if not table.files)

    def to_json(self) -> dict[str, Any]:
        """The fields, and for people what follows from them: the consistency, and the tables without rows."""
        return {
            **super().to_json(),
            "consistency": consistency_of(all(table.is_exact for table in self.tables.values())),
            "empty_tables": self.empty_tables,
        }

    @classmethod
    def from_json(cls, content: object) -> Self:
        """The inverse of `to_json`."""
        fields = content.items() if isinstance(content, dict) else ()
        return super().from_json({name: value for name, value in fields if name not in _DERIVED})


def read_manifest(root: Root, dump: str) -> Manifest:
    """
    The manifest of a dump.

    Raises:
        DumpCorruptError: it is damaged, or a later version has written it.
        FileNotFoundError: there is none.
    """
    path = f"{dump}/{MANIFEST}"
    try:
        return Manifest.of(root.read(path), path)
    except UnreadableRecordError as error:
        raise DumpCorruptError(path, error.message, hint=error.hint) from error


class Success(NamedTuple):
    """
    The three lines of `_SUCCESS`.

    Attributes:
        start_ms: in whole seconds, as in the folder's name.
        end_ms: in whole seconds, rounded down.
        id: of the run.
    """

    start_ms: int
    end_ms: int
    id: str

    def to_bytes(self) -> bytes:
        """The content of `_SUCCESS`."""
        return f"{second_of(self.start_ms)}\n{second_of(self.end_ms)}\n{self.id}\n".encode()

    @classmethod
    def from_bytes(cls, content: bytes, dump: str) -> "Success":
        """
        The inverse of `to_bytes`; EmoDB's times may have milliseconds.

        Raises:
            DumpCorruptError: it has not three lines, or the first two are no times.
        """
        try:
            start, end, run_id = content.decode().splitlines()
            return cls(iso_milliseconds(start.encode()), iso_milliseconds(end.encode()), run_id)
        except ValueError as error:
            raise DumpCorruptError(f"{dump}/{SUCCESS}", f"it is not start, end and id: {error}") from error


def consistency_of(is_exact: bool) -> str:  # noqa: FBT001 - the only argument
    """The word for rows of one moment, or for rows each as it was at some moment of the dump."""
    return "point-in-time" if is_exact else "fuzzy"
