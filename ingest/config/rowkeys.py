"""What can be said about row keys without an event: whether they vary, and whether a replay gives the same."""

from collections.abc import Collection
from typing import NamedTuple

from ingest.api import Settings
from ingest.config.changes import Changes, followed, read_at, read_when, surely_set
from ingest.config.components import Binding
from ingest.config.draft import PipelineDraft
from ingest.config.model import Component
from ingest.config.problems import Kind, Place
from ingest.expressions import CORE_NAMES, Template

_FIXED_IN_FILES = frozenset({"partition", "key"})  # of the files source: 0 and empty for every event
_OF_RECORD = frozenset(CORE_NAMES)
_UNIQUE_IN_KAFKA = 10_000  # records of a partition and millisecond that nanos tell apart


def check_row_keys(pipeline: PipelineDraft, binding: Binding) -> None:
    """Look at every template that makes a row key of a sink of the pipeline."""
    changing = followed(pipeline, binding)
    is_files = pipeline.source is not None and pipeline.source.kind == "files"
    told: set[Place] = set()
    for sink in pipeline.sinks:
        prefix = getattr(sink.settings, "attr_prefix", None)
        key = f"attribute:{prefix}" if isinstance(prefix, str) else None
        for made in _row_keys(pipeline, sink, key):
            if made.where in told:
                continue
            told.add(made.where)
            if made.references or made.is_sure:
                _check(made.references, made.where, binding, is_files=is_files)
            _check_time(made.references, made.step, made.where, pipeline, binding)
            _check_parts(made.references, made.step, made.where, pipeline, binding)
            step = made.step
            chooses = frozenset() if step is None else read_when(step.settings, pipeline.options.timezone)
            _check_same(made.references | chooses, made.where, changing.before(step), binding)
        if key is None:
            continue
        for step in changing.setting(key):
            if not isinstance(step.settings, Settings) or key not in step.settings.made_of():  # those are told above
                _check_same({key}, step.where, changing.after(step), binding)


class _RowKey(NamedTuple):
    """
    A row key, as it is made at one place.

    Attributes:
        step: None where the sink itself makes it.
        is_sure: no event that the place is for gets it from elsewhere.
    """

    references: frozenset[str]
    where: Place
    step: Component | None
    is_sure: bool


def _row_keys(pipeline: PipelineDraft, sink: Component, key: str | None) -> list[_RowKey]:
    """
    What the listed row key of a sink is made of, or what the steps make the attribute of that it is taken from.

    Those before a step that surely sets the attribute are left out.
    """
    row_key = getattr(sink.settings, "row_key", None)
    template = getattr(row_key, "template", None)
    if isinstance(template, Template):
        return [_RowKey(template.references, sink.place("row_key", "template"), None, is_sure=True)]
    found: list[_RowKey] = []
    for step in pipeline.steps:
        settings = step.settings
        if key is None or not isinstance(settings, Settings):
            continue
        if key in surely_set(settings):
            found = []  # what was set before is replaced
        if (path := settings.made_of().get(key)) is not None:
            is_sure = key in settings.surely_sets()
            found.append(_RowKey(read_at(settings, path), step.place(*path), step, is_sure))
    return found


def _check(references: frozenset[str], where: Place, binding: Binding, *, is_files: bool) -> None:
    if not references:
        binding.warning(Kind.CONFLICT, where, "this row key is the same for every event, so there is one row")
        return
    if "nanos" not in references:
        return
    others = references - {"nanos"} - (_FIXED_IN_FILES if is_files else frozenset())
    if is_files and not others - {"topic"}:
        message = "in files %{nanos} is not unique, and nothing else in this row key tells events of a file apart"
        binding.problem(Kind.CONFLICT, where, message, "use %{topic}:%{offset}")
    elif not others:
        message = (
            f"only %{{nanos}} makes this row key vary; it is unique for up to {_UNIQUE_IN_KAFKA} events of a partition "
            "and millisecond"
        )
        binding.warning(Kind.CONFLICT, where, message, "add %{key}, or %{topic}-%{partition}-%{offset}")


def _check_time(
    references: frozenset[str], maker: Component | None, where: Place, pipeline: PipelineDraft, binding: Binding
) -> None:
    """Look for a step that reads the time of a text, which may have seconds alone, where only that makes a key vary."""
    is_files = pipeline.source is not None and pipeline.source.kind == "files"
    if references - (_FIXED_IN_FILES if is_files else frozenset()) != {"timestamp"}:
        return
    reader: Component | None = None
    for step in pipeline.steps:
        if step is maker:
            break
        settings = step.settings
        if not isinstance(settings, Settings) or "timestamp" not in settings.sets_core():
            continue
        if settings.time_may_be_coarse():
            reader = step
        elif "timestamp" in surely_set(settings):
            reader = None
    if reader is not None:
        message = (
            f"only %{{timestamp}} makes this row key vary, and the {reader.kind} on line {reader.where.line} reads it "
            "from a text: where that has no milliseconds, all events of a second share a row"
        )
        binding.warning(Kind.CONFLICT, where, message, "add %{topic}-%{partition}-%{offset}")


def _check_parts(
    references: frozenset[str], maker: Component | None, where: Place, pipeline: PipelineDraft, binding: Binding
) -> None:
    """Look for steps that make several events of one, which then have one row key."""
    is_made = False
    for step in pipeline.steps:
        is_made = is_made or step is maker
        if not binding.lookup.makes_events(step.kind) or not isinstance(step.settings, Settings):
            continue
        # what was made of an event before is in all its parts, and so is what no part gets anew
        if references and (is_made or references <= _OF_RECORD - step.settings.sets_core()):
            message = f"the events that {step.kind} makes of one share this row key, so each writes over the one before"
            hint = f"after {step.kind}, add %{{fan_out()}} to it, or write %{{origin()}}"
            binding.warning(Kind.CONFLICT, where, message, hint)
            return


def _check_same(references: Collection[str], where: Place, changing: Changes, binding: Binding) -> None:
    found = {name: step for name in sorted(references) if (step := changing.origin(name)) is not None}
    if found:
        names = " ".join(f"%{{'{name.removeprefix('attribute:')}'}}" for name in found)
        step = next(iter(found.values()))
        message = f"this row key takes {names} of a step that may give something else each time: a replay adds a row"
        hint = "use what identifies the event: %{topic}-%{partition}-%{offset}"
        binding.problem(Kind.CONFLICT, where, message, f"the step is the {step.kind} on line {step.where.line}; {hint}")
