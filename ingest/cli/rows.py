"""Rows of a table as `scan`, `get` and `history` print them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from ingest.amounts import counted, number
from ingest.api import ALL_TIMES, Cell, ConfigError, Row, ScanCounts, TimeRange, split_column
from ingest.api.notation import from_readable, to_notation
from ingest.cli.output import Output
from ingest.formats.times import moment, moment_of
from ingest.reference.readable import readable

if TYPE_CHECKING:
    from sinks.scanning.merged_rows import MergeCounts
    from sinks.scanning.raw_rows import StoredUpdate
    from sinks.updates.groups import HistoryEntry, MergedRow
    from sinks.updates.keys import UpdateKey
    from sinks.updates.merging import Unmerged


def show(out: Output, row: Row) -> None:
    """One row: as a line of JSON, or its key and a line for each cell."""
    if out.is_json:
        out.json({"row": to_notation(row.key), "cells": [_plain(cell) for cell in row.cells]})
        return
    out.line(readable(row.key), "bold")
    _show_cells(out, row.cells)


def show_merged(out: Output, merged: "MergedRow") -> None:
    """A row merged of deferred updates, as `show`; with a warning for each column that cannot be merged."""
    from sinks.scanning.merged_rows import row_of

    row = row_of(merged)
    if out.is_json:
        out.json(
            {
                "row": to_notation(row.key),
                "cells": [_plain(cell) for cell in row.cells],
                "update_rows": merged.update_rows,
                "orphaned": merged.orphaned,
                "unmerged": _plain_unmerged(merged.unmerged),
            }
        )
    else:
        show(out, row)
    for each in merged.unmerged:
        out.note(
            f'warning: row "{readable(row.key)}": {readable(each.column)} has its newest update, because its updates '
            f"cannot be merged: {each.reason}",
            "yellow",
        )


def show_update(out: Output, update: "StoredUpdate") -> None:
    """An update row: its logical row key, what it covers, and its cells."""
    key, cells = update.row
    if out.is_json:
        about = {"row": to_notation(key.row), **_plain_interval(key), "is_orphaned": update.is_orphaned}
        out.json({**about, "cells": [_plain(cell) for cell in cells]})
        return
    out.parts((readable(key.row), "bold"), (f"  {_interval(key, is_orphaned=update.is_orphaned)}", ""))
    _show_cells(out, cells)


def show_history(out: Output, entry: "HistoryEntry") -> None:
    """An update row of a history: when it was written, its updates, and the values of the row after it."""
    row, is_orphaned, merged = entry
    if out.is_json:
        out.json(
            {
                **_plain_interval(row.key),
                "is_orphaned": is_orphaned,
                "updates": _plain_columns(row.columns),
                "merged": _plain_columns(merged.columns),
                "unmerged": _plain_unmerged(merged.unmerged),
            }
        )
        return
    out.line(_interval(row.key, is_orphaned=is_orphaned), "bold")
    reasons = dict(merged.unmerged)
    names = {column: readable(column) for column in sorted(row.columns, key=split_column)}
    width = max(map(len, names.values()), default=0)
    for column, name in names.items():
        update, value = readable(row.columns[column]), readable(merged.columns.get(column, b""))
        after = f"cannot be merged: {reasons[column]}" if column in reasons else f"-> {value}"
        out.parts((f"  {name:<{width}}  ", "cyan"), (update, ""), ("" if is_orphaned else f"  {after}", "dim"))


def merged_of(merged: "MergedRow") -> str:
    """Of how many update rows a row was merged, as a message."""
    orphaned = f"; {counted(merged.orphaned, 'orphaned update')} not counted" if merged.orphaned else ""
    return f"merged of {counted(merged.update_rows, 'update row')}{orphaned}"


def show_counts(out: Output, counts: ScanCounts, merge_counts: "MergeCounts | None") -> None:
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


def _show_cells(out: Output, cells: Sequence[Cell]) -> None:
    names = [f"{readable(cell.family)}:{readable(cell.qualifier)}" for cell in cells]
    width = max(map(len, names), default=0)
    for name, cell in zip(names, cells, strict=True):
        out.parts(
            (f"  {name:<{width}}  ", "cyan"), (f"{moment(cell.timestamp_ms)}  ", "dim"), (readable(cell.value), "")
        )


def _interval(key: "UpdateKey", *, is_orphaned: bool) -> str:
    from sinks.updates.keys import split_of, time_of

    ends = [key.start] if not key.is_merged else [key.start, key.end]
    text = " to ".join(f"{moment(time_of(end))} split {split_of(end)}" for end in ends)
    return text + (", merged" if key.is_merged else "") + (", orphaned" if is_orphaned else "")


def _plain_interval(key: "UpdateKey") -> dict[str, object]:
    from sinks.updates.keys import split_of, time_of

    ends = {"start": key.start, "end": key.last}
    return {name: {"time": time_of(end), "split": split_of(end)} for name, end in ends.items()} | {
        "is_merged": key.is_merged
    }


def _plain_columns(columns: Mapping[bytes, bytes]) -> list[list[object]]:
    parts = sorted((*split_column(column), value) for column, value in columns.items())
    return [[to_notation(family), to_notation(name or b""), to_notation(value)] for family, name, value in parts]


def _plain_unmerged(unmerged: "Sequence[Unmerged]") -> list[list[object]]:
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


def _plain(cell: Cell) -> list[object]:
    return [to_notation(cell.family), to_notation(cell.qualifier), cell.timestamp_ms, to_notation(cell.value)]
