"""Checks the tables and families of sinks against the tables that the file declares."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ingest.api import Settings, SinkSettings
from ingest.config.components import Binding
from ingest.config.model import Component
from ingest.config.names import names_set_by
from ingest.config.partial import PartialConfig, PartialPipeline
from ingest.config.problems import Kind, Place
from ingest.suggest import did_you_mean

_DECLARE = "declare it, or set on_unknown: create"


class _SetCell(NamedTuple):
    """
    A cell that a decorator sets.

    Attributes:
        attribute: its name, or the prefix of several names.
        is_conditional: the decorator has `when`.
    """

    attribute: str
    family: str
    place: Place
    is_conditional: bool


def check_family_rules(sink: Component[SinkSettings], pipeline: PartialPipeline, binding: Binding) -> None:
    """Warn of cells that decorators set without a condition and the options of the sink deny."""
    settings = sink.settings
    if settings.when is not None:
        return
    for cell in _cells_set(settings.cell_prefix, pipeline):
        if not cell.is_conditional and settings.family_rule(cell.family) is False:
            message = (
                f'"{cell.attribute}" is a cell of family "{cell.family}", which the {sink.kind} sink on line '
                f"{sink.location.line} denies, so no event with it is stored"
            )
            binding.warning(Kind.CONFLICT, cell.place, message, "correct the family, or `families` of the sink")


def check_table(
    sink: Component[SinkSettings],
    store: str | None,
    pipeline: PartialPipeline,
    partial_config: PartialConfig,
    binding: Binding,
) -> None:
    """
    Check a sink with a fixed table name.

    If the file declares any table of values for the sink's store, the sink's table must be declared for that store,
    too. A file without such declarations leaves these tables to their owners; a table with deferred updates exists only
    by its declaration.
    """
    name = sink.settings.fixed_table
    if name is None:
        return
    if not name:
        binding.problem(Kind.OUT_OF_RANGE, sink.place("table"), "a table needs a name")
        return
    stores = {
        table: options.options.store or partial_config.only_store() for table, options in partial_config.tables.items()
    }
    home = stores.get(name, store)
    if home != store and {home, store} <= partial_config.store_names.keys():
        message = f'table "{name}" is declared for store "{home}", and this sink writes it to store "{store}"'
        # a sink for the declared store, too, makes this a deliberate copy; a table cannot be declared twice
        if _is_written(name, home, partial_config):
            hint = f"the definition under `tables` applies only to \"{home}\", and 'attr2hbase scan' reads that one"
            binding.warning(Kind.OTHER_STORE, sink.place("table"), message, hint)
        else:
            hint = f"write `store: {home}` here or `store: {store}` under `tables`, or use another table"
            binding.problem(Kind.CONFLICT, sink.place("table"), message, hint)
        return
    if name in partial_config.table_names and name not in partial_config.tables:
        return  # its options have problems, which are reported
    declared = {table: options for table, options in partial_config.tables.items() if stores[table] == store}
    has_values = any(not table.adds_to_rows for table in declared.values())
    if name not in declared and (has_values or did_you_mean(name, declared)):
        hint = did_you_mean(name, declared) or "add it under `tables`"
        binding.problem(Kind.UNKNOWN_REFERENCE, sink.place("table"), f'there is no table "{name}" under `tables`', hint)
        return
    if name in declared:
        _check_families(sink, name, declared[name].options.families, pipeline, binding)


def _check_families(
    sink: Component[SinkSettings],
    table: str,
    known: Mapping[str, object],
    pipeline: PartialPipeline,
    binding: Binding,
) -> None:
    """Report undeclared families that the sink names: an error if it cannot create families, else a warning."""
    settings = sink.settings
    if settings.on_unknown_family == "create":
        return
    is_strict = settings.on_unknown_family is not None
    for path, family in settings.named_families():
        # a denied family may still exist, for other writers; an allowed one may still be created
        is_denied, is_listed = path[:2] == ("families", "deny"), path[0] == "families"
        if family in known or (is_listed and not is_strict):
            continue
        message = f'there is no family "{family}" in table "{table}"'
        hint = did_you_mean(family, known) or ("it need not be denied" if is_denied else _DECLARE)
        if is_denied:
            binding.warning(Kind.UNKNOWN_REFERENCE, sink.place(*path), message, hint)
        elif is_strict:
            binding.problem(Kind.UNKNOWN_REFERENCE, sink.place(*path), message, hint)
        else:
            binding.warning(Kind.UNDECLARED_FAMILY, sink.place(*path), message, hint)
    for cell in _cells_set(settings.cell_prefix, pipeline):
        if cell.family not in known and settings.family_rule(cell.family) is None:
            message = f'"{cell.attribute}" is a cell of family "{cell.family}", which table "{table}" does not declare'
            binding.warning(Kind.UNDECLARED_FAMILY, cell.place, message, did_you_mean(cell.family, known) or _DECLARE)


def _cells_set(prefix: str | None, pipeline: PartialPipeline) -> Iterator[_SetCell]:
    """The cells of attribute names and prefixes that decorators set and no later one may rename or remove."""
    if prefix is None:
        return
    for index, decorator in enumerate(pipeline.decorators):
        settings = decorator.settings
        later = [decorator.settings for decorator in pipeline.decorators[index + 1 :]]
        if not isinstance(settings, Settings) or any(map(_may_rename, later)):
            continue
        for name, place in names_set_by(decorator):
            family, colon, _ = name.removeprefix(prefix).partition(":")
            is_cell = name.startswith(prefix) and bool(family and colon)
            if is_cell and not any(other.may_remove(name) for other in later):
                yield _SetCell(name, family, place, is_conditional=settings.when is not None)


def _may_rename(settings: Settings) -> bool:
    """Whether a decorator may rename existing attributes."""
    return not isinstance(settings, Settings) or settings.other_names == ""


def _is_written(table: str, store: str | None, partial_config: PartialConfig) -> bool:
    """Whether a sink writes the table in that store."""
    sinks = [sink.settings for pipeline in partial_config.pipelines.values() for sink in pipeline.sinks]
    return any(settings.fixed_table == table and settings.store_name == store for settings in sinks)
