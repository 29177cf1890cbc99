"""Rows of a table as `scan` and `get` print them."""

from collections.abc import Iterable
from typing import Any

from ingest.api import Cell, NotFoundError, Row, Store, split_column
from ingest.api.notation import from_readable, to_notation
from ingest.cli.output import Output
from ingest.reference.readable import moment, readable
from ingest.suggest import did_you_mean


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


def check_families(store: Store[Any], table: str, columns: Iterable[bytes] | None) -> None:
    """
    Refuse columns of families that the table does not have, instead of returning nothing.

    Raises:
        NotFoundError: the table has no such family.
    """
    families = sorted(store.families(table) or ()) if columns else []
    for column in columns or ():
        family, qualifier = split_column(column)
        if family in families:
            continue
        known = list(map(readable, families))
        existing = f"there is {', '.join(known) or 'none'}"
        if qualifier is None:
            hint = f"write FAMILY:QUALIFIER, or a whole FAMILY; {existing}"
        else:
            hint = did_you_mean(readable(family), known) or existing
        raise NotFoundError(f'there is no family "{readable(family)}" in table "{table}"', hint=hint)


def _plain(cell: Cell) -> list[object]:
    return [to_notation(cell.family), to_notation(cell.qualifier), cell.timestamp_ms, to_notation(cell.value)]
