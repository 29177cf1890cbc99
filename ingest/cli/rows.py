"""Rows of a table as `scan` and `get` print them."""

from ingest.api import Cell, Row
from ingest.api.notation import from_readable, to_notation
from ingest.cli.output import Output
from ingest.reference.readable import moment, readable


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


def _plain(cell: Cell) -> list[object]:
    return [to_notation(cell.family), to_notation(cell.qualifier), cell.timestamp_ms, to_notation(cell.value)]
