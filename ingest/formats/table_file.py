"""Reads tables from CSV, JSON and SQLite files; all errors are ValueErrors."""

import csv
import io
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ingest.api.notation import name_from_bytes, name_to_bytes
from ingest.formats import byte_order_marks
from ingest.formats.json_text import NumberAsWritten, refuse_constant
from ingest.formats.numbers import number_text

_BYTES = "latin-1"  # one character for each byte, so that the CSV reader keeps any bytes
SQLITE_LOG = "-wal"  # suffix of the write-ahead log of a SQLite database
_MEMBER = ""  # the column with the names of the members of a JSON object
_PLAIN_VALUE = "value"  # the column of members that are not objects


class Rows(NamedTuple):
    """
    A table.

    Attributes:
        header: names of the columns, in order.
        rows: for each row its position in the file, for messages, and its values; None for a missing one.
    """

    header: Sequence[str]
    rows: Iterator[tuple[str, Sequence[bytes | None]]]


def csv_rows(path: Path, separator: str) -> Rows:
    """
    Read a CSV table with the column names in the first line; values are the bytes of the file.

    Source: RFC 4180; empty lines are skipped.
    """
    text = path.read_bytes().removeprefix(byte_order_marks.UTF8).decode(_BYTES)
    lines = _lines_of(text, separator)
    _, first = next(lines, ("", []))
    header = [name_from_bytes(name) for name in first]

    def rows() -> Iterator[tuple[str, Sequence[bytes]]]:
        for where, fields in lines:
            if len(fields) != len(header):
                raise ValueError(f"{where} has {len(fields)} fields, there are {len(header)} columns")
            yield where, fields

    return Rows(header, rows())


def json_rows(path: Path) -> Rows:
    """
    Read a JSON table: an array of objects, or an object whose members are objects or plain values.

    The first column of the latter has the names of its members. Numbers are kept as written.
    """
    try:
        content = json.loads(
            path.read_bytes(),
            parse_int=NumberAsWritten,
            parse_float=NumberAsWritten,
            parse_constant=refuse_constant,
            object_pairs_hook=_members,
        )
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    entries: list[tuple[str, dict[str, object]]] = []
    match content:
        case dict():
            for name, entry in content.items():
                members = entry if isinstance(entry, dict) else {_PLAIN_VALUE: entry}
                if _MEMBER in members:
                    raise ValueError(f'"{name}" has a member without a name')
                entries.append((f'"{name}"', {_MEMBER: name, **members}))
        case list():
            for number, entry in enumerate(content):
                if type(entry) is not dict:
                    raise ValueError(f"element {number} is not an object")
                entries.append((f"element {number}", entry))
        case _:
            raise ValueError("it is neither a JSON object nor an array")
    header = list(dict.fromkeys(name for _, members in entries for name in members))

    def rows() -> Iterator[tuple[str, Sequence[bytes | None]]]:
        for where, members in entries:
            yield where, [_bytes_of(members.get(name), name, where) for name in header]

    return Rows(header, rows())


def sqlite_rows(path: Path, table: str | None) -> Rows:
    """
    Read a table or view of a SQLite database in one transaction; without a name, its only table.

    Text and blobs are their bytes; numbers are text as in `ingest.formats.numbers`.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.text_factory = bytes
            name = _quoted(table if table is not None else _only_table(connection))
            cursor = connection.execute(f"select * from {name}")  # noqa: S608 - a name, quoted
            header = [column for column, *_ in cursor.description]
            values = [[_plain(value) for value in row] for row in cursor]
    except sqlite3.Error as error:
        raise ValueError(f"it cannot be read as SQLite: {error}") from error
    return Rows(header, ((f"row {number}", row) for number, row in enumerate(values, start=1)))


def _lines_of(text: str, separator: str) -> Iterator[tuple[str, list[bytes]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for row in reader:
            if row:  # not an empty line
                yield f"line {reader.line_num}", [field.encode(_BYTES) for field in row]
    except csv.Error as error:
        raise ValueError(f"it is not valid CSV: {error}") from error


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f'"{name}" occurs twice')
            seen.add(name)
    return members


def _bytes_of(value: object, name: str, where: str) -> bytes | None:
    match value:
        case None:
            return None
        case bool():
            return b"true" if value else b"false"
        case str():
            return name_to_bytes(value)
        case _:
            raise ValueError(f'"{name}" of {where} is an object or an array')


def _only_table(connection: sqlite3.Connection) -> str:
    found = connection.execute(
        "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite\\_%' escape '\\'"
    )
    names: list[str] = [name.decode() for (name,) in found]
    if len(names) != 1:
        listed = ", ".join(sorted(names)) or "none"
        raise ValueError(f"it must have one table, not {listed}; set `table`")
    return names[0]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _plain(value: bytes | float | None) -> bytes | None:
    return value if isinstance(value, bytes | None) else number_text(value)
