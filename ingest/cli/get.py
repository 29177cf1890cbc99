"""`ingest get`: one row of a table."""

import shlex
from contextlib import closing
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
    from collections.abc import Collection

    from ingest.api import NotFoundError, Scan, ScanCounts, TimeRange

RowArgument = Annotated[
    str, typer.Argument(metavar="ROW", help=r"Row key: text, with \xNN for other bytes; a leading - is \x2d.")
]


def get(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    table: TableArgument,
    row: RowArgument,
    *,
    columns: ColumnsOption = None,
    versions: VersionsOption = 1,
    from_: CellsFromOption = None,
    to: CellsToOption = None,
    raw: RawOption = False,
    bodies: BodiesOption = False,
    stats: Annotated[
        bool,
        typer.Option("--stats", help="Of deferred updates also show the numbers of rows read and merged, and bytes."),
    ] = False,
) -> None:
    """
    Show one row of a table; exit code 3 if it does not exist.

    Example: ingest get pipeline.yaml mytable k1-1308748686334000700 --versions 3
    Example: ingest get pipeline.yaml counters /cart --stats
    """
    from ingest.api import Scan, ScanCounts, next_key
    from ingest.api.notation import from_readable, readable
    from ingest.cli.loading import reading
    from ingest.cli.rows import columns_of, merged_of, show, show_counts, show_merged, times_of
    from sinks.scanning.families import check_families

    wanted = columns_of(columns)
    key = from_readable(row)
    times, counts = times_of(from_, to), ScanCounts()
    if raw:
        scan = Scan(key, next_key(key), columns=wanted, versions=versions, times=times)
        _show_raw(out, file, table, row, scan, counts)
        if stats:
            show_counts(out, counts, None)
        return
    with reading(out, file, table, with_bodies=bodies) as (store, reader):
        check_families(store, table, wanted)
        if reader.merged is None:
            _refuse_stats(table, is_refused=stats)
            found = reader.get(key, columns=wanted, versions=versions, times=times)
            merged = None
        else:
            merged = reader.merged.get(key, wanted, versions=versions, times=times, counts=counts)
            found = None
        logical = reader.logical_of(key)
    if found is not None:
        show(out, found)
        out.next(f"ingest scan {file} {table} --prefix KEY")
    elif merged is not None:
        show_merged(out, merged)
        if stats and reader.merged is not None:
            show_counts(out, counts, reader.merged.merge_counts)
        out.done(merged_of(merged))
        out.next(shlex.join(["ingest", "history", file, table, row]))
    elif logical is None:
        raise missing_row(row, table, times, f"'ingest scan {file} {table}' lists the rows", wanted)
    else:
        what = (
            "the key of an update row; write the logical row key"
            if reader.merged is not None
            else "a physical key of a salted table; write the row key without the bucket"
        )
        raise missing_row(row, table, times, f"this is {what}: {readable(logical)}")


def missing_row(
    row: str, table: str, times: "TimeRange | None", hint: str, columns: "Collection[bytes] | None" = None
) -> "NotFoundError":
    """The error for a row that a table does not have, or of which it has no cell in a time range or columns."""
    from ingest.api import ALL_TIMES, NotFoundError

    places = [*(["the time range"] if times not in {None, ALL_TIMES} else []), *(["these columns"] if columns else [])]
    has_none = f" has a cell in {' and '.join(places)}" if places else ""
    return NotFoundError(f'no row "{row}" in table "{table}"{has_none}', hint=hint)


def _refuse_stats(table: str, *, is_refused: bool) -> None:
    from ingest.api import ConfigError

    if is_refused:
        raise ConfigError(
            f'--stats counts the update rows of a row, and table "{table}" has no deferred updates',
            hint="leave it out; 'ingest scan --stats' counts the rows that a scan reads",
        )


def _show_raw(out: Output, file: str, table: str, row: str, scan: "Scan", counts: "ScanCounts") -> None:
    from ingest.cli.loading import reading_updates
    from ingest.cli.rows import show_update
    from sinks.scanning.families import check_families

    count = 0
    with reading_updates(out, file, table) as (store, reader):
        check_families(store, table, scan.columns)
        with closing(reader.scan(scan, counts)) as updates:
            for count, update in enumerate(updates, start=1):  # noqa: B007 - the last number is shown
                show_update(out, update)
    if not count:
        raise missing_row(row, table, scan.times, f"'ingest scan {file} {table}' lists the rows", scan.columns)
    out.done(counted(count, "update row"))
