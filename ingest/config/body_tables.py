"""Checks the tables with body stores, and declares the tables of the body stores."""

from dataclasses import replace

from ingest.config.components import Binding
from ingest.config.model import Table
from ingest.config.nodes import locations
from ingest.config.partial import PartialConfig
from ingest.config.problems import Kind
from ingest.config.tables import TableFamilyOptions, TableOptions


def check_bodies(partial_config: PartialConfig, binding: Binding) -> None:
    """Report body stores of tables with deferred updates, and those whose tables have another use."""
    written = {sink.settings.fixed_table for each in partial_config.pipelines.values() for sink in each.sinks}
    users: dict[str, str] = {}
    for name, table in partial_config.tables.items():
        bodies = table.options.bodies
        if bodies is None:
            continue
        places = locations(table.node)
        place = places.get(("bodies", "name"), places.get(("bodies",), table.location))
        if table.options.updates is not None:
            message = f'table "{name}" has deferred updates, and a processor cannot merge bodies'
            binding.problem(Kind.CONFLICT, place, message, "leave `bodies` or `updates` out")
        for own in bodies.tables(name):
            if own in partial_config.tables or own in written:
                message = f'table "{own}" belongs to the body store of table "{name}"'
                binding.problem(Kind.CONFLICT, place, message, "use another `name`, or another table")
        if (first := users.setdefault(bodies.prefix(name), name)) != name:
            message = f'table "{first}" already has a body store of this name, and one body store belongs to one table'
            binding.problem(Kind.CONFLICT, place, message, "use another `name`")


def tables_of_bodies(table: Table) -> list[Table]:
    """The tables of the body store of a table; none without one."""
    bodies = table.options.bodies
    if bodies is None:
        return []
    return [
        replace(
            table,
            name=name,
            options=TableOptions(store=table.options.store, families={family: TableFamilyOptions()}),
        )
        for name, family in bodies.tables(table.name).items()
    ]
