"""`attr2hbase table compare`: which rows of two tables differ."""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.api import Cell, Row, Scan
from ingest.api.notation import from_readable, to_notation
from ingest.cli import completion
from ingest.cli.command import CellsFromOption, CellsToOption, ColumnsOption, FileOption
from ingest.cli.given import refuse_stdin_twice
from ingest.cli.loading import both_loaded, loaded, reading
from ingest.cli.output import Output
from ingest.cli.rows import columns_of, times_of
from ingest.cli.shown_diff import SIGNS, around
from ingest.cli.table import DIFFERS
from ingest.formats.times import moment
from ingest.reference.readable import readable
from sinks.scanning.families import check_families
from sinks.scanning.paired_rows import Difference, differing

if TYPE_CHECKING:
    from ingest.config.model import Configuration
    from ingest.formats.column_types import ColumnTypes

_ROWS = 10_000
"""Rows between two steps of the progress."""


def compare(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileOption,
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="Name of a table, or STORE:TABLE.", autocompletion=completion.tables)
    ],
    new: Annotated[
        str, typer.Argument(metavar="NEW", help="The same of another table.", autocompletion=completion.tables)
    ],
    *,
    other_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="The pipeline file with NEW, as for another cluster.")
    ] = None,
    times: Annotated[bool, typer.Option("--times", help="Compare the timestamps of cells, too.")] = False,
    prefix: Annotated[str, typer.Option(metavar="KEY", help="Only row keys with this prefix.")] = "",
    start: Annotated[str, typer.Option(metavar="KEY", help="First row key.")] = "",
    stop: Annotated[str | None, typer.Option(metavar="KEY", help="End of the range.")] = None,
    columns: ColumnsOption = None,
    from_: CellsFromOption = None,
    to: CellsToOption = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum number of rows shown.")] = None,
) -> None:
    """
    Show which rows of two tables differ: only in NEW (+), only in OLD (-), or with other cells (~); reads both whole.

    Compared are the newest values; timestamps too with --times. Rows are compared by their logical keys, so the tables
    may be in stores of different kinds, and one of them may be salted. A row that is written meanwhile may differ:
    compare again, or with --to a part that is complete. Exit code 4 if a row differs.

    Example: attr2hbase table compare hits hits_new
    Example: attr2hbase table compare hbase:hits embedded:hits --to 2026-01-31T12:00:00Z --times
    """
    scan = Scan(
        start=from_readable(start),
        stop=None if stop is None else from_readable(stop),
        prefix=from_readable(prefix),
        columns=columns_of(columns),
        times=times_of(from_, to),
    )
    counts: Counter[Difference | None] = Counter()
    refuse_stdin_twice({"the pipeline file": file, "--other-file": other_file})
    if other_file is None:
        first_file = second_file = loaded(out, file, shows_records=True)
    else:
        first_file, second_file = both_loaded(out, file, other_file, shows_records=True)
    (old_store, old_table), (new_store, new_table) = _place(first_file[0], old), _place(second_file[0], new)
    with (
        reading(out, file, old_table, known=first_file, store=old_store) as before,
        reading(out, other_file or file, new_table, known=second_file, store=new_store) as after,
        out.progress("rows") as advance,
    ):
        for opened, table in ((before, old_table), (after, new_table)):
            check_families(opened.store, table, scan.columns)
        shown = _Differences(out, before.types, after.types, with_times=times)
        with closing(before.reader.scan(scan)) as first, closing(after.reader.scan(scan)) as second:
            for one, other, kind in differing(first, second, shown.content):
                counts[kind] += 1
                if kind is not None and (limit is None or counts.total() - counts[None] <= limit):
                    shown.show(kind, one, other)
                if counts.total() % _ROWS == 0:
                    advance(counts.total())
    found = {kind.value: counts[kind] for kind in Difference}
    out.plain({"equal": counts[None], **found})
    if sum(found.values()):
        text = ", ".join(f"{count:,} {kind}" for kind, count in found.items() if count)
        out.note(f"{text}; {counted(counts[None], 'row')} equal", "yellow")
        raise typer.Exit(DIFFERS)
    out.done(f"{counted(counts[None], 'row')} equal")


def _place(configuration: "Configuration", text: str) -> tuple[str | None, str]:
    """The store, None for that which the file says, and the table; a table may have a namespace."""
    store, _, table = text.partition(":")
    is_store = text not in configuration.tables and store in configuration.stores and table
    return (store, table) if is_store else (None, text)


class _Differences:
    """
    Prints rows that differ.

    Args:
        out: of the command.
        old_types: with which the values of the first table are shown.
        new_types: the same of the second one.
        with_times: whether timestamps are compared.
    """

    def __init__(self, out: Output, old_types: "ColumnTypes", new_types: "ColumnTypes", *, with_times: bool) -> None:
        self._out = out
        self._types = (old_types, new_types)
        self._with_times = with_times

    def content(self, row: Row) -> object:
        """What is compared of a row."""
        if self._with_times:
            return row.cells
        return [(family, qualifier, value) for family, qualifier, _, value in row.cells]

    def show(self, kind: Difference, old: Row | None, new: Row | None) -> None:
        """A row that differs."""
        out, row = self._out, old or new
        assert row is not None  # noqa: S101 - for mypy: one of them is
        if out.is_json:
            cells = {"old": self._plain(old, 0), "new": self._plain(new, 1)}
            out.json({"change": kind.value, "row": to_notation(row.key), **cells})
            return
        sign, color = SIGNS[kind.value]
        out.parts((f"{sign} ", color), (readable(row.key), "bold"))
        if old is not None and new is not None:
            self._show_cells(_by_column(old.cells), _by_column(new.cells))

    def _show_cells(self, old: dict[bytes, Cell], new: dict[bytes, Cell]) -> None:
        for column in sorted(old.keys() | new.keys()):
            one, other = old.get(column), new.get(column)
            name = f"{readable(column)} = "
            if one is None or other is None:
                sign, color = SIGNS["added" if one is None else "removed"]
                shown = self._text(column, one, 0) + self._text(column, other, 1)
                self._out.parts((f"    {sign} ", color), (name, "dim"), (around(shown, shown)[0], ""))
            elif one.value != other.value:
                before, after = around(self._text(column, one, 0), self._text(column, other, 1))
                self._show_pair(name, before, after)
            elif self._with_times and one.timestamp_ms != other.timestamp_ms:
                self._show_pair(name, moment(one.timestamp_ms), moment(other.timestamp_ms))

    def _show_pair(self, name: str, old: str, new: str) -> None:
        self._out.parts(("    ~ ", "yellow"), (name, "dim"), (old, "red"), (" -> ", "dim"), (new, "green"))

    def _text(self, column: bytes, cell: Cell | None, side: int) -> str:
        return "" if cell is None else self._types_of(column, side).shown(column, cell.value).text

    def _plain(self, row: Row | None, side: int) -> list[list[object]] | None:
        if row is None:
            return None
        return [
            [
                to_notation(cell.family),
                to_notation(cell.qualifier),
                cell.timestamp_ms,
                self._types_of(column, side).plain(column, cell.value),
            ]
            for column, cell in _by_column(row.cells).items()
        ]

    def _types_of(self, column: bytes, side: int) -> "ColumnTypes":
        """Those of a table; those of the other one if only it has a type for the column."""
        own = self._types[side]
        return self._types[1 - side] if own.of(column) is None else own


def _by_column(cells: Sequence[Cell]) -> dict[bytes, Cell]:
    return {cell.family + b":" + cell.qualifier: cell for cell in cells}
