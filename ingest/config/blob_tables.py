"""Checks the tables with blob stores, and declares the tables of the blob stores."""

from dataclasses import replace

from ingest.config.components import Binding
from ingest.config.model import Table
from ingest.config.nodes import locations
from ingest.config.partial import PartialConfig
from ingest.config.problems import Kind
from ingest.config.tables import TableFamilyOptions, TableOptions


def check_blobs(partial_config: PartialConfig, binding: Binding) -> None:
    """Report blob stores of tables with deferred updates, and those whose tables have another use."""
    written = {sink.settings.fixed_table for each in partial_config.pipelines.values() for sink in each.sinks}
    users: dict[str, str] = {}
    for name, table in partial_config.tables.items():
        blobs = table.options.blobs
        if blobs is None:
            continue
        places = locations(table.node)
        place = places.get(("blobs", "name"), places.get(("blobs",), table.location))
        if table.options.updates is not None:
            message = f'table "{name}" has deferred updates, and a processor cannot merge blobs'
            binding.problem(Kind.CONFLICT, place, message, "leave `blobs` or `updates` out")
        for own in blobs.tables(name):
            if own in partial_config.tables or own in written:
                message = f'table "{own}" belongs to the blob store of table "{name}"'
                binding.problem(Kind.CONFLICT, place, message, "use another `name`, or another table")
        if (first := users.setdefault(blobs.prefix(name), name)) != name:
            message = f'table "{first}" already has a blob store of this name, and one blob store belongs to one table'
            binding.problem(Kind.CONFLICT, place, message, "use another `name`")


def tables_of_blobs(table: Table) -> list[Table]:
    """The tables of the blob store of a table; none without one."""
    blobs = table.options.blobs
    if blobs is None:
        return []
    return [
        replace(
            table,
            name=name,
            options=TableOptions(store=table.options.store, families={family: TableFamilyOptions()}),
        )
        for name, family in blobs.tables(table.name).items()
    ]
