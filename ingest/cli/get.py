"""`ingest get`: one row of a table."""

from typing import Annotated

import typer

from ingest.cli.command import ColumnsOption, FileArgument, TableArgument, VersionsOption
from ingest.cli.output import Output


def get(
    out: Output,
    file: FileArgument,
    table: TableArgument,
    row: Annotated[str, typer.Argument(metavar="ROW", help=r"Row key: text, with \xNN for other bytes.")],
    *,
    columns: ColumnsOption = None,
    versions: VersionsOption = 1,
) -> None:
    """
    Show one row of a table; exit code 3 if it does not exist.

    Example: ingest get pipeline.yaml mytable k1-1308748686334000700 --versions 3
    """
    from ingest.api import NotFoundError
    from ingest.api.notation import from_readable
    from ingest.cli.loading import reading
    from ingest.cli.rows import columns_of, show
    from sinks.scanning.families import check_families

    wanted = columns_of(columns)
    with reading(out, file, table) as (store, reader):
        check_families(store, table, wanted)
        found = reader.get(from_readable(row), columns=wanted, versions=versions)
    if found is None:
        raise NotFoundError(f'no row "{row}" in table "{table}"', hint=f"'ingest scan {file} {table}' lists the rows")
    show(out, found)
    out.next(f"ingest scan {file} {table} --prefix KEY")
