"""Where sinks write, seen beside the tables that the file declares: tables and families that it names and misses."""

from collections.abc import Iterator, Sequence
from typing import Any

from ingest.config.components import Binding
from ingest.config.draft import Draft
from ingest.config.model import Component
from ingest.config.problems import Kind
from ingest.expressions import Template
from ingest.spelling import did_you_mean

Path = tuple[str | int, ...]


def check_table(sink: Component, store: str | None, draft: Draft, binding: Binding) -> None:
    """
    A table named outright must be declared, once any table of its store is; not for another store alone.

    A file that declares none leaves tables to their owners; one that declares some and misses one has a slip.
    """
    _check_cells(sink, binding)
    name = _constant(getattr(sink.settings, "table", None))
    if name is None:
        return
    if not name:
        binding.problem(Kind.OUT_OF_RANGE, sink.place("table"), "a table needs a name")
        return
    stores = {table: options.options.store or draft.only_store() for table, options in draft.tables.items()}
    home = stores.get(name, store)
    if home != store and {home, store} <= draft.store_names.keys():
        message = f'table "{name}" is declared for store "{home}", and this sink writes it to store "{store}"'
        # who writes both keeps a copy, which no second declaration could be written for
        if _is_written(name, home, draft):
            hint = f"the settings under `tables` hold in \"{home}\" alone, and 'ingest scan' reads that one"
            binding.warning(Kind.CONFLICT, sink.place("table"), message, hint)
        else:
            hint = f"write `store: {home}` here or `store: {store}` under `tables`, or choose another table"
            binding.problem(Kind.CONFLICT, sink.place("table"), message, hint)
        return
    declared = {table: options for table, options in draft.tables.items() if stores[table] == store}
    if declared and name not in declared:
        hint = did_you_mean(name, declared) or "add it under `tables`"
        binding.problem(Kind.UNKNOWN_REFERENCE, sink.place("table"), f'there is no table "{name}" under `tables`', hint)
        return
    families = getattr(sink.settings, "families", None)
    if name not in declared or families is None or families.on_unknown not in {"error", "drop"}:
        return
    known = declared[name].options.families
    for path, family in _families_of(sink.settings):
        if family not in known:
            message = f'there is no family "{family}" in table "{name}"'
            # one that is denied may exist all the same and belong to others
            is_denied = path[:2] == ("families", "deny")
            tell = binding.warning if is_denied else binding.problem
            way_out = "then nothing has to be denied" if is_denied else "declare it, or say on_unknown: create"
            tell(Kind.UNKNOWN_REFERENCE, sink.place(*path), message, did_you_mean(family, known) or way_out)


def _is_written(table: str, store: str | None, draft: Draft) -> bool:
    """Whether a sink names the table outright for that store."""
    sinks = [sink.settings for pipeline in draft.pipelines.values() for sink in pipeline.sinks]
    return any(
        _constant(getattr(settings, "table", None)) == table and getattr(settings, "store", None) == store
        for settings in sinks
    )


def _families_of(settings: Any) -> Iterator[tuple[Path, str]]:
    """Families that options name outright, and where."""
    if family := getattr(settings, "sys_family", None):
        yield ("sys_family",), family
    if column := getattr(settings, "write_body", None):
        yield ("write_body",), column.partition(":")[0]
    for index, cell in enumerate(getattr(settings, "cells", ())):
        if family := _constant(cell.family):
            yield ("cells", index, "family"), family
    for index, rule in enumerate(getattr(settings, "rules", ())):
        match rule.delete:
            case {"family": family}:
                yield ("rules", index, "delete", "family"), family
            case {"column": column}:
                yield ("rules", index, "delete", "column"), column.partition(":")[0]
    for option in ("allow", "deny"):
        for index, family in enumerate(getattr(settings.families, option) or ()):
            yield ("families", option, index), family


def _check_cells(sink: Component, binding: Binding) -> None:
    """A listed cell that another one always replaces."""
    later: dict[tuple[str, str], int] = {}
    cells: Sequence[Any] = getattr(sink.settings, "cells", ())
    for index, cell in reversed(list(enumerate(cells))):
        family, qualifier = _constant(cell.family), _constant(cell.qualifier)
        if family is None or qualifier is None:
            continue
        if (family, qualifier) in later:
            message = f'the cell "{family}:{qualifier}" is always replaced by a later one of the same column'
            where = sink.place("cells", later[family, qualifier], "family")
            binding.warning(Kind.CONFLICT, sink.place("cells", index, "family"), message, f"see line {where.line}")
        elif cell.on_missing != "unset":
            later[family, qualifier] = index


def _constant(template: object) -> str | None:
    """The text of a template that reads nothing of an event."""
    if not isinstance(template, Template) or template.constant is None:
        return None
    return template.constant.decode(errors="replace")
