"""Checks the types of columns that tables declare, and joins them with those of processors."""

from collections.abc import Iterator

from ingest.api.notation import name_to_bytes
from ingest.config.components import Binding
from ingest.config.nodes import locations
from ingest.config.partial import PartialConfig, PartialTable
from ingest.config.problems import Kind, Place
from ingest.formats.cell_types import CellType
from ingest.formats.column_types import ColumnTypes
from ingest.suggest import did_you_mean


def column_types_of(table: PartialTable) -> ColumnTypes:
    """The types of a table without problems: the declared ones, and that of its processor for what it merges."""
    declared = {name_to_bytes(column): cell_type for column, cell_type in table.options.columns.items()}
    if table.options.updates is None or table.value_type is None:
        return ColumnTypes(declared)
    merged = [name_to_bytes(column) for column in table.options.updates.columns] or [b""]
    return ColumnTypes(declared | dict.fromkeys(merged, CellType(table.value_type)))


def check_column_types(partial_config: PartialConfig, binding: Binding) -> None:
    """Report columns with another type than their processor writes, and names that are probably no columns."""
    for name, table in partial_config.tables.items():
        places = locations(table.node)
        for column, cell_type in table.options.columns.items():
            place = places.get(("columns", column), table.location)
            if _is_merged(column, table) and table.value_type not in {None, cell_type}:
                message = f'"{column}" is {cell_type} here, and the processor of the table writes {table.value_type}'
                hint = "leave it out: columns that the processor merges have its type"
                binding.problem(Kind.CONFLICT, place, message, hint)
            check_family(column, name, table, place, partial_config, binding)


def check_family(
    column: str, name: str, table: PartialTable, place: Place, partial_config: PartialConfig, binding: Binding
) -> None:
    """
    Warn of a column, or a family, whose family the table does not declare.

    Args:
        column: `family:qualifier` or `family`.
        name: of the table.
        table: declares families; if it has none, only prefixes of attributes are found.
        place: of the column in the file.
        partial_config: has the sinks of the table.
        binding: collects the problems.
    """
    families = sorted(table.options.families)
    family, colon, _ = column.partition(":")
    if family in families:
        return
    for prefix in _prefixes(name, partial_config):
        rest = column.removeprefix(prefix)
        if prefix and rest != column and (not families or rest.partition(":")[0] in families):
            message = f'"{column}" is the name of an attribute, not of a column of table "{name}"'
            binding.warning(Kind.DOUBTFUL, place, message, f'write "{rest}", without the prefix "{prefix}"')
            return
    if families or table.options.updates is not None:
        message = f'table "{name}" declares no family "{family}"'
        bare = "" if colon else "write FAMILY:QUALIFIER, or declare the family under `families`"
        hint = did_you_mean(family, families) or bare or "declare it under `families`"
        binding.warning(Kind.DOUBTFUL, place, message, hint)


def _is_merged(column: str, table: PartialTable) -> bool:
    """Whether the processor merges all columns of this name."""
    updates = table.options.updates
    if updates is None:
        return False
    return not updates.columns or column in updates.columns or column.partition(":")[0] in updates.columns


def _prefixes(table: str, partial_config: PartialConfig) -> Iterator[str]:
    """The prefixes of cell attributes of the sinks that write a table."""
    for pipeline in partial_config.pipelines.values():
        for sink in pipeline.sinks:
            if sink.settings.fixed_table == table and sink.settings.cell_prefix is not None:
                yield sink.settings.cell_prefix
