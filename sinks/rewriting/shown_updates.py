"""Update rows, and the rows that are merged of them, as commands show them."""

from collections.abc import Sequence

from ingest.amounts import counted
from ingest.api import Row, split_column
from ingest.api.notation import readable, to_notation
from ingest.api.table_reader import ShownRow
from ingest.formats.times import moment
from sinks.scanning.merged_rows import row_of
from sinks.scanning.raw_rows import StoredUpdate
from sinks.updates.groups import MergedRow
from sinks.updates.keys import UpdateKey, split_of, time_of
from sinks.updates.merging import Unmerged


def shown_merged(merged: MergedRow) -> ShownRow:
    """A row merged of deferred updates; with a warning for each column that cannot be merged."""
    row = row_of(merged)
    notes = [
        f'warning: row "{readable(row.key)}": {readable(column)} has its newest update, because its updates cannot be '
        f"merged: {reason}"
        for column, reason in merged.unmerged
    ]
    more = {
        "update_rows": merged.update_rows,
        "orphaned": merged.orphaned,
        "unmerged": plain_unmerged(merged.unmerged),
    }
    return ShownRow(row, more=more, notes=notes, summary=merged_of(merged))


def shown_update(update: StoredUpdate) -> ShownRow:
    """An update row: its logical row key, what it covers, and its cells."""
    (key, cells), is_orphaned = update
    about = {**plain_interval(key), "is_orphaned": is_orphaned}
    return ShownRow(Row(key.row, cells), about, head=interval_of(key, is_orphaned=is_orphaned))


def merged_of(merged: MergedRow) -> str:
    """Of how many update rows a row was merged, as a message."""
    orphaned = f"; {counted(merged.orphaned, 'orphaned update')} not counted" if merged.orphaned else ""
    return f"merged of {counted(merged.update_rows, 'update row')}{orphaned}"


def interval_of(key: UpdateKey, *, is_orphaned: bool) -> str:
    """What an update row covers, as a text."""
    ends = [key.start] if not key.is_merged else [key.start, key.end]
    text = " to ".join(f"{moment(time_of(end))} split {split_of(end)}" for end in ends)
    return text + (", merged" if key.is_merged else "") + (", orphaned" if is_orphaned else "")


def plain_interval(key: UpdateKey) -> dict[str, object]:
    """What an update row covers, for JSON."""
    ends = {"start": key.start, "end": key.last}
    return {name: {"time": time_of(end), "split": split_of(end)} for name, end in ends.items()} | {
        "is_merged": key.is_merged
    }


def plain_unmerged(unmerged: Sequence[Unmerged]) -> list[list[object]]:
    """The columns that cannot be merged, and why, for JSON."""
    columns = ((split_column(each.column), each.reason) for each in unmerged)
    return [[to_notation(family), to_notation(name or b""), reason] for (family, name), reason in columns]
