"""Rows of a table as `scan`, `get` and `history` print them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict

from ingest.amounts import counted, number
from ingest.api import ALL_TIMES, Cell, ConfigError, Row, ScanCounts, TimeRange, split_column
from ingest.api.notation import from_readable, to_notation
from ingest.cli.output import Output
from ingest.formats.column_types import ColumnTypes, ShownValue
from ingest.formats.times import moment, moment_of
from ingest.reference.readable import readable
from ingest.suggest import did_you_mean
from sinks.scanning.merged_rows import MergeCounts, row_of
from sinks.scanning.raw_rows import StoredUpdate
from sinks.updates.groups import HistoryEntry, MergedRow
from sinks.updates.keys import UpdateKey, split_of, time_of
from sinks.updates.merging import Unmerged


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

    def row(self, row: Row) -> None:
        """One row."""
        if self._out.is_json:
            self._out.json({"row": to_notation(row.key), "cells": self._plain_cells(row.key, row.cells)})
            return
        self._text(row.key, row.cells)

    def merged(self, merged: MergedRow) -> None:
        """A row merged of deferred updates; with a warning for each column that cannot be merged."""
        row = row_of(merged)
        if self._out.is_json:
            self._out.json(
                {
                    "row": to_notation(row.key),
                    "cells": self._plain_cells(row.key, row.cells),
                    "update_rows": merged.update_rows,
                    "orphaned": merged.orphaned,
                    "unmerged": _plain_unmerged(merged.unmerged),
                }
            )
        else:
            self.row(row)
        for each in merged.unmerged:
            self._out.note(
                f'warning: row "{readable(row.key)}": {readable(each.column)} has its newest update, because its '
                f"updates cannot be merged: {each.reason}",
                "yellow",
            )

    def update(self, update: StoredUpdate) -> None:
        """An update row: its logical row key, what it covers, and its cells."""
        key, cells = update.row
        if self._out.is_json:
            about = {"row": to_notation(key.row), **_plain_interval(key), "is_orphaned": update.is_orphaned}
            self._out.json({**about, "cells": self._plain_cells(key.row, cells)})
            return
        self._text(key.row, cells, about=_interval(key, is_orphaned=update.is_orphaned))

    def history(self, entry: HistoryEntry) -> None:
        """An update row of a history: when it was written, its updates, and the values of the row after it."""
        row, is_orphaned, merged = entry
        key = row.key.row
        if self._out.is_json:
            self._out.json(
                {
                    **_plain_interval(row.key),
                    "is_orphaned": is_orphaned,
                    "updates": self._plain_columns(key, row.columns),
                    "merged": self._plain_columns(key, merged.columns),
                    "unmerged": _plain_unmerged(merged.unmerged),
                }
            )
            return
        self._out.line(_interval(row.key, is_orphaned=is_orphaned), "bold")
        reasons = dict(merged.unmerged)
        names = {column: readable(column) for column in sorted(row.columns, key=split_column)}
        width = max(map(len, names.values()), default=0)
        for column, name in names.items():
            update, value = (self._shown(key, column, each.get(column, b"")) for each in (row.columns, merged.columns))
            after = f"cannot be merged: {reasons[column]}" if column in reasons else f"-> {value.text}"
            self._out.parts(
                (f"  {name:<{width}}  ", "cyan"), (update.text, ""), ("" if is_orphaned else f"  {after}", "dim")
            )

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

    def _plain_columns(self, row: bytes, columns: Mapping[bytes, bytes]) -> list[list[object]]:
        found: list[list[object]] = []
        for column in sorted(columns, key=split_column):
            family, name = split_column(column)
            shown = self._shown(row, column, columns[column])
            found.append([to_notation(family), to_notation(name or b""), shown.plain])
        return found


def merged_of(merged: MergedRow) -> str:
    """Of how many update rows a row was merged, as a message."""
    orphaned = f"; {counted(merged.orphaned, 'orphaned update')} not counted" if merged.orphaned else ""
    return f"merged of {counted(merged.update_rows, 'update row')}{orphaned}"


def show_counts(out: Output, counts: ScanCounts, merge_counts: MergeCounts | None) -> None:
    """The work of a read; `merge_counts` is None for rows that are not merged."""
    if out.is_json:
        out.json({"stats": asdict(counts) | ({} if merge_counts is None else asdict(merge_counts))})
        return
    text = f"{counted(counts.rows_touched, 'row')} touched, {counted(counts.seeks, 'seek')}"
    if counts.rows_read_ahead:
        text += f", {counted(counts.rows_read_ahead, 'row')} read ahead"
    if counts.rows_in_fallback:
        text += f", {counted(counts.rows_in_fallback, 'row')} read without seeks"
    out.note(f"{text}, {counted(counts.bytes_read, 'byte')} read")
    if merge_counts is not None:
        rows, update_rows = merge_counts.merged_rows, merge_counts.update_rows
        mean = f", {number(update_rows / rows)} for each" if rows else ""
        out.note(f"{counted(rows, 'row')} merged of {counted(update_rows, 'update row')}{mean}")


def warn_of_lossy_filters(out: Output, counts: ScanCounts) -> None:
    """A region server has no use of its filter for patterns: say why, and what to do."""
    if counts.lossy_filters:
        out.note(
            "a region server loses rows with FuzzyRowFilter, so the client seeks, which is slower; start its Java with "
            "--add-opens java.base/java.nio=ALL-UNNAMED",
            "yellow",
        )


def _interval(key: UpdateKey, *, is_orphaned: bool) -> str:

    ends = [key.start] if not key.is_merged else [key.start, key.end]
    text = " to ".join(f"{moment(time_of(end))} split {split_of(end)}" for end in ends)
    return text + (", merged" if key.is_merged else "") + (", orphaned" if is_orphaned else "")


def _plain_interval(key: UpdateKey) -> dict[str, object]:

    ends = {"start": key.start, "end": key.last}
    return {name: {"time": time_of(end), "split": split_of(end)} for name, end in ends.items()} | {
        "is_merged": key.is_merged
    }


def _plain_unmerged(unmerged: Sequence[Unmerged]) -> list[list[object]]:
    columns = ((split_column(each.column), each.reason) for each in unmerged)
    return [[to_notation(family), to_notation(name or b""), reason] for (family, name), reason in columns]


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
