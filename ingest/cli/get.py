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
    from ingest.api.notation import from_readable, readable
    from ingest.cli.loading import reading
    from ingest.cli.rows import columns_of, show
    from sinks.scanning.families import check_families

    wanted = columns_of(columns)
    key = from_readable(row)
    with reading(out, file, table) as (store, reader):
        check_families(store, table, wanted)
        found = reader.get(key, columns=wanted, versions=versions)
        is_stored = found is None and reader.is_stored(key)
    if found is None:
        hint = (
            f"this is a stored key of a salted table; write the row key without the bucket: {readable(key[1:])}"
            if is_stored
            else f"'ingest scan {file} {table}' lists the rows"
        )
        raise NotFoundError(f'no row "{row}" in table "{table}"', hint=hint)
    show(out, found)
    out.next(f"ingest scan {file} {table} --prefix KEY")
