"""`ingest scan`: rows of a table, in the order of their keys."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.cli.command import (
    BodiesOption,
    CellsFromOption,
    CellsToOption,
    ColumnsOption,
    FileArgument,
    RawOption,
    TableArgument,
    VersionsOption,
)
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.api import Scan, ScanCounts
    from sinks.scanning.merged_rows import MergeCounts

    Shown = tuple[Iterator[Callable[[], None]], MergeCounts | None]

_EMPTY = "--prefix, --start, --stop and --after"
_KEY = r"text, with \xNN for other bytes"


def scan(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
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
    bodies: BodiesOption = False,
    stats: Annotated[
        bool,
        typer.Option(
            "--stats", help="Also show the numbers of rows read, seeks and bytes, and of update rows that were merged."
        ),
    ] = False,
) -> None:
    """
    Show rows of a table; a service may write to it meanwhile.

    Example: ingest scan pipeline.yaml mytable --prefix k1- --limit 10
    Example: ingest scan pipeline.yaml mytable --fuzzy 'user-????_login_' --stats
    Example: ingest scan pipeline.yaml mytable --from 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z
    """
    from ingest.api import FuzzyPattern, Scan, ScanCounts
    from ingest.api.notation import from_readable
    from ingest.cli.rows import columns_of, show_counts, times_of, warn_of_lossy_filters

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
    shows = _updates if raw else partial(_rows, with_bodies=bodies)
    with shows(out, file, table, wanted, counts) as (shown, merge_counts):
        for show in shown:
            if count == limit:
                has_more = True
                break
            show()
            count += 1
    if stats:
        show_counts(out, counts, merge_counts)
    warn_of_lossy_filters(out, counts)
    if not count and not wanted.is_of_all_rows:
        first, end = wanted.bounds()
        is_empty = end is not None and first >= end
        out.done("no row matches" + (f": no row key is within all of {_EMPTY}" if is_empty else ""))
        return
    out.done(counted(count, "update row" if raw else "row") + (" shown; more exist" if has_more else ""))
    out.next(f"ingest get {file} {table} ROW" if count else f"ingest run --once {file}")


@contextmanager
def _rows(
    out: Output, file: str, table: str, scan: "Scan", counts: "ScanCounts", *, with_bodies: bool
) -> Iterator["Shown"]:
    """For each row, what shows it; the rows of a table with deferred updates are merged, with the work of that."""
    from ingest.cli.loading import reading
    from ingest.cli.rows import show, show_merged
    from sinks.scanning.families import check_families

    with reading(out, file, table, with_bodies=with_bodies) as (store, reader):
        check_families(store, table, scan.columns)
        if reader.merged is None:
            with closing(reader.scan(scan, counts)) as rows:
                yield (partial(show, out, row) for row in rows), None
        else:
            with closing(reader.merged.scan(scan, counts)) as merged:
                yield (partial(show_merged, out, row) for row in merged), reader.merged.merge_counts


@contextmanager
def _updates(out: Output, file: str, table: str, scan: "Scan", counts: "ScanCounts") -> Iterator["Shown"]:
    """The same for the update rows of a table with deferred updates."""
    from ingest.cli.loading import reading_updates
    from ingest.cli.rows import show_update
    from sinks.scanning.families import check_families

    with reading_updates(out, file, table) as (store, reader):
        check_families(store, table, scan.columns)
        with closing(reader.scan(scan, counts)) as updates:
            yield (partial(show_update, out, update) for update in updates), None
