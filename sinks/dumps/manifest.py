"""The manifest of a dump: its tables and files, with counts and checksums; and the three lines of `_SUCCESS`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from ingest.api import FamilySpec, IngestError
from ingest.api.notation import from_notation, to_notation
from ingest.formats.column_types import AS_BYTES, ColumnTypes
from ingest.formats.times import iso_milliseconds, moment
from sinks.dumps.errors import DumpCorruptError
from sinks.dumps.layout import MANIFEST, SUCCESS, FileFormat, second_of

FORMAT = 1
"""Of the manifest."""


@dataclass(frozen=True, slots=True)
class TableFile:
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
    first_row: bytes
    last_row: bytes

    def to_json(self) -> dict[str, object]:
        """As the manifest has it."""
        return {
            "file": self.path,
            "rows": self.rows,
            "bytes": self.size_bytes,
            "sha256": self.sha256,
            "first_row": to_notation(self.first_row),
            "last_row": to_notation(self.last_row),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "TableFile":
        """The inverse of `to_json`; raises KeyError, TypeError or DecodeError for another content."""
        first, last = from_notation(content["first_row"]), from_notation(content["last_row"])
        return cls(content["file"], int(content["rows"]), int(content["bytes"]), content["sha256"], first, last)


@dataclass(frozen=True, slots=True)
class DumpedTable:
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
    types: ColumnTypes = AS_BYTES

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.rows for file in self.files)

    @property
    def size_bytes(self) -> int:
        """Size of all files."""
        return sum(file.size_bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class Manifest:
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
    start_ms: int
    end_ms: int
    file_format: FileFormat
    tables: Mapping[str, DumpedTable]
    feed: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    software: str = ""

    @property
    def empty_tables(self) -> list[str]:
        """Tables without rows, sorted."""
        return sorted(name for name, table in self.tables.items() if not table.files)

    def to_bytes(self) -> bytes:
        """The content of `_MANIFEST.json`."""
        dumped = {name: table for name, table in self.tables.items() if table.files}
        content = {
            "format": FORMAT,
            "dump": self.dump,
            "id": self.id,
            "start": moment(self.start_ms),
            "end": moment(self.end_ms),
            "consistency": consistency_of(all(table.is_exact for table in self.tables.values())),
            "file_format": self.file_format.value,
            "tables": {name: [file.to_json() for file in table.files] for name, table in dumped.items()},
            "empty_tables": self.empty_tables,
            "about_tables": {name: _about(table) for name, table in self.tables.items()},
            "feed": self.feed,
            "software": self.software,
        }
        return orjson.dumps(content, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    @classmethod
    def from_bytes(cls, content: bytes, dump: str) -> "Manifest":
        """
        The inverse of `to_bytes`.

        Raises:
            DumpCorruptError: it is none, or a later version has written it.
        """
        try:
            found = orjson.loads(content)
            _check_format(found["format"], dump)
            about = found["about_tables"]
            return cls(
                dump=found["dump"],
                id=found["id"],
                start_ms=iso_milliseconds(found["start"].encode()),
                end_ms=iso_milliseconds(found["end"].encode()),
                file_format=FileFormat(found["file_format"]),
                tables={name: _table(found["tables"].get(name, []), about[name]) for name in about},
                feed=found["feed"],
                software=found["software"],
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DumpCorruptError(f"{dump}/{MANIFEST}", f"it is no manifest: {error!r}") from error
        except DumpCorruptError:
            raise
        except IngestError as error:
            raise DumpCorruptError(f"{dump}/{MANIFEST}", f"it is no manifest: {error.message}") from error


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


def _check_format(found: object, dump: str) -> None:
    if found != FORMAT:
        raise DumpCorruptError(
            f"{dump}/{MANIFEST}",
            f"its format is {found}, and this version knows only {FORMAT}",
            hint="use the version that wrote it, or a later one",
        )


def consistency_of(is_exact: bool) -> str:  # noqa: FBT001 - the only argument
    """The word for rows of one moment, or for rows each as it was at some moment of the dump."""
    return "point-in-time" if is_exact else "fuzzy"


def _about(table: DumpedTable) -> dict[str, object]:
    families = [
        {
            "name": to_notation(family.name),
            "versions": family.versions,
            "ttl_s": family.ttl_s,
            "compression": family.compression,
            "bloom": family.bloom,
        }
        for family in table.families
    ]
    about: dict[str, object] = {"consistency": consistency_of(table.is_exact), "families": families}
    if table.columns is not None:
        about["columns"] = dict(table.columns)
    if table.has_values:
        about["blobs"] = True
    if table.types:
        about["types"] = table.types.to_json()
    return about


def _table(files: list[Mapping[str, Any]], about: Mapping[str, Any]) -> DumpedTable:
    families = tuple(
        FamilySpec(
            from_notation(family["name"]),
            family["versions"],
            family["ttl_s"],
            family["compression"],
            family["bloom"],
        )
        for family in about["families"]
    )
    return DumpedTable(
        tuple(map(TableFile.from_json, files)),
        about["consistency"] == consistency_of(True),
        families,
        about.get("columns"),
        about.get("blobs") is True,
        ColumnTypes.from_json(about.get("types", {})),
    )
