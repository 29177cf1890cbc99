"""What can be said without an event of the names that a chain sets: whether a row key and cells can come of them."""

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

_SHORT = 2  # letters of a prefix
_ALONE = frozenset(
    name for name, function in FUNCTIONS.items() if not any(each.required for each in function.parameters)
)
"""Functions that need nothing in their parentheses, which are easily forgotten."""


class _Names(NamedTuple):
    """
    Names of attributes that events may have where the sinks take them.

    Attributes:
        set: name -> the last decorator that sets it.
        begins: of all others; one that is "" means that it may be any name.
    """

    set: dict[str, Component[Settings]]
    begins: frozenset[str]

    def may_have(self, name: str) -> bool:
        """Whether an event may have this attribute."""
        return name in self.set or any(name.startswith(begin) for begin in self.begins)

    def may_begin(self, prefix: str) -> bool:
        """Whether an event may have an attribute that is unknown and begins so."""
        return any(prefix.startswith(begin) or begin.startswith(prefix) for begin in self.begins)


def check_names(pipeline: PartialPipeline, partial_config: PartialConfig, binding: Binding) -> None:
    """Look for what is taken from attributes that events can never have; all decorators must be there."""
    if pipeline.source is None or pipeline.source.settings.decoding.format is not Format.RAW:
        return  # other formats have attributes in each event
    has_headers = pipeline.source.settings.has_headers
    given = _given(pipeline, partial_config) if has_headers else set()
    _check_functions(pipeline, given, binding)
    sinks = [(sink, prefix) for sink in pipeline.sinks if (prefix := sink.settings.cell_prefix) is not None]
    names = _names(pipeline.decorators)
    for sink, prefix in sinks:
        has_cells = _has_cell(names, prefix)
        if prefix not in names.set and prefix not in given:
            _tell_no_key(sink, prefix, names, binding, has_headers=has_headers)
        if names.may_have(prefix) and not (
            has_cells or sink.settings.adds_cells or names.may_begin(prefix) or has_headers
        ):
            message = "no decorator sets an attribute that becomes a cell here, so nothing is ever stored"
            binding.warning(Kind.MISSING_CELLS, sink.location, message, f'name one as "{prefix}family:qualifier"')
        others = [other for _, other in sinks if len(other) > len(prefix)]
        for name, decorator in names.set.items():
            if _is_passed_over(name, prefix, sink) and not any(name.startswith(other) for other in others):
                _tell_passed_over(name, prefix, decorator, pipeline, binding)


def _given(pipeline: PartialPipeline, partial_config: PartialConfig) -> set[str]:
    """Names of attributes that tests give to events; who tests with a header expects it of the records."""
    given = [
        event for case, _ in partial_config.test_cases if case.pipeline in (None, pipeline.name) for event in case.given
    ]
    headers = [name for event in given if event.record is not None for name, _ in event.record.headers]
    return {name for name in headers if isinstance(name, str)}.union(*(event.attributes for event in given))


def _check_functions(pipeline: PartialPipeline, given: set[str], binding: Binding) -> None:
    """Look for functions without parentheses: those are attributes, and these no decorator has set before."""
    parts = [*pipeline.decorators, *pipeline.sinks]
    for index, part in enumerate(parts):
        read = read_by(part.settings) | read_when(part.settings, pipeline.options.timezone)
        bare = [name for name in sorted(_ALONE - given) if f"attribute:{name}" in read]
        names = _names(pipeline.decorators[:index] if bare else ())
        for name in bare:
            if not names.may_have(name):
                message = f'%{{{name}}} is the attribute "{name}", which no decorator before sets'
                binding.warning(Kind.DOUBTFUL, part.location, message, f"the function is %{{{name}()}}")


def _names(decorators: Sequence[Component[Settings]]) -> _Names:
    known: dict[str, Component[Settings]] = {}
    begins: set[str] = set()
    for decorator in decorators:
        settings = decorator.settings
        if not isinstance(settings, Settings):
            begins.add("")
            continue
        known |= dict.fromkeys(sorted(settings.sets()), decorator)
        if settings.other_names is not None:
            begins.add(settings.other_names)
    return _Names(known, frozenset(begins))


def _tell_no_key(
    sink: Component[SinkSettings], prefix: str, names: _Names, binding: Binding, *, has_headers: bool
) -> None:
    """Warn where nothing sets the key, or where a decorator sets a name like it."""
    is_known = not names.may_have(prefix)
    near = _slip(prefix, names)
    if near is None and is_known:
        near = next((name for name, decorator in names.set.items() if decorator.settings.makes_row_keys), None)
    if near is not None:
        decorator = names.set[near]
        hint = f'the {decorator.kind} on line {decorator.location.line} sets "{near}"'
    elif is_known:
        hint = f'add `row_key`, or `value: {{attribute: "{prefix}", …}}`'
    else:
        return
    what = "nothing is stored" if is_known and not has_headers else "only events that bring it are stored"
    message = f'no decorator sets the attribute "{prefix}" that the row key is taken from, so {what}'
    binding.warning(Kind.MISSING_ROW_KEY, sink.location, message, hint)


def _slip(prefix: str, names: _Names) -> str | None:
    """A name that was probably to be that of the key: a short one is like many others, and a cell is none."""
    return (
        closest(prefix, [name for name in names.set if not name.startswith(prefix)]) if len(prefix) > _SHORT else None
    )


def _has_cell(names: _Names, prefix: str) -> bool:
    return any(name.startswith(prefix) and _is_column(name.removeprefix(prefix)) for name in names.set)


def _is_column(name: str) -> bool:
    family, _, qualifier = name.partition(":")
    return bool(family and qualifier)


def _is_passed_over(name: str, prefix: str, sink: Component[SinkSettings]) -> bool:
    """Whether an attribute looks like a cell and becomes none."""
    rest = name.removeprefix(prefix)
    is_meant = bool(prefix) and name.startswith(prefix) and bool(rest)
    return is_meant and not _is_column(rest) and not sink.settings.keeps_bare_names


def _tell_passed_over(
    name: str, prefix: str, maker: Component[Settings], pipeline: PartialPipeline, binding: Binding
) -> None:
    """Warn, unless another decorator uses the attribute; then it may have been made for that."""
    if any(name in _used_by(other) for other in pipeline.decorators if other is not maker):
        return
    message = f'the attribute "{name}" becomes no cell, as its name has no family and qualifier'
    hint = f'name it "{prefix}family:qualifier", or give the sink a `sys_family`'
    binding.warning(Kind.NOT_A_CELL, place_of(name, maker), message, hint)


def _used_by(decorator: Component[Settings]) -> Iterator[str]:
    """Names of attributes that a decorator reads or removes, as far as the options name them."""
    settings = decorator.settings
    if isinstance(settings, Settings):
        yield from (reference.removeprefix("attribute:") for reference in read_by(settings) | settings.reads())


def place_of(name: str, decorator: Component[Settings]) -> Place:
    """Where a decorator names an attribute that it sets; the decorator itself where it does not say so outright."""
    for path, place in decorator.locations.items():
        if path in {("attribute",), ("attributes", name)}:
            return place
    return decorator.location
