"""`attr2hbase history`: the update rows of one row of a table with deferred updates."""

from collections.abc import Mapping

from ingest.amounts import counted
from ingest.api import ConfigError, split_column
from ingest.api.notation import from_readable, to_notation
from ingest.cli.command import BytesOption, ColumnsOption, FileOption, TableArgument
from ingest.cli.get import RowArgument, missing_row
from ingest.cli.loading import reading
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.cli.rows import RowPrinter, columns_of
from ingest.formats.column_types import AS_BYTES
from ingest.reference.readable import readable
from sinks.rewriting.shown_updates import interval_of, plain_interval, plain_unmerged
from sinks.rewriting.update_readers import MergedReader
from sinks.scanning.families import check_families
from sinks.updates.groups import HistoryEntry


def history(
    out: Output,
    file: FileOption,
    table: TableArgument,
    row: RowArgument,
    *,
    columns: ColumnsOption = None,
    raw: BytesOption = False,
) -> None:
    """
    Show the update rows of one row of a table with deferred updates, oldest first, and its values after each.

    An update row has the batch time in UTC, and the number of the part of that micro-batch that wrote it. A merged one
    stands for all of an interval. An orphaned one is within such an interval: it was left when a compaction was
    interrupted, and does not count. Exit code 3 if the row does not exist.

    Example: attr2hbase history counters monday

    Example: attr2hbase history counters monday --columns cf:hits --output json
    """
    wanted = columns_of(columns)
    with reading(out, file, table) as (store, reader, types, _):
        check_families(store, table, wanted)
        if not isinstance(reader, MergedReader):
            raise ConfigError(
                f'table "{table}" has no deferred updates', hint=f"'{command_line(file, 'get', table, row)}'"
            )
        found = reader.rows.history(from_readable(row), wanted)
    if not found:
        raise missing_row(row, table, None, f"'{command_line(file, 'scan', table)}' lists the rows", wanted)
    printer = _HistoryPrinter(out, AS_BYTES if raw else types, wanted)
    for entry in found:
        printer.entry(entry)
    printer.finish(len(found))
    out.done(counted(len(found), "update row"))
    out.next(command_line(file, "get", table, row))


class _HistoryPrinter(RowPrinter):
    """Prints the update rows of a row."""

    def entry(self, entry: HistoryEntry) -> None:
        """An update row of a history: when it was written, its updates, and the values of the row after it."""
        row, is_orphaned, merged = entry
        key = row.key.row
        if self._out.is_json:
            self._out.json(
                {
                    **plain_interval(row.key),
                    "is_orphaned": is_orphaned,
                    "updates": self._plain_columns(key, row.columns),
                    "merged": self._plain_columns(key, merged.columns),
                    "unmerged": plain_unmerged(merged.unmerged),
                }
            )
            return
        self._out.line(interval_of(row.key, is_orphaned=is_orphaned), "bold")
        reasons = dict(merged.unmerged)
        names = {column: readable(column) for column in sorted(row.columns, key=split_column)}
        width = max(map(len, names.values()), default=0)
        for column, name in names.items():
            update, value = (self._shown(key, column, each.get(column, b"")) for each in (row.columns, merged.columns))
            after = f"cannot be merged: {reasons[column]}" if column in reasons else f"-> {value.text}"
            self._out.parts(
                (f"  {name:<{width}}  ", "cyan"), (update.text, ""), ("" if is_orphaned else f"  {after}", "dim")
            )

    def _plain_columns(self, row: bytes, columns: Mapping[bytes, bytes]) -> list[list[object]]:
        found: list[list[object]] = []
        for column in sorted(columns, key=split_column):
            family, name = split_column(column)
            shown = self._shown(row, column, columns[column])
            found.append([to_notation(family), to_notation(name or b""), shown.plain])
        return found
