"""Rows of a table as `scan` and `get` print them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict

from ingest.amounts import counted
from ingest.api import ALL_TIMES, Cell, ConfigError, ScanCounts, TimeRange
from ingest.api.notation import from_readable, to_notation
from ingest.api.table_reader import ReadStats, ShownRow
from ingest.cli.output import Output
from ingest.formats.column_types import ColumnTypes, ShownValue
from ingest.formats.times import moment, moment_of
from ingest.reference.readable import readable
from ingest.suggest import did_you_mean


class RowPrinter:
    """
    Prints rows of a table, each as a line of JSON, or as its key and a line for each cell.

    Args:
        out: of the command.
        types: of the columns, with which values are shown.
        columns: the only ones that are read; None for all.
    """

    def __init__(self, out: Output, types: ColumnTypes, columns: Collection[bytes] | None = None) -> None:
        self._out = out
        self._types = types
        self._unseen = dict.fromkeys(columns or ())
        self._misfits = 0
        self._first_misfit = ""

    def row(self, shown: ShownRow) -> None:
        """A row with what is known about it; with warnings about it."""
        key, cells = shown.row
        if self._out.is_json:
            about = {"row": to_notation(key), **shown.about}
            self._out.json({**about, "cells": self._plain_cells(key, cells), **shown.more})
        else:
            self._text(key, cells, about=shown.head)
        for note in shown.notes:
            self._out.note(note, "yellow")

    def finish(self, count: int) -> None:
        """Say which of the columns no row of so many has, and how many values are not of the type of their column."""
        names = [readable(column) for column in self._types.types]
        for column in map(readable, self._unseen):
            hint = did_you_mean(column, names)
            text = f"no row{' that is shown' if count else ''} has the column {column}"
            self._out.note(f"{text}; {hint}" if hint else text, "yellow")
        if self._misfits:
            what = counted(self._misfits, "value")
            self._out.note(
                f"{what} not of the type of the column, shown as bytes, first {self._first_misfit}", "yellow"
            )

    def _shown(self, row: bytes, column: bytes, value: bytes) -> ShownValue:
        if self._unseen:
            self._unseen.pop(column, None)
            self._unseen.pop(column.partition(b":")[0], None)
        shown = self._types.shown(column, value)
        if shown.misfit:
            self._misfits += 1
            self._first_misfit = self._first_misfit or f'{readable(column)} of row "{readable(row)}": {shown.misfit}'
        return shown

    def _text(self, row: bytes, cells: Sequence[Cell], about: str = "") -> None:
        """The row key and what is known about the row, then a line for each cell; a time that all share stands once."""
        times = {cell.timestamp_ms for cell in cells}
        shared = moment(times.pop()) if len(times) == 1 else ""
        head = [text for text in (about, "" if shared in about else shared) if text]
        self._out.parts((readable(row), "bold"), ("".join(f"  {text}" for text in head), "" if about else "dim"))
        names = [f"{readable(cell.family)}:{readable(cell.qualifier)}" for cell in cells]
        width = max(map(len, names), default=0)
        for name, cell in zip(names, cells, strict=True):
            shown = self._shown(row, cell.family + b":" + cell.qualifier, cell.value)
            time = "" if shared else f"{moment(cell.timestamp_ms)}  "
            misfit = (f"  ({shown.misfit})" if shown.misfit else "", "yellow")
            self._out.parts((f"  {name:<{width}}  ", "cyan"), (time, "dim"), (shown.text, ""), misfit)

    def _plain_cells(self, row: bytes, cells: Iterable[Cell]) -> list[list[object]]:
        found: list[list[object]] = []
        for family, qualifier, time_ms, value in cells:
            shown = self._shown(row, family + b":" + qualifier, value)
            found.append([to_notation(family), to_notation(qualifier), time_ms, shown.plain])
        return found


def show_counts(out: Output, counts: ScanCounts, stats: ReadStats | None) -> None:
    """The work of a read, and that of its reader beyond it."""
    if out.is_json:
        out.json({"stats": asdict(counts) | ({} if stats is None else dict(stats.counts))})
        return
    text = f"{counted(counts.rows_touched, 'row')} touched, {counted(counts.seeks, 'seek')}"
    if counts.rows_read_ahead:
        text += f", {counted(counts.rows_read_ahead, 'row')} read ahead"
    if counts.rows_in_fallback:
        text += f", {counted(counts.rows_in_fallback, 'row')} read without seeks"
    out.note(f"{text}, {counted(counts.bytes_read, 'byte')} read")
    if stats is not None:
        out.note(stats.text)


def warn_of_lossy_filters(out: Output, counts: ScanCounts) -> None:
    """A region server has no use of its filter for patterns: say why, and what to do."""
    if counts.lossy_filters:
        out.note(
            "a region server loses rows with FuzzyRowFilter, so the client seeks, which is slower; start its Java with "
            "--add-opens java.base/java.nio=ALL-UNNAMED",
            "yellow",
        )


def asked_of(*, raw: bool, blobs: bool) -> frozenset[str]:
    """The options of features that are set, by the names that their readers take."""
    return frozenset(name for name, is_set in {"raw": raw, "blobs": blobs}.items() if is_set)


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
