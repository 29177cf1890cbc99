"""`attr2hbase get`: one row of a table."""

from collections.abc import Collection
from contextlib import closing
from typing import Annotated

import typer

from ingest.amounts import counted
from ingest.api import ALL_TIMES, ConfigError, NotFoundError, Scan, ScanCounts, TimeRange, next_key
from ingest.api.notation import from_readable, readable
from ingest.cli.command import (
    BlobsOption,
    CellsFromOption,
    CellsToOption,
    ColumnsOption,
    FileOption,
    RawOption,
    TableArgument,
    VersionsOption,
)
from ingest.cli.loading import reading
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.cli.rows import RowPrinter, columns_of, merged_of, show_counts, times_of
from sinks.scanning.families import check_families
from sinks.scanning.raw_rows import RawRows
from sinks.scanning.table_reader import TableReader

RowArgument = Annotated[
    str, typer.Argument(metavar="ROW", help=r"Row key: text, with \xNN for other bytes; a leading - is \x2d.")
]


def get(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileOption,
    table: TableArgument,
    row: RowArgument,
    *,
    columns: ColumnsOption = None,
    versions: VersionsOption = 1,
    from_: CellsFromOption = None,
    to: CellsToOption = None,
    raw: RawOption = False,
    blobs: BlobsOption = False,
    stats: Annotated[
        bool,
        typer.Option("--stats", help="Of deferred updates also show the numbers of rows read and merged, and bytes."),
    ] = False,
) -> None:
    """
    Show one row of a table; exit code 3 if it does not exist.

    Example: attr2hbase get mytable k1-1308748686334000700 --versions 3
    Example: attr2hbase get counters /cart --stats
    """
    wanted = columns_of(columns)
    key = from_readable(row)
    scan = Scan(key, next_key(key), columns=wanted, versions=versions, times=times_of(from_, to))
    counts = ScanCounts()
    with reading(out, file, table, with_blobs=blobs, is_raw=raw) as (store, reader, types, _):
        check_families(store, table, wanted)
        printer = RowPrinter(out, types, wanted)
        merge_counts = None
        if isinstance(reader, RawRows):
            count = _show_updates(printer, reader, scan, counts)
            done, following = counted(count, "update row"), ""
        elif reader.merged is None:
            _refuse_stats(table, is_refused=stats)
            found = reader.get(key, columns=wanted, versions=versions, times=scan.times)
            count = 0 if found is None else 1
            if found is not None:
                printer.row(found)
            done, following = "", command_line(file, "scan", table, "--prefix", "KEY")
        else:
            merge_counts = reader.merged.merge_counts
            merged = reader.merged.get(key, wanted, versions=versions, times=scan.times, counts=counts)
            count = 0 if merged is None else 1
            if merged is not None:
                printer.merged(merged)
            done = "" if merged is None else merged_of(merged)
            following = command_line(file, "history", table, row)
        if not count:
            raise _missing(row, table, scan, reader, file)
    printer.finish(count)
    if stats:
        show_counts(out, counts, merge_counts)
    if done:
        out.done(done)
    if following:
        out.next(following)


def missing_row(
    row: str, table: str, times: TimeRange | None, hint: str, columns: Collection[bytes] | None = None
) -> NotFoundError:
    """The error for a row that a table does not have, or of which it has no cell in a time range or columns."""
    places = [*(["the time range"] if times not in {None, ALL_TIMES} else []), *(["these columns"] if columns else [])]
    has_none = f" has a cell in {' and '.join(places)}" if places else ""
    return NotFoundError(f'no row "{row}" in table "{table}"{has_none}', hint=hint)


def _refuse_stats(table: str, *, is_refused: bool) -> None:

    if is_refused:
        raise ConfigError(
            f'--stats counts the update rows of a row, and table "{table}" has no deferred updates',
            hint="leave it out; 'attr2hbase scan --stats' counts the rows that a scan reads",
        )


def _show_updates(printer: RowPrinter, updates: RawRows, scan: Scan, counts: ScanCounts) -> int:
    """The number of update rows, each of which is shown."""
    count = 0
    with closing(updates.scan(scan, counts)) as found:
        for update in found:
            count += 1
            printer.update(update)
    return count


def _missing(row: str, table: str, scan: Scan, reader: TableReader | RawRows, file: str) -> NotFoundError:
    """The error for a row that a scan of it has not found; the reader knows physical keys."""
    logical = None if isinstance(reader, RawRows) else reader.logical_of(scan.start)
    if isinstance(reader, RawRows) or logical is None:
        return missing_row(
            row, table, scan.times, f"'{command_line(file, 'scan', table)}' lists the rows", scan.columns
        )
    what = (
        "the key of an update row; write the logical row key"
        if reader.merged is not None
        else "a physical key of a salted table; write the row key without the bucket"
    )
    return missing_row(row, table, scan.times, f"this is {what}: {readable(logical)}")
