"""`ingest scan`: rows of a table, in the order of their keys."""

from typing import Annotated

import typer

from ingest.cli.command import ColumnsOption, FileArgument, TableArgument, VersionsOption
from ingest.cli.output import Output, counted

_KEY = r"text, with \xNN for other bytes"


def scan(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    table: TableArgument,
    *,
    prefix: Annotated[str, typer.Option(metavar="KEY", help=f"Only row keys with this prefix: {_KEY}.")] = "",
    start: Annotated[str, typer.Option(metavar="KEY", help="First row key.")] = "",
    stop: Annotated[str | None, typer.Option(metavar="KEY", help="End of the range; this key is not shown.")] = None,
    columns: ColumnsOption = None,
    versions: VersionsOption = 1,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum number of rows.")] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="From the last row key to the first.")] = False,
) -> None:
    """
    Show rows of a table; a service may write to it meanwhile.

    Example: ingest scan pipeline.yaml mytable --prefix k1- --limit 10
    """
    from ingest.api import Scan
    from ingest.cli.loading import reading
    from ingest.cli.rows import check_families, columns_of, show
    from ingest.reference.readable import from_readable

    wanted = Scan(
        start=from_readable(start),
        stop=None if stop is None else from_readable(stop),
        prefix=from_readable(prefix),
        columns=columns_of(columns),
        versions=versions,
        limit=None if limit is None else limit + 1,  # one more shows whether more exist
        reverse=reverse,
    )
    count, has_more = 0, False
    with reading(out, file, table) as (store, reader):
        check_families(store, table, wanted.columns)
        for row in reader.scan(wanted):
            if count == limit:
                has_more = True
                break
            show(out, row)
            count += 1
    if not count and (prefix or start or stop is not None or columns):
        out.done("no row matches")
        return
    out.done(counted(count, "row") + (" shown; more exist" if has_more else ""))
    out.next(f"ingest get {file} {table} ROW" if count else f"ingest run --once {file}")
