"""`ingest get`: one row of a table."""

from typing import Annotated

import typer

from ingest.cli.command import (
    CellsFromOption,
    CellsToOption,
    ColumnsOption,
    FileArgument,
    TableArgument,
    VersionsOption,
)
from ingest.cli.output import Output


def get(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    table: TableArgument,
    row: Annotated[str, typer.Argument(metavar="ROW", help=r"Row key: text, with \xNN for other bytes.")],
    *,
    columns: ColumnsOption = None,
    versions: VersionsOption = 1,
    from_: CellsFromOption = None,
    to: CellsToOption = None,
) -> None:
    """
    Show one row of a table; exit code 3 if it does not exist.

    Example: ingest get pipeline.yaml mytable k1-1308748686334000700 --versions 3
    """
    from ingest.api import ALL_TIMES, NotFoundError
    from ingest.api.notation import from_readable, readable
    from ingest.cli.loading import reading
    from ingest.cli.rows import columns_of, show, times_of
    from sinks.scanning.families import check_families

    wanted = columns_of(columns)
    key = from_readable(row)
    times = times_of(from_, to)
    with reading(out, file, table) as (store, reader):
        check_families(store, table, wanted)
        found = reader.get(key, columns=wanted, versions=versions, times=times)
        is_stored = found is None and reader.is_stored(key)
    if found is None:
        hint = (
            f"this is a stored key of a salted table; write the row key without the bucket: {readable(key[1:])}"
            if is_stored
            else f"'ingest scan {file} {table}' lists the rows"
        )
        in_range = "" if times == ALL_TIMES else " has a cell in the time range"
        raise NotFoundError(f'no row "{row}" in table "{table}"{in_range}', hint=hint)
    show(out, found)
    out.next(f"ingest scan {file} {table} --prefix KEY")
