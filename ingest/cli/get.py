"""`attr2hbase get`: one row of a table."""

from collections.abc import Collection
from contextlib import closing
from typing import Annotated

import typer

from ingest.amounts import counted
from ingest.api import ALL_TIMES, ConfigError, NotFoundError, Scan, ScanCounts, TimeRange, next_key
from ingest.api.notation import from_readable, readable
from ingest.api.table_reader import TableReader
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
from ingest.cli.rows import RowPrinter, asked_of, columns_of, show_counts, times_of
from sinks.scanning.families import check_families

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
    count, summary, counts = 0, "", ScanCounts()
    with reading(out, file, table, asked=asked_of(raw=raw, blobs=blobs)) as (store, reader, types, _):
        check_families(store, table, wanted)
        if stats and not reader.counts_gets:
            raise _no_stats(table)
        printer = RowPrinter(out, types, wanted)
        with closing(reader.shown_one(key, scan, counts)) as found:
            for shown in found:
                count, summary = count + 1, shown.summary
                printer.row(shown)
        if not count:
            raise _missing(row, table, scan, reader, file)
    printer.finish(count)
    if stats:
        show_counts(out, counts, reader.stats())
    done = counted(count, reader.what) if reader.is_several else summary
    if done:
        out.done(done)
    following = reader.next_command(row)
    if following:
        out.next(command_line(file, *following))


def missing_row(
    row: str, table: str, times: TimeRange | None, hint: str, columns: Collection[bytes] | None = None
) -> NotFoundError:
    """The error for a row that a table does not have, or of which it has no cell in a time range or columns."""
    places = [*(["the time range"] if times not in {None, ALL_TIMES} else []), *(["these columns"] if columns else [])]
    has_none = f" has a cell in {' and '.join(places)}" if places else ""
    return NotFoundError(f'no row "{row}" in table "{table}"{has_none}', hint=hint)


def _no_stats(table: str) -> ConfigError:
    return ConfigError(
        f'--stats counts the update rows of a row, and table "{table}" has no deferred updates',
        hint="leave it out; 'attr2hbase scan --stats' counts the rows that a scan reads",
    )


def _missing(row: str, table: str, scan: Scan, reader: TableReader, file: str) -> NotFoundError:
    """The error for a row that a scan of it has not found; the reader knows physical keys."""
    stored = reader.stored_key(scan.start)
    if stored is None:
        return missing_row(
            row, table, scan.times, f"'{command_line(file, 'scan', table)}' lists the rows", scan.columns
        )
    return missing_row(row, table, scan.times, f"this is {stored.what}: {readable(stored.logical)}")
