r"""
A row of a dump, and its line of JSON.

::

    {"f:name":"Ann","f:photo":{"b64":"/9j/4A=="},"~deleted":false,"~firstUpdateAt":"2026-01-31T12:00:00.000Z",
     "~id":"user-17","~lastUpdateAt":"2026-01-31T12:00:05.000Z","~table":"users",
     "~ts":{"f:name":1769860800000},"~version":1769860805000}

- `~id`, the row key, and each value: a string if the bytes are UTF-8, else `{"b64": "…"}` with base64.
- `~version`: the newest time of a cell, in ms. `~ts`: the times of the cells that have another one, if any.
- `~firstUpdateAt`, `~lastUpdateAt`: the oldest and the newest time of a cell, in ISO 8601 format.
- Every other key is a column, `family:qualifier`, as `shown_column` writes it. It has a colon, those above have none.

Keys are sorted, and there are no spaces, so equal rows give equal bytes. The names are as in EmoDB's Stash.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Self

import orjson

from ingest.api import Cell, DecodeError, IngestError, Row
from ingest.api.event_errors import BadJsonError
from ingest.api.notation import from_notation, from_readable, to_notation
from ingest.formats.column_types import ColumnTypes
from ingest.formats.times import moment

_ID, _TABLE, _VERSION, _TIMES = "~id", "~table", "~version", "~ts"
_moment = lru_cache(maxsize=1_024)(moment)
"""Cells of a micro-batch have one time, so few times repeat in many rows."""
_NOT_UTF8 = re.compile("[\udc80-\udcff]")  # bytes that `surrogateescape` could not decode


class DumpRow(NamedTuple):
    """
    A row of a dump.

    Attributes:
        key: the logical row key.
        table: its name.
        cells: the newest version of each column, sorted by family, then qualifier (as bytes).
    """

    key: bytes
    table: str
    cells: tuple[Cell, ...]

    @classmethod
    def of(cls, table: str, row: Row) -> Self:
        """The newest versions of a row that a store has read."""
        return cls(row.key, table, newest(row.cells))

    @property
    def version(self) -> int:
        """The newest time of a cell, in ms since the epoch; 0 without cells."""
        return max((cell.timestamp_ms for cell in self.cells), default=0)

    def to_row(self) -> Row:
        """The row without its table."""
        return Row(self.key, self.cells)

    def to_line(self) -> bytes:
        r"""The row as a line of JSON, with its `\n`."""
        first = last = self.version
        content: dict[str, object] = {}
        times = {}
        for family, qualifier, time_ms, value in self.cells:
            name = _name(family, qualifier)
            content[name] = to_notation(value)
            if time_ms != last:
                times[name] = time_ms
                first = min(first, time_ms)
        if times:
            content[_TIMES] = times
        content |= {
            "~deleted": False,
            "~firstUpdateAt": _moment(first),
            _ID: to_notation(self.key),
            "~lastUpdateAt": _moment(last),
            _TABLE: self.table,
            _VERSION: last,
        }
        return orjson.dumps(content, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Self:
        """
        The row of a line that `to_line` wrote, after JSON.

        Raises:
            DecodeError: it is no such row, for example because EmoDB wrote it; `DumpReader.documents` reads those.
        """
        try:
            key, table, version = from_notation(document[_ID]), document[_TABLE], document[_VERSION]
            times = document.get(_TIMES, {})
            cells = [
                _cell(name, notation, times.get(name, version))
                for name, notation in document.items()
                if not name.startswith("~") or ":" in name
            ]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise _no_row(f"it lacks {error}" if isinstance(error, KeyError) else str(error)) from error
        except IngestError as error:
            raise _no_row(error.message) from error
        if not isinstance(table, str) or type(version) is not int:
            raise _no_row("~table or ~version has another type")
        return cls(key, table, tuple(sorted(cells)))


def document_of(line: bytes) -> dict[str, Any]:
    """
    The JSON object of a line of a dump; that of a dump of EmoDB as well.

    Raises:
        DecodeError: it is not JSON, or no object.
    """
    try:
        document = orjson.loads(line)
    except ValueError as error:
        raise DecodeError(f"the line is not JSON: {error}", code=BadJsonError.code) from error
    if not isinstance(document, dict):
        raise DecodeError("the line is JSON, but not an object", code=BadJsonError.code)
    return document


def with_types(document: Mapping[str, Any], types: ColumnTypes) -> Mapping[str, Any]:
    """The JSON object of a line with the values of its columns as they are shown with these types."""
    if not types:
        return document
    return {
        name: types.plain(column_of(name), from_notation(value)) if _is_cell(name, value) else value
        for name, value in document.items()
    }


def _is_cell(name: str, value: object) -> bool:
    """Whether it is a cell as `to_line` writes it; what EmoDB wrote stays as it is."""
    return ":" in name and (type(value) is str or (isinstance(value, dict) and value.keys() == {"b64"}))


def newest(cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """The first cell of each column: the newest one, in the order of a store."""
    kept: list[Cell] = []
    for cell in cells:
        if not kept or cell[:2] != kept[-1][:2]:
            kept.append(cell)
    return cells if len(kept) == len(cells) else tuple(kept)


def shown_column(column: bytes) -> str:
    r"""
    A column name as a key of JSON: UTF-8 as it is, `\xNN` for other bytes, and `\x5c` for a backslash before an `x`.

    `ingest.api.notation.from_readable` returns the bytes.
    """
    text = column.decode("utf-8", "surrogateescape").replace("\\x", "\\x5cx")
    return text if text.isascii() else _NOT_UTF8.sub(lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", text)


def column_of(text: str) -> bytes:
    """
    The column name of a text that `shown_column` wrote.

    Raises:
        ConfigError: it has a wrong escape.
    """
    return from_readable(text)


@lru_cache(maxsize=10_000)
def _name(family: bytes, qualifier: bytes) -> str:
    """`shown_column` of the columns that were read last: they repeat in each row."""
    return shown_column(family + b":" + qualifier)


def _cell(name: str, notation: object, time_ms: object) -> Cell:
    family, colon, qualifier = column_of(name).partition(b":")
    if not family or not colon:
        raise ValueError(f'"{name}" is no column')
    if type(time_ms) is not int:
        raise ValueError(f'the time of "{name}" is no number')
    return Cell(family, qualifier, time_ms, from_notation(notation))


def _no_row(reason: str) -> DecodeError:
    return DecodeError(f"the line is not a row of a dump: {reason}")
