"""Checks the tables with blob stores."""

from ingest.api import Finding
from ingest.api.declared_table import CheckedFile, CheckedTable
from sinks.blobs.options import BlobsOptions


def check_blobs(blobs: BlobsOptions, table: CheckedTable, file: CheckedFile) -> None:
    """Report a blob store of a table with deferred updates, and one whose tables have another use."""

    def report(message: str, hint: str) -> None:
        table.report(Finding(("blobs", "name"), message, hint))

    if table.options.updates is not None:
        message = f'table "{table.name}" has deferred updates, and a processor cannot merge blobs'
        report(message, "leave `blobs` or `updates` out")
    written = {sink.settings.fixed_table for sink in file.sinks}
    for own in blobs.tables(table.name):
        if own in file.tables or own in written:
            message = f'table "{own}" belongs to the blob store of table "{table.name}"'
            report(message, "use another `name`, or another table")
    others = ((name, each.options.blobs) for name, each in file.tables.items())
    first = next(name for name, each in others if each is not None and each.prefix(name) == blobs.prefix(table.name))
    if first != table.name:
        message = f'table "{first}" already has a blob store of this name, and one blob store belongs to one table'
        report(message, "use another `name`")
