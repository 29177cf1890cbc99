"""Static checks of attribute names: whether a chain can set the row key and the cells that its sinks read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ingest.api import Format, Settings, SinkSettings, SourceSettings
from ingest.config.components import Binding
from ingest.config.model import Component
from ingest.config.nodes import NodePath, locations
from ingest.config.partial import PartialConfig, PartialPipeline
from ingest.config.problems import Kind, Place
from ingest.config.references import expressions_in, read_by, read_when
from ingest.expressions import CORE_NAMES, FUNCTIONS, is_name, quoted
from ingest.suggest import closest, did_you_mean, misspelled

_SHORT = 2  # characters of a prefix
_WITHOUT_ARGUMENTS = frozenset(
    name for name, function in FUNCTIONS.items() if not any(each.required for each in function.parameters)
)
"""Functions that can be called without arguments; their parentheses are easily forgotten."""


@dataclass(slots=True)
class _Names:
    """
    The attribute names that events may have after some decorators.

    Attributes:
        known: name -> the last decorator that sets it.
        prefixes: prefix of names that are set from data, "" for any name -> the last decorator that sets such names.
        core: core names that decorators set.
    """

    known: dict[str, Component[Settings]] = field(default_factory=dict)
    prefixes: dict[str, Component[Settings]] = field(default_factory=dict)
    core: set[str] = field(default_factory=set)

    def add(self, decorator: Component[Settings]) -> None:
        """Add the names that one more decorator sets."""
        settings = decorator.settings
        if not isinstance(settings, Settings):
            self.prefixes[""] = decorator
            return
        self.known |= dict.fromkeys(sorted(settings.sets()), decorator)
        self.core |= settings.sets_core()
        if settings.other_names is not None:
            self.prefixes[settings.other_names] = decorator
        self.prefixes |= dict.fromkeys(settings.further_prefixes, decorator)

    def may_have(self, name: str) -> bool:
        """Whether an event may have this attribute."""
        return name in self.known or any(name.startswith(prefix) for prefix in self.prefixes)

    def may_start_with(self, prefix: str) -> bool:
        """Whether an attribute that is set from data may start with this prefix."""
        return any(prefix.startswith(other) or other.startswith(prefix) for other in self.prefixes)


def check_names(pipeline: PartialPipeline, partial_config: PartialConfig, binding: Binding) -> None:
    """Warn of attributes that are read and never set; requires that all decorators were bound."""
    if pipeline.source is None:
        return
    source = pipeline.source.settings
    has_headers, is_raw = source.has_headers, source.decoding.format is Format.RAW
    given = _names_in_tests(pipeline, partial_config) if has_headers or not is_raw else set()
    _check_references(pipeline, source, given, binding)
    for decorator in pipeline.decorators:
        _warn_templates(decorator, binding)
    if not is_raw:
        return  # other formats set attributes from the record
    names = _names(pipeline.decorators)
    if not has_headers:
        _check_named_columns(pipeline, partial_config, names, given, binding)
    sinks = [(sink, prefix) for sink in pipeline.sinks if (prefix := sink.settings.cell_prefix) is not None]
    for sink, prefix in sinks:
        has_cells = _has_cell(names, prefix)
        if prefix not in names.known and prefix not in given:
            _warn_missing_key(sink, prefix, names, binding, has_headers=has_headers)
        if names.may_have(prefix) and not (
            has_cells or sink.settings.adds_cells or names.may_start_with(prefix) or has_headers
        ):
            message = "no decorator sets an attribute that becomes a cell of this sink, so nothing is stored"
            binding.warning(Kind.MISSING_CELLS, sink.location, message, f'name one "{prefix}family:qualifier"')
        others = tuple(other for _, other in sinks if len(other) > len(prefix))
        for name, decorator in names.known.items():
            if _is_malformed_cell(name, prefix, sink) and not name.startswith(others):
                _warn_malformed_cell(name, prefix, decorator, pipeline, binding)
        _check_prefixes(sink, prefix, others, pipeline, binding)


def _check_prefixes(
    sink: Component[SinkSettings], prefix: str, others: tuple[str, ...], pipeline: PartialPipeline, binding: Binding
) -> None:
    """Warn of prefixes of names that do not become cells of a sink, unless they may be of a sink with another one."""
    for index, decorator in enumerate(pipeline.decorators):
        later = pipeline.decorators[index + 1 :]
        for start, place in _prefixes_set_by(decorator):
            is_of_other = any(start.startswith(other) or other.startswith(start) for other in others)
            if not is_of_other and _is_malformed_cell(start, prefix, sink):
                _warn_malformed_cells(start, place, prefix, decorator, later, binding)


def _check_named_columns(
    pipeline: PartialPipeline, partial_config: PartialConfig, names: _Names, given: set[str], binding: Binding
) -> None:
    """Warn of columns that an option of a table names and no decorator sets: probably another one is meant."""
    prefixes: dict[str, list[str | None]] = {}
    for sink in pipeline.sinks:
        if (table := partial_config.table_of(sink.settings)) is not None:
            prefix = None if sink.settings.adds_cells else sink.settings.cell_prefix
            prefixes.setdefault(table.name, []).append(prefix)
    for name, found in prefixes.items():
        table = partial_config.tables[name]
        starts = [prefix for prefix in found if prefix is not None]
        if len(starts) < len(found):
            continue
        written = {known.removeprefix(prefix) for prefix in starts for known in {*names.known, *given} - {prefix}}
        for path, column, unless_set in table.named_columns():
            is_declared = column.partition(":")[0] in table.options.families
            is_set = any(prefix + column in given or names.may_have(prefix + column) for prefix in starts)
            if ":" in column and is_declared and not is_set:
                place = locations(table.node).get(path, table.location)
                message = f'no decorator sets the column "{column}", so {unless_set}'
                hint = did_you_mean(column, sorted(written)) or "correct it, or leave it out"
                binding.warning(Kind.DOUBTFUL, place, message, hint)


def _names_in_tests(pipeline: PartialPipeline, partial_config: PartialConfig) -> set[str]:
    """Attribute and header names of test inputs, which real records are expected to have too."""
    given = [
        event for case, _ in partial_config.test_cases if case.pipeline in (None, pipeline.name) for event in case.given
    ]
    headers = [name for event in given if event.record is not None for name, _ in event.record.headers]
    return {name for name in headers if isinstance(name, str)}.union(*(event.attributes for event in given))


def _check_references(pipeline: PartialPipeline, source: SourceSettings, given: set[str], binding: Binding) -> None:
    """Warn of templates and conditions that read an attribute, or a host, that no event has there."""
    is_raw = source.decoding.format is Format.RAW
    is_open = source.has_headers or not is_raw
    names = _Names()
    for index, component in enumerate([*pipeline.decorators, *pipeline.sinks]):
        later = pipeline.decorators[index + 1 :]
        for path, reference in _reads(component.settings, pipeline.options.timezone):
            name, hint = reference.removeprefix("attribute:"), ""
            is_attribute = name != reference
            if is_attribute and (name in given or name in names.known):
                continue
            if is_attribute:
                message = f'{_tag(name)} is the attribute "{name}", which no earlier decorator sets'
                hint = _instead_of(name, names, later, is_raw=is_raw, is_open=is_open)
            elif reference == "host" and not is_open and "host" not in names.core:
                message = (
                    "%{host} is always empty: records of this source have no host, and no earlier decorator sets one"
                )
                hint = "for the attribute write %{'host'}" if names.may_have("host") else "set it with `host`"
            if hint:
                binding.warning(Kind.DOUBTFUL, component.place(*path), message, hint)
        _warn_core_source(component, given, names, binding, has_headers=source.has_headers)
        if index < len(pipeline.decorators):
            names.add(pipeline.decorators[index])


def _warn_core_source(
    component: Component[Any], given: set[str], names: _Names, binding: Binding, *, has_headers: bool
) -> None:
    """Warn of a core name in `source`, which reads the attribute of this name, if no event has that."""
    name = getattr(component.settings, "source", None)
    # a header of another name may be any attribute; `timestamp` is a usual one
    if name not in CORE_NAMES or name in given or names.may_have(name) or (has_headers and name == "timestamp"):
        return
    message = f'`source` is the attribute "{name}", which no earlier decorator sets'
    hint = (
        "leave `source` out to read the body"
        if name == "body"
        else f"for the {name} of the record copy it into an attribute before: "
        f'`value: {{attribute: {name}, value: "%{{{name}}}"}}`'
    )
    binding.warning(Kind.DOUBTFUL, component.place("source"), message, hint)


def _reads(settings: Settings, zone: str) -> Iterator[tuple[NodePath, str]]:
    """The options of a component that are templates or conditions, with each reference that they read."""
    for reference in sorted(read_when(settings, zone)):
        yield ("when",), reference
    for path, expression in expressions_in(settings):
        for reference in sorted(expression.references):
            yield path, reference


def _tag(name: str) -> str:
    """An attribute as a template reads it."""
    return f"%{{{name if is_name(name) and name not in CORE_NAMES else quoted(name)}}}"


def _instead_of(name: str, names: _Names, later: Iterable[Component[Settings]], *, is_raw: bool, is_open: bool) -> str:
    """
    What to do about an attribute that no decorator sets by its name; "" if events may have it.

    Where data may set any name, only one that looks like a core name or a function is reported.
    """
    is_function = is_raw and name in _WITHOUT_ARGUMENTS
    if names.may_have(name) or (is_open and not is_function):
        near = misspelled(name, CORE_NAMES)
        return "" if near is None else f'did you mean "{near}"?'
    if is_function:
        return f"the function is %{{{name}()}}"
    for decorator in later:
        if name in decorator.settings.sets():
            return f"the {decorator.kind} on line {decorator.location.line} sets it; move it before this one"
    if hint := did_you_mean(name, {*CORE_NAMES, *names.known}):
        return hint
    for prefix, decorator in names.prefixes.items():
        return f'names that the {decorator.kind} on line {decorator.location.line} sets start with "{prefix}"'
    return "check the name, or set it in a decorator"


def _names(decorators: Iterable[Component[Settings]]) -> _Names:
    names = _Names()
    for decorator in decorators:
        names.add(decorator)
    return names


def _warn_missing_key(
    sink: Component[SinkSettings], prefix: str, names: _Names, binding: Binding, *, has_headers: bool
) -> None:
    """Warn if no decorator sets the row-key attribute, or if one sets a similar name."""
    is_never_set = not names.may_have(prefix)
    near = _similar_name(prefix, names)
    if near is None and is_never_set:
        near = next((name for name, decorator in names.known.items() if decorator.settings.makes_row_keys), None)
    if near is not None:
        decorator = names.known[near]
        hint = f'the {decorator.kind} on line {decorator.location.line} sets "{near}"'
    elif is_never_set:
        hint = f'add `row_key`, or `value: {{attribute: "{prefix}", …}}`'
    else:
        return
    effect = "nothing is stored" if is_never_set and not has_headers else "only events that already have it are stored"
    message = f'no decorator sets the attribute "{prefix}" that holds the row key, so {effect}'
    binding.warning(Kind.MISSING_ROW_KEY, sink.location, message, hint)


def _warn_templates(decorator: Component[Settings], binding: Binding) -> None:
    """Warn of names that look like templates."""
    for name, place in names_set_by(decorator):
        if "%{" in name:
            message = f'"{name}" is the name of an attribute as it is written: names are no templates'
            hint = "names come from data with `json`, `kv` or groups of `regex`"
            binding.warning(Kind.DOUBTFUL, place, message, hint)


def _similar_name(prefix: str, names: _Names) -> str | None:
    """A set name that may be a misspelled row-key attribute; never a cell, and None for a very short prefix."""
    return (
        closest(prefix, [name for name in names.known if not name.startswith(prefix)]) if len(prefix) > _SHORT else None
    )


def _has_cell(names: _Names, prefix: str) -> bool:
    return any(name.startswith(prefix) and _is_column(name.removeprefix(prefix)) for name in names.known)


def _is_column(name: str) -> bool:
    family, colon, _ = name.partition(":")
    return bool(family and colon)


def _is_malformed_cell(name: str, prefix: str, sink: Component[SinkSettings]) -> bool:
    """Whether an attribute has the sink's prefix and does not become a cell."""
    rest = name.removeprefix(prefix)
    has_prefix = bool(prefix) and name.startswith(prefix) and bool(rest)
    return has_prefix and not _is_column(rest) and not sink.settings.keeps_bare_names


def _warn_malformed_cell(
    name: str, prefix: str, setter: Component[Settings], pipeline: PartialPipeline, binding: Binding
) -> None:
    """Warn, unless another decorator uses the attribute."""
    if any(name in _used_by(other) for other in pipeline.decorators if other is not setter):
        return
    message = f'the attribute "{name}" does not become a cell: its name has no family and qualifier'
    hint = f'name it "{prefix}family:qualifier", or set `sys_family` in the sink'
    binding.warning(Kind.NOT_A_CELL, _place_of(name, setter), message, hint)


def _warn_malformed_cells(
    start: str,
    place: Place,
    prefix: str,
    setter: Component[Settings],
    later: Iterable[Component[Settings]],
    binding: Binding,
) -> None:
    """Warn of a prefix of many names; not if they may contain a colon after it, or if a later decorator uses them."""
    if ":" in start.removeprefix(prefix) or ":" in setter.settings.name_separator:
        return
    for decorator in later:
        settings = decorator.settings
        renames_by_pattern = settings.other_names is not None and not settings.reads()
        makes_row_key = prefix in settings.sets()
        if renames_by_pattern or (not makes_row_key and any(name.startswith(start) for name in _used_by(decorator))):
            return
    message = f'attributes that start with "{start}" do not become cells: their names have no family and qualifier'
    hint = f'write "{start}:", for the family "{start.removeprefix(prefix)}", or set `sys_family` in the sink'
    binding.warning(Kind.NOT_A_CELL, place, message, hint)


def _used_by(decorator: Component[Settings]) -> Iterator[str]:
    """Attribute names that a decorator reads or removes, as far as its options contain them."""
    settings = decorator.settings
    if isinstance(settings, Settings):
        yield from (reference.removeprefix("attribute:") for reference in read_by(settings) | settings.reads())


def names_set_by(decorator: Component[Settings]) -> Iterator[tuple[str, Place]]:
    """The attributes that the options of a decorator name, and the prefix of others that it sets, with their places."""
    settings = decorator.settings
    if not isinstance(settings, Settings):
        return
    for name in sorted(settings.sets()):
        yield name, _place_of(name, decorator)
    yield from _prefixes_set_by(decorator)


def _prefixes_set_by(decorator: Component[Settings]) -> Iterator[tuple[str, Place]]:
    """The prefixes of names that a decorator sets from data, with the places of their options."""
    settings = decorator.settings
    if settings.other_names:
        yield settings.other_names, decorator.place("prefix")
    for prefix, path in settings.further_prefixes.items():
        yield prefix, decorator.place(*path)


def _place_of(name: str, decorator: Component[Settings]) -> Place:
    """The place of the option that names an attribute a decorator sets, else the place of the decorator."""
    for path, place in decorator.locations.items():
        if path in {("attribute",), ("attributes", name)}:
            return place
    return decorator.location
