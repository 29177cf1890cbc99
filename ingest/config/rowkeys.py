"""Static checks of row keys: whether they vary between events, and whether a replay produces the same ones."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ingest.api import Settings, SinkSettings, SourceSettings, attribute_references
from ingest.config.components import Binding
from ingest.config.model import Component
from ingest.config.partial import PartialConfig, PartialPipeline
from ingest.config.problems import Kind, Place
from ingest.config.references import read_at, read_by, read_when, set_by
from ingest.expressions import CORE_NAMES

_OF_RECORD = frozenset(CORE_NAMES)
_UNIQUE_IN_KAFKA = 10_000  # records of a partition and millisecond with distinct nanos
_IDENTITY = "use the identity of the event: %{topic}-%{partition}-%{offset}"


class _RowKey(NamedTuple):
    """
    A row key, as one option defines it.

    Attributes:
        references: the parts of the event that it depends on.
        maker: the decorator that sets it; None for the sink's own template.
        is_template: False if a decorator sets it without a template.
        is_unconditional: False if a decorator sets it only in events that have none.
    """

    references: frozenset[str]
    location: Place
    maker: Component[Settings] | None = None
    is_template: bool = True
    is_unconditional: bool = True


def check_row_keys(pipeline: PartialPipeline, partial_config: PartialConfig, binding: Binding) -> None:
    """
    Check all row keys of the pipeline's sinks.

    In a table with deferred updates many events have the same row key, and none overwrites another.
    """
    source = SourceSettings() if pipeline.source is None else pipeline.source.settings
    keys: dict[Place, _RowKey] = {}
    unique: dict[Place, _RowKey] = {}
    for sink in pipeline.sinks:
        found = {key.location: key for key in _row_keys(pipeline, sink, binding)}
        keys |= found
        table = sink.settings.fixed_table
        is_invalid = table in partial_config.table_names and table not in partial_config.tables
        declared = partial_config.table_of(sink.settings)
        if not is_invalid and (declared is None or not declared.adds_to_rows):
            unique |= found
    for key in unique.values():
        if key.is_template:
            if key.references or key.is_unconditional:
                _check(key.references, key.location, binding, source)
            _check_time(key.references, key.maker, key.location, pipeline, binding)
            _check_parts(key.references, key.maker, key.location, pipeline, binding)
    _check_replay(keys.values(), pipeline, binding)


def _row_keys(pipeline: PartialPipeline, sink: Component[SinkSettings], binding: Binding) -> list[_RowKey]:
    """
    The row key of the sink's own template, or those that decorators store in the sink's row-key attribute.

    Excludes decorators followed by one that replaces the attribute in every event.
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
                    is_unconditional=key not in settings.reads(),
                )
            )
    return found


def _made_from(reference: str, settings: Settings) -> frozenset[str]:
    """References from which a decorator computes one that it sets; empty if unknown."""
    if (path := settings.made_of().get(reference)) is not None:
        return read_at(settings, path)
    return read_by(settings) | settings.reads() if set_by(settings) == {reference} else frozenset()


def _replaced_by(settings: Settings) -> frozenset[str]:
    """References that the templates of a decorator replace in every event."""
    if settings.when is not None or not settings.always_sets_made:
        return frozenset()
    return frozenset(settings.made_of()) - settings.reads()


def _check(references: frozenset[str], location: Place, binding: Binding, source: SourceSettings) -> None:
    if not references:
        binding.warning(Kind.SHARED_ROW_KEY, location, "this row key is the same for every event")
        return
    if references - source.fixed_names == {"offset"} and not source.fixed_names >= {"topic", "partition"}:
        scope = "topic and partition" if source.line_files is None else "file"
        message = f"only %{{offset}} makes this row key unique, and the same offsets occur in every {scope}"
        binding.warning(Kind.SHARED_ROW_KEY, location, message, _IDENTITY)
    if "nanos" not in references:
        return
    others = references - {"nanos"} - source.fixed_names
    if not source.has_unique_nanos and not others - {"topic"}:
        message = "%{nanos} is not unique for this source, and no other part of this row key differs between events"
        binding.problem(Kind.CONFLICT, location, message, "use %{topic}:%{offset}")
    elif not others:
        message = (
            f"only %{{nanos}} makes this row key unique, and only for up to {_UNIQUE_IN_KAFKA} events in a partition "
            "and a millisecond"
        )
        binding.warning(Kind.SHARED_ROW_KEY, location, message, "add %{key}, or %{topic}-%{partition}-%{offset}")


def _check_time(
    references: frozenset[str],
    maker: Component[Settings] | None,
    location: Place,
    pipeline: PartialPipeline,
    binding: Binding,
) -> None:
    """Warn if only the timestamp varies in a row key, and a decorator parses it, maybe without milliseconds."""
    fixed = frozenset() if pipeline.source is None else pipeline.source.settings.fixed_names
    if references - fixed != {"timestamp"}:
        return
    parser: Component[Settings] | None = None
    for decorator in pipeline.decorators:
        if decorator is maker:
            break
        settings = decorator.settings
        if not isinstance(settings, Settings) or "timestamp" not in settings.sets_core():
            continue
        if settings.time_may_be_coarse():
            parser = decorator
        elif settings.when is None:
            parser = None
    if parser is not None:
        message = (
            f"only %{{timestamp}} makes this row key unique, and the {parser.kind} on line {parser.location.line} "
            "parses it from text: without milliseconds, all events of a second have the same row key"
        )
        binding.warning(Kind.SHARED_ROW_KEY, location, message, "add %{topic}-%{partition}-%{offset}")


def _check_parts(
    references: frozenset[str],
    maker: Component[Settings] | None,
    location: Place,
    pipeline: PartialPipeline,
    binding: Binding,
) -> None:
    """
    Warn of decorators that turn one event into several with the same row key.

    Not if both have a condition, and not the same one: the conditions may exclude each other, as that of an array and
    that of a tombstone.
    """
    is_set = False
    condition = None if maker is None else maker.settings.when
    for decorator in pipeline.decorators:
        is_set = is_set or decorator is maker
        if not binding.lookup.makes_events(decorator.kind) or not isinstance(decorator.settings, Settings):
            continue
        if condition is not None and decorator.settings.when not in {None, condition}:
            continue
        # a key that was set before, or that depends only on parts that are not set again, is the same in all events
        if references and (is_set or references <= _OF_RECORD - decorator.settings.sets_core()):
            message = (
                f"all events that {decorator.kind} produces from one event have this row key, so later ones overwrite "
                "earlier ones"
            )
            hint = f"set it after {decorator.kind}, with %{{fan_out()}} or %{{origin()}}"
            binding.warning(Kind.SHARED_ROW_KEY, location, message, hint)
            return


def _check_replay(keys: Iterable[_RowKey], pipeline: PartialPipeline, binding: Binding) -> None:
    """
    Report row keys that depend on decorators that are not deterministic.

    An error if the row key itself reads what such a decorator sets. A warning, at most one for the pipeline, if it may
    depend on it indirectly: through other decorators, or because the decorator's options do not name all it sets.
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
                f"this row key contains {shown} from the {decorator.kind} on line {decorator.location.line}, whose "
                "result may differ on replay: a replay adds a row"
            )
            binding.problem(Kind.CONFLICT, key.location, message, _IDENTITY)
        else:
            suspects += _origins(read, _varying(pipeline, key.maker, binding, follow=True))
    if suspects:
        message = (
            f"a row key may depend on {suspects[0].kind}, whose result may differ on replay: a replay may add a row"
        )
        binding.warning(Kind.UNSTABLE, suspects[0].location, message, _IDENTITY)


def _varying(
    pipeline: PartialPipeline, end: Component[Settings] | None, binding: Binding, *, follow: bool
) -> Mapping[str, Component[Settings]]:
    """
    References that may differ on replay -> the decorator that is not deterministic.

    Covers the decorators through `end`, or all; `follow` adds references that deterministic decorators compute from
    those.
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
