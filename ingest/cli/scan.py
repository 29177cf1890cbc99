"""`attr2hbase scan`: rows of a table, in the order of their keys."""

from contextlib import closing
from typing import Annotated

import typer

from ingest.amounts import counted
from ingest.api import FuzzyPattern, Scan, ScanCounts
from ingest.api.notation import from_readable
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
from ingest.cli.loading import reading, to_run
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.cli.rows import RowPrinter, asked_of, columns_of, show_counts, times_of, warn_of_lossy_filters
from sinks.scanning.families import check_families

_EMPTY = "--prefix, --start, --stop and --after"
_KEY = r"text, with \xNN for other bytes"


def scan(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileOption,
    table: TableArgument,
    *,
    prefix: Annotated[str, typer.Option(metavar="KEY", help=f"Only row keys with this prefix: {_KEY}.")] = "",
    fuzzy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help=r"Only row keys that begin with this pattern: ? is any byte, \xNN a byte; "
            "repeat it for any of several patterns.",
        ),
    ] = None,
    start: Annotated[str, typer.Option(metavar="KEY", help="First row key.")] = "",
    stop: Annotated[str | None, typer.Option(metavar="KEY", help="End of the range; this key is not shown.")] = None,
    after: Annotated[
        str | None, typer.Option(metavar="KEY", help="Start after this row key; with --reverse, before it.")
    ] = None,
    columns: ColumnsOption = None,
    versions: VersionsOption = 1,
    from_: CellsFromOption = None,
    to: CellsToOption = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum number of rows.")] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="From the last row key to the first.")] = False,
    raw: RawOption = False,
    blobs: BlobsOption = False,
    stats: Annotated[
        bool,
        typer.Option(
            "--stats", help="Also show the numbers of rows read, seeks and bytes, and of update rows that were merged."
        ),
    ] = False,
) -> None:
    """
    Show rows of a table; a service may write to it meanwhile.

    Example: attr2hbase scan mytable --prefix k1- --limit 10
    Example: attr2hbase scan mytable --fuzzy 'user-????_login_' --stats
    Example: attr2hbase scan mytable --from 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z
    """
    wanted = Scan(
        start=from_readable(start),
        stop=None if stop is None else from_readable(stop),
        prefix=from_readable(prefix),
        columns=columns_of(columns),
        versions=versions,
        limit=None if limit is None else limit + 1,  # one more shows whether more exist
        reverse=reverse,
        fuzzy=tuple(map(FuzzyPattern.parse, fuzzy or ())),
        times=times_of(from_, to),
    )
    if after is not None:
        wanted = wanted.after(from_readable(after))
    count, has_more, counts = 0, False, ScanCounts()
    with (
        reading(out, file, table, asked=asked_of(raw=raw, blobs=blobs)) as (store, reader, types, configuration),
        closing(reader.shown(wanted, counts)) as rows,
    ):
        check_families(store, table, wanted.columns)
        printer = RowPrinter(out, types, wanted.columns)
        for row in rows:
            if count == limit:
                has_more = True
                break
            printer.row(row)
            count += 1
    printer.finish(count)
    if stats:
        show_counts(out, counts, reader.stats())
    warn_of_lossy_filters(out, counts)
    if not count and not wanted.is_of_all_rows:
        first, end = wanted.bounds()
        is_empty = end is not None and first >= end
        out.done("no row matches" + (f": no row key is within all of {_EMPTY}" if is_empty else ""))
        return
    out.done(counted(count, reader.what) + (" shown; more exist" if has_more else ""))
    out.next(command_line(file, "get", table, "ROW") if count else to_run(file, configuration, "status"))
