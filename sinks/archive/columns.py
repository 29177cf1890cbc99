"""The columns of an archive: from an event to a row."""

import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from ingest.api import Event, MappingError, Model, option
from ingest.api.notation import shown_start, to_notation
from ingest.decorating.choices import OnMissing
from ingest.expressions import Template
from ingest.expressions.numbers import read_float, read_whole
from ingest.formats.times import in_calendar, moment

Row = tuple[object, ...]
"""A value for each column, in their order; None if there is none."""
_SLOT_BYTES = 32  # about the size of a value besides its text


class BadArchiveColumnError(MappingError):
    """A value is not of the type of its column in an archive."""

    code = "bad_column"
    hint = (
        "correct the value with a decorator, leave such events out with `when` of the sink `archive`, or give the "
        "column another `type`; an attribute that the event lacks gives null with `on_missing: unset`"
    )


class ColumnType(StrEnum):
    """The type of a column."""

    UTF8 = "utf8"
    BINARY = "binary"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT64 = "float64"
    TIME = "time"
    """Milliseconds since the epoch, in UTC, of the years 1 to 9999: others, such as nanoseconds, Spark cannot read."""


class ColumnOptions(Model):
    """A column of the files."""

    value: Template = option("Template of the value.", example="%{temp}")
    type: ColumnType = option(
        "Type of the column: text (`utf8`), bytes (`binary`), a number (`int32`, `int64`, `float64`), or milliseconds "
        "since the epoch (`time`), of the years 1 to 9999.",
        default="utf8",
        strict=False,
    )
    on_missing: OnMissing = option(
        "If the event lacks an attribute of the template: the attribute is `empty` text, the column is null (`unset`), "
        "or the event fails (`error`).",
        default="unset",
        strict=False,
    )


class Column(NamedTuple):
    """A column of the files."""

    name: str
    column_type: ColumnType


FIXED_COLUMNS = (
    Column("_topic", ColumnType.UTF8),
    Column("_partition", ColumnType.INT32),
    Column("_offset", ColumnType.INT64),
    Column("_fan_out", ColumnType.INT64),
    Column("_time", ColumnType.TIME),
)
"""Columns of every row: the origin of the event, which identifies it, and its time, null if it has none."""


def columns_of(declared: Mapping[str, ColumnOptions]) -> tuple[Column, ...]:
    """All columns, in the order of the values of a row."""
    return FIXED_COLUMNS + tuple(Column(name, each.type) for name, each in declared.items())


def row_maker(declared: Mapping[str, ColumnOptions]) -> Callable[[Event], tuple[Row, int]]:
    """
    The function that makes the row of an event, and tells about how many bytes of memory the row takes.

    It raises MappingError for a value that is not of the type of its column, and ExpressionError as its templates.
    """
    parts = [(each.value.renderer(each.on_missing), _READ[each.type]) for each in declared.values()]
    names = tuple(declared)
    slots = _SLOT_BYTES * (len(FIXED_COLUMNS) + len(parts))

    def row_of(event: Event) -> tuple[Row, int]:
        values: list[object] = [*event.origin, event.timestamp_ms]
        size = slots
        try:
            for render, read in parts:
                text = render(event)
                if text is None:
                    values.append(None)
                    continue
                size += len(text)
                values.append(text if read is None else read(text))
        except ValueError as error:
            raise BadArchiveColumnError(
                f'column "{names[len(values) - len(FIXED_COLUMNS)]}": {error}',
            ) from error
        return tuple(values), size

    return row_of


def plain_row_maker(columns: Sequence[Column]) -> Callable[[Row], dict[str, object]]:
    """The function that makes the object of JSON from a row: column -> value."""
    names = [column.name for column in columns]
    converted = [(name, _PLAIN[column_type]) for name, column_type in columns if column_type in _PLAIN]

    def plain_row_of(row: Row) -> dict[str, object]:
        values = dict(zip(names, row, strict=True))
        for name, plain in converted:
            if (value := values[name]) is not None:
                values[name] = plain(value)
        return values

    return plain_row_of


def _whole_number(bits: int) -> Callable[[bytes], int]:
    most = 1 << (bits - 1)

    def read(text: bytes) -> int:
        number = _whole(text)
        if not -most <= number < most:
            raise ValueError(f"{number} does not fit into {bits} bits")
        return number

    return read


def _whole(text: bytes) -> int:
    number = read_whole(text)
    if number is None:
        raise ValueError(f"{shown_start(text)} is not a whole number")
    return number


def _float(text: bytes) -> float:
    number = read_float(text)
    if number is None:
        raise ValueError(f"{shown_start(text)} is not a number")
    if not math.isfinite(number):
        raise ValueError(f"{shown_start(text)} does not fit into 64 bits")
    return number


def _time(text: bytes) -> int:
    return in_calendar(_whole(text))


_READ: Mapping[ColumnType, Callable[[bytes], object] | None] = {
    ColumnType.UTF8: bytes.decode,
    ColumnType.BINARY: None,
    ColumnType.INT32: _whole_number(32),
    ColumnType.INT64: _whole_number(64),
    ColumnType.FLOAT64: _float,
    ColumnType.TIME: _time,
}
"""From the text of a template to the value; None if that is the value."""
_PLAIN: Mapping[ColumnType, Callable[[Any], object]] = {ColumnType.BINARY: to_notation, ColumnType.TIME: moment}
"""From a value to that of JSON, if it is another."""
