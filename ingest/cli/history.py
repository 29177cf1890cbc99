"""`attr2hbase history`: the update rows of one row of a table with deferred updates."""

from ingest.amounts import counted
from ingest.api import ConfigError
from ingest.api.notation import from_readable
from ingest.cli.command import BytesOption, ColumnsOption, FileOption, TableArgument
from ingest.cli.get import RowArgument, missing_row
from ingest.cli.loading import reading
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.cli.rows import RowPrinter, columns_of
from ingest.formats.column_types import AS_BYTES
from sinks.scanning.families import check_families
from sinks.scanning.raw_rows import RawRows


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
        if isinstance(reader, RawRows) or reader.merged is None:
            raise ConfigError(
                f'table "{table}" has no deferred updates', hint=f"'{command_line(file, 'get', table, row)}'"
            )
        found = reader.merged.history(from_readable(row), wanted)
    if not found:
        raise missing_row(row, table, None, f"'{command_line(file, 'scan', table)}' lists the rows", wanted)
    printer = RowPrinter(out, AS_BYTES if raw else types, wanted)
    for entry in found:
        printer.history(entry)
    printer.finish(len(found))
    out.done(counted(len(found), "update row"))
    out.next(command_line(file, "get", table, row))
