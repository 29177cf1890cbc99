"""Checks the columns that the options of tables name, and joins their types with those that features write."""

from collections.abc import Iterator

from ingest.api import OptionPath
from ingest.api.declared_table import Locator
from ingest.api.notation import name_to_bytes
from ingest.config.components import Binding
from ingest.config.nodes import locations
from ingest.config.partial import PartialConfig, PartialTable
from ingest.config.problems import Kind, Place
from ingest.formats.cell_types import CellType
from ingest.formats.column_types import ColumnTypes
from ingest.suggest import did_you_mean


def column_types_of(table: PartialTable, locator: Locator) -> ColumnTypes:
    """
    The types of a table without problems: the declared ones, and those that its features write.

    Raises:
        CatalogError: a component of a feature cannot be imported.
    """
    types = {name_to_bytes(column): cell_type for column, cell_type in table.options.columns.items()}
    for feature in table.features:
        written = feature.column_types(table, locator)
        types |= {column: CellType(value_type) for column, value_type in written.items()}
    return ColumnTypes(types)


def check_columns(partial_config: PartialConfig, binding: Binding) -> None:
    """Warn of names in the options of tables that are probably no columns."""
    for table in partial_config.tables.values():
        places = locations(table.node)
        columns: list[tuple[OptionPath, str]] = [(("columns", column), column) for column in table.options.columns]
        for path, column in (*columns, *(named[:2] for named in table.named_columns())):
            _check_family(column, table, places.get(path, table.location), partial_config, binding)


def _check_family(
    column: str, table: PartialTable, place: Place, partial_config: PartialConfig, binding: Binding
) -> None:
    """
    Warn of a column, or a family, whose family the table does not declare.

    Args:
        column: `family:qualifier` or `family`.
        table: declares families; if it has none, only prefixes of attributes are found.
        place: of the column in the file.
        partial_config: has the sinks of the table.
        binding: collects the problems.
    """
    families = sorted(table.options.families)
    family, colon, _ = column.partition(":")
    if family in families:
        return
    for prefix in _prefixes(table.name, partial_config):
        rest = column.removeprefix(prefix)
        if prefix and rest != column and (not families or rest.partition(":")[0] in families):
            message = f'"{column}" is the name of an attribute, not of a column of table "{table.name}"'
            binding.warning(Kind.DOUBTFUL, place, message, f'write "{rest}", without the prefix "{prefix}"')
            return
    if families or table.adds_to_rows:
        message = f'table "{table.name}" declares no family "{family}"'
        bare = "" if colon else "write FAMILY:QUALIFIER, or declare the family under `families`"
        hint = did_you_mean(family, families) or bare or "declare it under `families`"
        binding.warning(Kind.DOUBTFUL, place, message, hint)


def _prefixes(table: str, partial_config: PartialConfig) -> Iterator[str]:
    """The prefixes of cell attributes of the sinks that write a table."""
    for pipeline in partial_config.pipelines.values():
        for sink in pipeline.sinks:
            if sink.settings.fixed_table == table and sink.settings.cell_prefix is not None:
                yield sink.settings.cell_prefix
