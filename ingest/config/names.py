"""What can be said without an event of the names that a chain sets: whether a row key and cells can come of them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ingest.api import Settings
from ingest.config.changes import read_by, read_when
from ingest.config.components import Binding
from ingest.config.draft import Draft, PipelineDraft
from ingest.config.model import Component
from ingest.config.problems import Kind, Place
from ingest.expressions import FUNCTIONS
from ingest.spelling import nearest

_SHORT = 2  # letters of a prefix
_ALONE = frozenset(
    name for name, function in FUNCTIONS.items() if not any(each.required for each in function.parameters)
)
"""Functions that need nothing in their parentheses, which are easily forgotten."""


class _Names(NamedTuple):
    """
    Names of attributes that events may have where the sinks take them.

    Attributes:
        set: name -> the last step that sets it.
        begins: of all others; one that is "" means that it may be any name.
    """

    set: dict[str, Component]
    begins: frozenset[str]

    def may_have(self, name: str) -> bool:
        """Whether an event may have this attribute."""
        return name in self.set or any(name.startswith(begin) for begin in self.begins)

    def may_begin(self, prefix: str) -> bool:
        """Whether an event may have an attribute that is unknown and begins so."""
        return any(prefix.startswith(begin) or begin.startswith(prefix) for begin in self.begins)


def check_names(pipeline: PipelineDraft, draft: Draft, binding: Binding) -> None:
    """Look for what is taken from attributes that events can never have; all steps must be there."""
    if pipeline.source is None or getattr(pipeline.source.settings, "format", "raw") != "raw":
        return  # other formats have attributes in each event
    has_headers = pipeline.source.kind != "files"
    given = _given(pipeline, draft) if has_headers else set()
    _check_functions(pipeline, given, binding)
    sinks = [sink for sink in pipeline.sinks if isinstance(getattr(sink.settings, "attr_prefix", None), str)]
    names = _names(pipeline.steps)
    prefixes = [sink.settings.attr_prefix for sink in sinks]  # type: ignore[attr-defined]  # looked for above
    for sink, prefix in zip(sinks, prefixes, strict=True):
        has_cells = _has_cell(names, prefix)
        if prefix not in names.set and prefix not in given:
            _tell_no_key(sink, prefix, names, binding, is_sure=has_cells or not has_headers)
        if names.may_have(prefix) and not (has_cells or _has_own_cells(sink) or names.may_begin(prefix) or has_headers):
            message = "no step sets an attribute that becomes a cell here, so nothing is ever stored"
            binding.warning(Kind.CONFLICT, sink.where, message, f'name one as "{prefix}family:qualifier"')
        others = [other for other in prefixes if len(other) > len(prefix)]
        for name, step in names.set.items():
            if _is_passed_over(name, prefix, sink) and not any(name.startswith(other) for other in others):
                _tell_passed_over(name, prefix, step, pipeline, binding)


def _given(pipeline: PipelineDraft, draft: Draft) -> set[str]:
    """Names of attributes that tests give to events; who tests with a header expects it of the records."""
    given = [event for case, _ in draft.cases if case.pipeline in (None, pipeline.name) for event in case.given]
    headers = [name for event in given if event.record is not None for name, _ in event.record.headers]
    return {name for name in headers if isinstance(name, str)}.union(*(event.attributes for event in given))


def _check_functions(pipeline: PipelineDraft, given: set[str], binding: Binding) -> None:
    """Look for functions without parentheses: those are attributes, and these no step has set before."""
    parts = [*pipeline.steps, *pipeline.sinks]
    for index, part in enumerate(parts):
        read = read_by(part.settings) | read_when(part.settings, pipeline.options.timezone)
        bare = [name for name in sorted(_ALONE - given) if f"attribute:{name}" in read]
        names = _names(pipeline.steps[:index] if bare else ())
        for name in bare:
            if not names.may_have(name):
                message = f'%{{{name}}} is the attribute "{name}", which no step before sets'
                binding.warning(Kind.CONFLICT, part.where, message, f"the function is %{{{name}()}}")


def _names(steps: Sequence[Component]) -> _Names:
    known: dict[str, Component] = {}
    begins: set[str] = set()
    for step in steps:
        settings = step.settings
        if not isinstance(settings, Settings):
            begins.add("")
            continue
        known |= {settings.new_name(name): maker for name, maker in known.items()}
        known |= dict.fromkeys(sorted(settings.sets()), step)
        if settings.other_names is not None:
            begins.add(settings.other_names)
    return _Names(known, frozenset(begins))


def _tell_no_key(sink: Component, prefix: str, names: _Names, binding: Binding, *, is_sure: bool) -> None:
    """Say so where a key is surely wanted, or where one was made under another name; headers may bring one."""
    is_known = not names.may_have(prefix)
    near = _slip(prefix, names)
    if near is None and is_known:
        near = next((name for name, step in names.set.items() if step.kind == "row_key"), None)
    if near is not None:
        step = names.set[near]
        hint = f'the {step.kind} on line {step.where.line} sets "{near}"'
    elif is_sure and is_known:
        hint = f'add `row_key`, or `value: {{attribute: "{prefix}", …}}`'
    else:
        return
    what = "stored" if is_known else "stored that does not bring it"
    message = f'no step sets the attribute "{prefix}" that the row key is taken from, so nothing is {what}'
    binding.warning(Kind.CONFLICT, sink.where, message, hint)


def _slip(prefix: str, names: _Names) -> str | None:
    """A name that was probably to be that of the key: a short one is like many others, and a cell is none."""
    return (
        nearest(prefix, [name for name in names.set if not name.startswith(prefix)]) if len(prefix) > _SHORT else None
    )


def _has_own_cells(sink: Component) -> bool:
    return bool(getattr(sink.settings, "sys_family", None) or getattr(sink.settings, "write_body", None))


def _has_cell(names: _Names, prefix: str) -> bool:
    return any(name.startswith(prefix) and _is_column(name.removeprefix(prefix)) for name in names.set)


def _is_column(name: str) -> bool:
    family, _, qualifier = name.partition(":")
    return bool(family and qualifier)


def _is_passed_over(name: str, prefix: str, sink: Component) -> bool:
    """Whether an attribute looks like a cell and becomes none."""
    rest = name.removeprefix(prefix)
    is_meant = bool(prefix) and name.startswith(prefix) and bool(rest)
    return is_meant and not _is_column(rest) and not getattr(sink.settings, "sys_family", None)


def _tell_passed_over(name: str, prefix: str, step: Component, pipeline: PipelineDraft, binding: Binding) -> None:
    """Say so, unless a step uses the attribute; then it may have been made for that."""
    if any(name in used for used in map(_used_by, pipeline.steps)):
        return
    message = f'the attribute "{name}" becomes no cell, as its name has no family and qualifier'
    hint = f'name it "{prefix}family:qualifier", or give the sink a `sys_family`'
    binding.warning(Kind.CONFLICT, _place_of(name, step), message, hint)


def _used_by(step: Component) -> Iterator[str]:
    """Names of attributes that a step reads or takes away, as far as the options tell."""
    settings = step.settings
    if isinstance(settings, Settings):
        yield from settings.passes_on()
        yield from (reference.removeprefix("attribute:") for reference in read_by(settings) | settings.reads())
        yield from settings.takes()


def _place_of(name: str, step: Component) -> Place:
    for path, place in step.places.items():
        if path in {("attribute",), ("attributes", name)}:
            return place
    return step.where
