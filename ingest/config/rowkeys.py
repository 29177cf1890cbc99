"""What can be said about row keys without an event: whether they vary, and whether a replay gives the same."""

from collections.abc import Collection

from ingest.api import Settings
from ingest.config.changes import Changes, followed, read_by, read_when, sets_all
from ingest.config.components import Binding
from ingest.config.draft import PipelineDraft
from ingest.config.model import Component
from ingest.config.problems import Kind, Place
from ingest.expressions import CORE_NAMES, Template

_FIXED_IN_FILES = frozenset({"partition", "key"})  # of the files source: 0 and empty for every event
_MADE_OF = {"row_key": "parts", "value": "value"}  # steps that make one attribute, and of which option
_OF_RECORD = frozenset(CORE_NAMES)
_TIMES_OF_TEXT = frozenset({"access_log", "syslog", "timestamp"})  # steps that read the event's time
_FINE_FORMATS = frozenset({"epoch_ms", "epoch_us", "epoch_ns"})
_UNIQUE_IN_KAFKA = 10_000  # records of a partition and millisecond that nanos tell apart


def check_row_keys(pipeline: PipelineDraft, binding: Binding) -> None:
    """Look at every template that makes a row key of a sink of the pipeline."""
    changing = followed(pipeline, binding)
    is_files = pipeline.source is not None and pipeline.source.kind == "files"
    told: set[Place] = set()
    for sink in pipeline.sinks:
        for step, references, where in _row_keys(pipeline, sink):
            if where not in told:
                told.add(where)
                _check(references, where, binding, is_files=is_files)
                _check_time(references, step, where, pipeline, binding)
                _check_parts(references, step, where, pipeline, binding)
                chooses = frozenset() if step is None else read_when(step.settings, pipeline.options.timezone)
                _check_same(references | chooses, where, changing.before(step), binding)
        prefix = getattr(sink.settings, "attr_prefix", None)
        for step in changing.setting(f"attribute:{prefix}"):
            if step.kind not in (*_MADE_OF, "template"):  # told above, at what they are made of
                _check_same({f"attribute:{prefix}"}, step.where, changing.after(step), binding)


def _row_keys(pipeline: PipelineDraft, sink: Component) -> list[tuple[Component | None, frozenset[str], Place]]:
    """
    What the listed row key of a sink reads, or what the steps do that may set the attribute it is taken from.

    With the step, None for the sink itself; those before one that surely sets the attribute are left out.
    """
    row_key = getattr(sink.settings, "row_key", None)
    template = getattr(row_key, "template", None)
    if isinstance(template, Template):
        return [(None, template.references, sink.place("row_key", "template"))]
    prefix = getattr(sink.settings, "attr_prefix", None)
    if not isinstance(prefix, str):
        return []
    found: list[tuple[Component | None, frozenset[str], Place]] = []
    for step in pipeline.steps:
        settings = step.settings
        listed = getattr(settings, "attributes", None) if step.kind == "template" else None
        is_listed = isinstance(listed, dict) and prefix in listed
        if not is_listed and str(getattr(settings, "attribute", None)) != prefix:
            continue
        if isinstance(settings, Settings) and sets_all(step, settings):
            found = []  # what was set before is replaced
        if is_listed and isinstance(listed, dict):
            found.append((step, read_by(listed[prefix]), step.place("attributes", prefix)))
        elif step.kind in _MADE_OF:
            option = _MADE_OF[step.kind]
            found.append((step, read_by(getattr(settings, option, None)), step.place(option)))
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
        if step.kind in _TIMES_OF_TEXT and not _reads_milliseconds(settings):
            reader = step
        elif sets_all(step, settings):
            reader = None
    if reader is not None:
        message = (
            f"only %{{timestamp}} makes this row key vary, and the {reader.kind} on line {reader.where.line} reads it "
            "from a text: where that has no milliseconds, all events of a second share a row"
        )
        binding.warning(Kind.CONFLICT, where, message, "add %{topic}-%{partition}-%{offset}")


def _reads_milliseconds(settings: Settings) -> bool:
    """Whether all forms of times that a step reads have milliseconds."""
    formats = getattr(settings, "formats", None)
    return isinstance(formats, list) and all(
        text in _FINE_FORMATS or any(letter in text.replace("%%", "") for letter in ("%f", "%L")) for text in formats
    )


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
