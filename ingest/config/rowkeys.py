"""What can be said about row keys without an event: whether they vary, and whether a replay gives the same."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ingest.api import Settings, SinkSettings, SourceSettings, attribute_references
from ingest.config.components import Binding
from ingest.config.model import Component
from ingest.config.partial import PartialPipeline
from ingest.config.problems import Kind, Place
from ingest.config.references import read_at, read_by, read_when, set_by
from ingest.expressions import CORE_NAMES

_OF_RECORD = frozenset(CORE_NAMES)
_UNIQUE_IN_KAFKA = 10_000  # records of a partition and millisecond that nanos tell apart
_IDENTITY = "use what identifies the event: %{topic}-%{partition}-%{offset}"


class _RowKey(NamedTuple):
    """
    A row key, as it is made at one place.

    Attributes:
        references: what it is made of.
        maker: the decorator that makes it; None where the sink itself does.
        is_template: False where a decorator makes it of something else.
        is_sure: False where it is made for events alone that have none yet.
    """

    references: frozenset[str]
    location: Place
    maker: Component[Settings] | None = None
    is_template: bool = True
    is_sure: bool = True


def check_row_keys(pipeline: PartialPipeline, binding: Binding) -> None:
    """Check all that makes row keys for the sinks of the pipeline."""
    source = SourceSettings() if pipeline.source is None else pipeline.source.settings
    keys = {key.location: key for sink in pipeline.sinks for key in _row_keys(pipeline, sink, binding)}
    for key in keys.values():
        if key.is_template:
            if key.references or key.is_sure:
                _check(key.references, key.location, binding, source)
            _check_time(key.references, key.maker, key.location, pipeline, binding)
            _check_parts(key.references, key.maker, key.location, pipeline, binding)
    _check_replay(keys.values(), pipeline, binding)


def _row_keys(pipeline: PartialPipeline, sink: Component[SinkSettings], binding: Binding) -> list[_RowKey]:
    """
    The row key of the sink's own template, or those that decorators put into the attribute it is taken from.

    Those before a decorator that replaces the attribute in every event are left out.
    """
    if (template := sink.settings.row_key_template()) is not None:
        option, references = template
        return [_RowKey(references, sink.place(*option))]
    prefix = sink.settings.cell_prefix
    found: list[_RowKey] = []
    for key in attribute_references([] if prefix is None else [prefix]):
        for decorator in pipeline.decorators:
            settings = decorator.settings
            if not isinstance(settings, Settings) or key not in set_by(settings):
                continue
            if key in _replaced_by(settings):
                found = []
            path = settings.made_of().get(key)
            found.append(
                _RowKey(
                    _made_from(key, settings) if binding.lookup.is_deterministic(decorator.kind) else frozenset({key}),
                    decorator.location if path is None else decorator.place(*path),
                    decorator,
                    is_template=path is not None,
                    is_sure=key not in settings.reads(),
                )
            )
    return found


def _made_from(reference: str, settings: Settings) -> frozenset[str]:
    """References of what a decorator makes one thing of; none where it sets several and has no templates for them."""
    if (path := settings.made_of().get(reference)) is not None:
        return read_at(settings, path)
    return read_by(settings) | settings.reads() if set_by(settings) == {reference} else frozenset()


def _replaced_by(settings: Settings) -> frozenset[str]:
    """References of what the templates of a decorator replace in every event."""
    if settings.when is not None or not settings.always_sets_made:
        return frozenset()
    return frozenset(settings.made_of()) - settings.reads()


def _check(references: frozenset[str], location: Place, binding: Binding, source: SourceSettings) -> None:
    if not references:
        binding.warning(Kind.SHARED_ROW_KEY, location, "this row key is the same for every event, so there is one row")
        return
    if "nanos" not in references:
        return
    others = references - {"nanos"} - source.fixed_names
    if not source.has_unique_nanos and not others - {"topic"}:
        message = "%{nanos} of this source is not unique, and nothing else in this row key tells events of a file apart"
        binding.problem(Kind.CONFLICT, location, message, "use %{topic}:%{offset}")
    elif not others:
        message = (
            f"only %{{nanos}} makes this row key vary; it is unique for up to {_UNIQUE_IN_KAFKA} events of a partition "
            "and millisecond"
        )
        binding.warning(Kind.SHARED_ROW_KEY, location, message, "add %{key}, or %{topic}-%{partition}-%{offset}")


def _check_time(
    references: frozenset[str],
    maker: Component[Settings] | None,
    location: Place,
    pipeline: PartialPipeline,
    binding: Binding,
) -> None:
    """Look for a decorator that reads the time of a text, maybe of seconds alone, where only that makes a key vary."""
    fixed = frozenset() if pipeline.source is None else pipeline.source.settings.fixed_names
    if references - fixed != {"timestamp"}:
        return
    reader: Component[Settings] | None = None
    for decorator in pipeline.decorators:
        if decorator is maker:
            break
        settings = decorator.settings
        if not isinstance(settings, Settings) or "timestamp" not in settings.sets_core():
            continue
        if settings.time_may_be_coarse():
            reader = decorator
        elif settings.when is None:
            reader = None
    if reader is not None:
        message = (
            f"only %{{timestamp}} makes this row key vary, and the {reader.kind} on line {reader.location.line} reads "
            "it from a text: where that has no milliseconds, all events of a second share a row"
        )
        binding.warning(Kind.SHARED_ROW_KEY, location, message, "add %{topic}-%{partition}-%{offset}")


def _check_parts(
    references: frozenset[str],
    maker: Component[Settings] | None,
    location: Place,
    pipeline: PartialPipeline,
    binding: Binding,
) -> None:
    """Look for decorators that make several events of one, which then have one row key."""
    is_made = False
    for decorator in pipeline.decorators:
        is_made = is_made or decorator is maker
        if not binding.lookup.makes_events(decorator.kind) or not isinstance(decorator.settings, Settings):
            continue
        # what was made of an event before is in all its parts, and so is what no part gets anew
        if references and (is_made or references <= _OF_RECORD - decorator.settings.sets_core()):
            message = (
                f"the events that {decorator.kind} makes of one share this row key, so each writes over the one before"
            )
            hint = f"after {decorator.kind}, add %{{fan_out()}} to it, or write %{{origin()}}"
            binding.warning(Kind.SHARED_ROW_KEY, location, message, hint)
            return


def _check_replay(keys: Iterable[_RowKey], pipeline: PartialPipeline, binding: Binding) -> None:
    """
    Refuse row keys that name what a decorator sets that is not deterministic.

    Where they may hold it otherwise, a warning is given, one for the pipeline: other decorators make something of it
    that the row key names, or the options do not say all names that it sets.
    """
    zone = pipeline.options.timezone
    suspects = [
        decorator
        for decorator in pipeline.decorators
        if isinstance(decorator.settings, Settings)
        and decorator.settings.other_names is not None
        and not binding.lookup.is_deterministic(decorator.kind)
    ]
    for key in keys:
        read = key.references if key.maker is None else key.references | read_when(key.maker.settings, zone)
        varying = _varying(pipeline, key.maker, binding, follow=False)
        if names := sorted(read & varying.keys()):
            decorator = varying[names[0]]
            shown = " ".join(f"%{{'{name.removeprefix('attribute:')}'}}" for name in names)
            message = (
                f"this row key takes {shown} of the {decorator.kind} on line {decorator.location.line}, whose result "
                "may differ on replay: a replay adds a row"
            )
            binding.problem(Kind.CONFLICT, key.location, message, _IDENTITY)
        else:
            suspects += _origins(read, _varying(pipeline, key.maker, binding, follow=True))
    if suspects:
        message = (
            f"a row key may be made of what {suspects[0].kind} sets, whose result may differ on replay: a replay may "
            "add a row"
        )
        binding.warning(Kind.UNSTABLE, suspects[0].location, message, _IDENTITY)


def _varying(
    pipeline: PartialPipeline, end: Component[Settings] | None, binding: Binding, *, follow: bool
) -> Mapping[str, Component[Settings]]:
    """
    What may differ on replay before `end`, or at the end of the chain: reference -> the decorator it comes from.

    With what `end` sets, where that is not deterministic; where it is to `follow`, with what others make of it too.
    """
    found: dict[str, Component[Settings]] = {}
    for decorator in pipeline.decorators:
        settings = decorator.settings
        is_deterministic = binding.lookup.is_deterministic(decorator.kind)
        if isinstance(settings, Settings) and not is_deterministic:
            found |= dict.fromkeys(set_by(settings), decorator)
        if decorator is end:
            break
        if isinstance(settings, Settings) and is_deterministic:
            chosen = read_when(settings, pipeline.options.timezone)
            made = {name: _origins(_made_from(name, settings) | chosen, found) for name in set_by(settings)}
            for name in _replaced_by(settings):
                if not made.get(name):
                    found.pop(name, None)
            found |= {name: origins[0] for name, origins in made.items() if origins and follow}
    return found


def _origins(references: Iterable[str], varying: Mapping[str, Component[Settings]]) -> list[Component[Settings]]:
    return [varying[reference] for reference in sorted(references) if reference in varying]
