"""Rows of a table as `scan` and `get` print them."""

from ingest.api import ALL_TIMES, Cell, ConfigError, Row, TimeRange
from ingest.api.notation import from_readable, to_notation
from ingest.cli.output import Output
from ingest.formats.times import moment, moment_of
from ingest.reference.readable import readable


def show(out: Output, row: Row) -> None:
    """One row: as a line of JSON, or its key and a line for each cell."""
    if out.is_json:
        out.json({"row": to_notation(row.key), "cells": [_plain(cell) for cell in row.cells]})
        return
    out.line(readable(row.key), "bold")
    names = [f"{readable(cell.family)}:{readable(cell.qualifier)}" for cell in row.cells]
    width = max(map(len, names), default=0)
    for name, cell in zip(names, row.cells, strict=True):
        out.parts(
            (f"  {name:<{width}}  ", "cyan"), (f"{moment(cell.timestamp_ms)}  ", "dim"), (readable(cell.value), "")
        )


def columns_of(options: list[str] | None) -> tuple[bytes, ...] | None:
    """Columns from repeated options, each with one column or several separated by commas."""
    columns = tuple(from_readable(name) for option in options or () for name in option.split(",") if name)
    return columns or None


def times_of(from_: str | None, to: str | None) -> TimeRange:
    """
    The range of timestamps of the options --from and --to.

    Raises:
        ConfigError: one is not a time, or no cell can be in the range.
    """
    from_ms = ALL_TIMES.from_ms if from_ is None else max(0, moment_of(from_))
    to_ms = ALL_TIMES.to_ms if to is None else moment_of(to)
    if from_ms >= to_ms:
        start = "1970, and no timestamp of a cell is earlier" if from_ is None else f'--from "{from_}"'
        raise ConfigError(f'--to "{to}" is not later than {start}', hint="the range includes --from and excludes --to")
    return TimeRange(from_ms, to_ms)


def _plain(cell: Cell) -> list[object]:
    return [to_notation(cell.family), to_notation(cell.qualifier), cell.timestamp_ms, to_notation(cell.value)]
