"""`attr2hbase scan`: rows of a table, in the order of their keys."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Annotated, NamedTuple

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
from ingest.cli.rows import RowPrinter, columns_of, show_counts, times_of, warn_of_lossy_filters
from ingest.config.model import Configuration
from sinks.scanning.families import check_families
from sinks.scanning.merged_rows import MergeCounts
from sinks.scanning.raw_rows import RawRows

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
    with _rows(out, file, table, wanted, counts, with_blobs=blobs, is_raw=raw) as shown:
        for show in shown.rows:
            if count == limit:
                has_more = True
                break
            show()
            count += 1
    shown.printer.finish(count)
    if stats:
        show_counts(out, counts, shown.merge_counts)
    warn_of_lossy_filters(out, counts)
    if not count and not wanted.is_of_all_rows:
        first, end = wanted.bounds()
        is_empty = end is not None and first >= end
        out.done("no row matches" + (f": no row key is within all of {_EMPTY}" if is_empty else ""))
        return
    out.done(counted(count, shown.what) + (" shown; more exist" if has_more else ""))
    out.next(command_line(file, "get", table, "ROW") if count else to_run(file, shown.configuration, "status"))


class _Shown(NamedTuple):
    """
    The rows of a scan.

    Attributes:
        configuration: of the file.
        rows: for each of them, what prints it.
        printer: prints them.
        merge_counts: the work of merging deferred updates; None for rows that are not merged.
        what: they are.
    """

    configuration: Configuration
    rows: Iterator[Callable[[], None]]
    printer: RowPrinter
    merge_counts: MergeCounts | None = None
    what: str = "row"


@contextmanager
def _rows(
    out: Output, file: str, table: str, scan: Scan, counts: ScanCounts, *, with_blobs: bool, is_raw: bool
) -> Iterator[_Shown]:
    """The rows of a table; those of a table with deferred updates are merged, unless its update rows are requested."""
    with reading(out, file, table, with_blobs=with_blobs, is_raw=is_raw) as (store, reader, types, configuration):
        check_families(store, table, scan.columns)
        printer = RowPrinter(out, types, scan.columns)
        if isinstance(reader, RawRows):
            with closing(reader.scan(scan, counts)) as stored:
                yield _Shown(
                    configuration, (partial(printer.update, row) for row in stored), printer, what="update row"
                )
        elif reader.merged is None:
            with closing(reader.scan(scan, counts)) as rows:
                yield _Shown(configuration, (partial(printer.row, row) for row in rows), printer)
        else:
            with closing(reader.merged.scan(scan, counts)) as merged:
                shown = (partial(printer.merged, row) for row in merged)
                yield _Shown(configuration, shown, printer, reader.merged.merge_counts)
