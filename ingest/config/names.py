"""Static checks of attribute names: whether a chain can set the row key and the cells that its sinks read."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ingest.api import Format, Settings, SinkSettings
from ingest.config.components import Binding
from ingest.config.model import Component
from ingest.config.partial import PartialConfig, PartialPipeline
from ingest.config.problems import Kind, Place
from ingest.config.references import read_by, read_when
from ingest.expressions import FUNCTIONS
from ingest.suggest import closest

_SHORT = 2  # characters of a prefix
_WITHOUT_ARGUMENTS = frozenset(
    name for name, function in FUNCTIONS.items() if not any(each.required for each in function.parameters)
)
"""Functions that can be called without arguments; their parentheses are easily forgotten."""


class _Names(NamedTuple):
    """
    The attribute names that events may have after some decorators.

    Attributes:
        set: name -> the last decorator that sets it.
        prefixes: prefixes of the names that decorators set from data; "" for any name.
    """

    set: dict[str, Component[Settings]]
    prefixes: frozenset[str]

    def may_have(self, name: str) -> bool:
        """Whether an event may have this attribute."""
        return name in self.set or any(name.startswith(prefix) for prefix in self.prefixes)

    def may_start_with(self, prefix: str) -> bool:
        """Whether an attribute that is set from data may start with this prefix."""
        return any(prefix.startswith(other) or other.startswith(prefix) for other in self.prefixes)


def check_names(pipeline: PartialPipeline, partial_config: PartialConfig, binding: Binding) -> None:
    """Warn of attributes that are read and never set; requires that all decorators were bound."""
    if pipeline.source is None or pipeline.source.settings.decoding.format is not Format.RAW:
        return  # other formats set attributes from the record
    has_headers = pipeline.source.settings.has_headers
    given = _names_in_tests(pipeline, partial_config) if has_headers else set()
    _check_functions(pipeline, given, binding)
    sinks = [(sink, prefix) for sink in pipeline.sinks if (prefix := sink.settings.cell_prefix) is not None]
    names = _names(pipeline.decorators)
    for sink, prefix in sinks:
        has_cells = _has_cell(names, prefix)
        if prefix not in names.set and prefix not in given:
            _warn_missing_key(sink, prefix, names, binding, has_headers=has_headers)
        if names.may_have(prefix) and not (
            has_cells or sink.settings.adds_cells or names.may_start_with(prefix) or has_headers
        ):
            message = "no decorator sets an attribute that becomes a cell of this sink, so nothing is stored"
            binding.warning(Kind.MISSING_CELLS, sink.location, message, f'name one "{prefix}family:qualifier"')
        others = [other for _, other in sinks if len(other) > len(prefix)]
        for name, decorator in names.set.items():
            if _is_malformed_cell(name, prefix, sink) and not any(name.startswith(other) for other in others):
                _warn_malformed_cell(name, prefix, decorator, pipeline, binding)


def _names_in_tests(pipeline: PartialPipeline, partial_config: PartialConfig) -> set[str]:
    """Attribute and header names of test inputs, which real records are expected to have too."""
    given = [
        event for case, _ in partial_config.test_cases if case.pipeline in (None, pipeline.name) for event in case.given
    ]
    headers = [name for event in given if event.record is not None for name, _ in event.record.headers]
    return {name for name in headers if isinstance(name, str)}.union(*(event.attributes for event in given))


def _check_functions(pipeline: PartialPipeline, given: set[str], binding: Binding) -> None:
    """Warn of unset attributes with the name of a function: the parentheses may be missing."""
    components = [*pipeline.decorators, *pipeline.sinks]
    for index, component in enumerate(components):
        read = read_by(component.settings) | read_when(component.settings, pipeline.options.timezone)
        bare = [name for name in sorted(_WITHOUT_ARGUMENTS - given) if f"attribute:{name}" in read]
        names = _names(pipeline.decorators[:index] if bare else ())
        for name in bare:
            if not names.may_have(name):
                message = f'%{{{name}}} is the attribute "{name}", which no earlier decorator sets'
                binding.warning(Kind.DOUBTFUL, component.location, message, f"the function is %{{{name}()}}")


def _names(decorators: Sequence[Component[Settings]]) -> _Names:
    known: dict[str, Component[Settings]] = {}
    prefixes: set[str] = set()
    for decorator in decorators:
        settings = decorator.settings
        if not isinstance(settings, Settings):
            prefixes.add("")
            continue
        known |= dict.fromkeys(sorted(settings.sets()), decorator)
        if settings.other_names is not None:
            prefixes.add(settings.other_names)
    return _Names(known, frozenset(prefixes))


def _warn_missing_key(
    sink: Component[SinkSettings], prefix: str, names: _Names, binding: Binding, *, has_headers: bool
) -> None:
    """Warn if no decorator sets the row-key attribute, or if one sets a similar name."""
    is_never_set = not names.may_have(prefix)
    near = _similar_name(prefix, names)
    if near is None and is_never_set:
        near = next((name for name, decorator in names.set.items() if decorator.settings.makes_row_keys), None)
    if near is not None:
        decorator = names.set[near]
        hint = f'the {decorator.kind} on line {decorator.location.line} sets "{near}"'
    elif is_never_set:
        hint = f'add `row_key`, or `value: {{attribute: "{prefix}", …}}`'
    else:
        return
    effect = "nothing is stored" if is_never_set and not has_headers else "only events that already have it are stored"
    message = f'no decorator sets the attribute "{prefix}" that holds the row key, so {effect}'
    binding.warning(Kind.MISSING_ROW_KEY, sink.location, message, hint)


def _similar_name(prefix: str, names: _Names) -> str | None:
    """A set name that may be a misspelled row-key attribute; never a cell, and None for a very short prefix."""
    return (
        closest(prefix, [name for name in names.set if not name.startswith(prefix)]) if len(prefix) > _SHORT else None
    )


def _has_cell(names: _Names, prefix: str) -> bool:
    return any(name.startswith(prefix) and _is_column(name.removeprefix(prefix)) for name in names.set)


def _is_column(name: str) -> bool:
    family, _, qualifier = name.partition(":")
    return bool(family and qualifier)


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
    binding.warning(Kind.NOT_A_CELL, place_of(name, setter), message, hint)


def _used_by(decorator: Component[Settings]) -> Iterator[str]:
    """Attribute names that a decorator reads or removes, as far as its options contain them."""
    settings = decorator.settings
    if isinstance(settings, Settings):
        yield from (reference.removeprefix("attribute:") for reference in read_by(settings) | settings.reads())


def place_of(name: str, decorator: Component[Settings]) -> Place:
    """The place of the option that names an attribute a decorator sets, else the place of the decorator."""
    for path, place in decorator.locations.items():
        if path in {("attribute",), ("attributes", name)}:
            return place
    return decorator.location
