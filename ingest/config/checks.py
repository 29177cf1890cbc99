"""
Rules across options: names that lead nowhere, steps no event reaches, options that do not go together.

Components are known by the names of their options (`attr_prefix`, `store`, `families` …) and by what `ingest.api` lets
them say, never by their classes. By their kinds are known the source `files`, the store `rocksdb`, and steps that a
hint proposes.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from ingest.api import Event, Settings, StoreSettings
from ingest.api.errors import EventError
from ingest.config.components import Binding
from ingest.config.draft import Draft, PipelineDraft
from ingest.config.model import Component, names_of
from ingest.config.names import check_names
from ingest.config.nodes import Scalar
from ingest.config.options import DeadLetterTopic
from ingest.config.problems import Kind, Place, Severity, listed
from ingest.config.rowkeys import check_row_keys
from ingest.config.targets import check_table
from ingest.expressions import Condition
from ingest.spelling import did_you_mean


def check(draft: Draft, binding: Binding) -> None:
    """Add to the problems what only shows when the file is seen as a whole."""
    _check_uses(draft.store_uses, draft.store_names, "store", binding)
    _check_uses(draft.pipeline_uses, draft.pipeline_names, "pipeline", binding)
    for name, table in draft.tables.items():
        _check_store(table.options.store, f"table {name}", table.where, draft, binding)
    for pipeline in draft.pipelines.values():
        _check_labels(pipeline, binding)
        _check_reachable(pipeline, binding)
        _check_order(pipeline, binding)
        _check_dead_letters(pipeline, binding)
        check_row_keys(pipeline, binding)
        for sink in pipeline.sinks:
            _check_sink(sink, pipeline, draft, binding)
    _check_cases(draft, binding)
    _check_groups(draft, binding)
    _check_stores(draft, binding)
    if all(problem.severity is Severity.WARNING for problem in binding.problems):
        for pipeline in draft.pipelines.values():
            check_names(pipeline, draft, binding)
    for name, where in draft.chains.items():
        if name not in draft.used_chains:
            binding.warning(Kind.UNREACHABLE_STEP, where, f'chain "{name}" is used nowhere')


def _check_store(name: str | None, owner: str, where: Place, draft: Draft, binding: Binding) -> None:
    """A store may be left out when there is one; the names themselves are checked by nodes."""
    stores = draft.store_names
    if name is None and not stores:
        binding.problem(Kind.MISSING_FIELD, where, f"{owner} needs a store", "stores stand under `stores`")
    elif name is None and len(stores) > 1:
        hint = f"there is more than one: {listed(stores)}"
        binding.problem(Kind.MISSING_FIELD, where, f'{owner} needs "store"', hint)


def _check_uses(uses: Iterable[Scalar], names: Iterable[str], what: str, binding: Binding) -> None:
    names = sorted(names)
    for use in uses:
        if use.text not in names:
            hint = did_you_mean(use.text, names) or (f"there are {listed(names)}" if names else f"see `{what}s`")
            binding.problem(Kind.UNKNOWN_REFERENCE, use.place, f'there is no {what} "{use.text}"', hint)


def _check_sink(sink: Component, pipeline: PipelineDraft, draft: Draft, binding: Binding) -> None:
    settings = sink.settings
    name = getattr(settings, "store", None)
    if "store" in type(settings).model_fields:
        _check_store(name, sink.kind, sink.place("store"), draft, binding)
    check_table(sink, name or draft.only_store(), draft, binding)
    families = getattr(settings, "families", None)
    if families is not None:
        _check_creates(sink, families.on_unknown, draft.stores.get(name or draft.only_store() or ""), binding)
        for family in sorted(set(families.allow or ()) & set(families.deny)):
            where = sink.place("families", "deny", families.deny.index(family))
            binding.problem(Kind.CONFLICT, where, f'family "{family}" is both allowed and denied')
    _check_rules(sink, pipeline.options.timezone, binding)
    _check_time(sink, pipeline, binding)


def _check_creates(sink: Component, on_unknown: str | None, store: Component | None, binding: Binding) -> None:
    """Who writes `create` wants families made, and not every store can."""
    if on_unknown != "create" or store is None or not isinstance(store.settings, StoreSettings):
        return
    if store.settings.why_no_families is not None:
        reason, way_out = store.settings.why_no_families
        message = f"no family can be created: the {store.kind} store {reason}"
        place = sink.place("families", "on_unknown")
        binding.problem(Kind.CONFLICT, place, message, f"{way_out}, or leave on_unknown out")


def _check_rules(sink: Component, zone: str, binding: Binding) -> None:
    is_sure = False
    for index, rule in enumerate(getattr(sink.settings, "rules", ())):
        where = sink.place("rules", index)
        if is_sure:
            binding.problem(Kind.UNREACHABLE_STEP, where, "an earlier rule holds for every event")
        if rule.write_to_wal is None and rule.delete is None:
            binding.problem(Kind.MISSING_FIELD, where, 'a rule needs "write_to_wal" or "delete"')
        is_sure = is_sure or _constant(rule.when, zone) is True


def _check_time(sink: Component, pipeline: PipelineDraft, binding: Binding) -> None:
    is_files = pipeline.source is not None and pipeline.source.kind == "files"
    is_set = any(
        not isinstance(step.settings, Settings) or "timestamp" in step.settings.sets_core() - step.settings.reads()
        for step in pipeline.steps
    )
    if is_files and not is_set and getattr(sink.settings, "timestamp", None) == "event":
        message = "every event of a file has the file's time, so `timestamp: event` gives all cells one time"
        binding.warning(Kind.CONFLICT, sink.place("timestamp"), message, "set event times with a timestamp step")


def _check_labels(pipeline: PipelineDraft, binding: Binding) -> None:
    seen: dict[str, Place] = {}
    for component in [*pipeline.steps, *pipeline.sinks]:
        label = getattr(component.settings, "label", None)
        if not label:
            continue
        if label in seen:
            message = f'the label "{label}" stands twice in pipeline {pipeline.name}'
            hint = f"first on line {seen[label].line}"
            binding.problem(Kind.DUPLICATE_LABEL, component.place("label"), message, hint)
        seen.setdefault(label, component.place("label"))
    for row in (pipeline.steps, pipeline.sinks):
        for name, component in zip(names_of(row), row, strict=True):
            if name in seen and not getattr(component.settings, "label", None):
                message = f'the label "{name}" is what the {component.kind} on line {component.where.line} is called'
                binding.problem(Kind.DUPLICATE_LABEL, seen[name], message, "choose another, or give that one a label")


def _constant(condition: object, zone: str) -> bool | None:
    """What a condition that reads nothing of the event always answers; None when it depends on the event."""
    if isinstance(condition, str):
        condition = Condition.parse(condition, zone)
    if not isinstance(condition, Condition) or condition.references:
        return None
    try:
        return bool(condition.holds(Event(b"")))
    except EventError:
        return None


def _meant(condition: object, zone: str) -> str:
    """What may have been meant by a condition that is the same for every event."""
    doubts = Condition.parse(condition, zone).doubts if isinstance(condition, str) else ()
    return next((f"{doubt.message}: {doubt.hint}" for doubt in doubts if doubt.hint), "")


def _check_reachable(pipeline: PipelineDraft, binding: Binding) -> None:
    wall: Component | None = None
    zone = pipeline.options.timezone
    for step in [*pipeline.steps, *pipeline.sinks]:
        if wall is not None:
            message = f'no event gets here: "{wall.kind}" on line {wall.where.line} drops all of them'
            binding.problem(Kind.UNREACHABLE_STEP, step.where, message)
            return
        when = _constant(getattr(step.settings, "when", None), zone)
        if when is False:
            message = f"{step.kind} is never used: `when` never holds"
            hint = _meant(getattr(step.settings, "when", None), zone)
            binding.problem(Kind.UNREACHABLE_STEP, step.place("when"), message, hint)
            continue
        keep = _constant(getattr(step.settings, "keep", None), zone)
        drop = _constant(getattr(step.settings, "drop", None), zone)
        is_always = getattr(step.settings, "when", None) is None or when is True
        if is_always and (keep is False or drop is True):
            wall = step


def _check_order(pipeline: PipelineDraft, binding: Binding) -> None:
    """Events that go past a step which holds others come before those, and the last of a row to come is what stays."""
    if all(getattr(sink.settings, "timestamp", None) == "event" for sink in pipeline.sinks):
        return  # the event's own time decides
    for step in pipeline.steps:
        when = getattr(step.settings, "when", None)
        if when is None or _constant(when, pipeline.options.timezone) is not None:
            continue
        if binding.lookup.holds_events(step.kind):
            message = (
                f"{step.kind} holds events, and those that do not meet `when` go past them: of a row that has both, an "
                "older value may stay"
            )
            hint = "let `when` ask for what the row key is made of, or give cells the event's time: `timestamp: event`"
            binding.warning(Kind.CONFLICT, step.place("when"), message, hint)


def _check_dead_letters(pipeline: PipelineDraft, binding: Binding) -> None:
    letters, source = pipeline.dead_letters, pipeline.source
    if letters is None or source is None or not isinstance(letters.settings, DeadLetterTopic):
        return
    settings = letters.settings
    brokers = getattr(source.settings, "brokers", None)
    if settings.brokers is None and brokers is None:
        message = 'dead letters need "brokers", because the source has none'
        binding.problem(Kind.MISSING_FIELD, letters.where, message)
    if settings.brokers not in (None, brokers):
        return
    pattern = getattr(source.settings, "topics_pattern", None)
    if settings.topic in (getattr(source.settings, "topics", None) or ()):
        message = f'dead letters would be read again: "{settings.topic}" is a topic of the source'
        binding.problem(Kind.CONFLICT, letters.place("topic"), message)
    elif pattern is not None and re.fullmatch(pattern, settings.topic):
        message = f'dead letters would be read again: "topics_pattern" of the source matches "{settings.topic}"'
        name = settings.topic.replace(".", r"\.")
        hint = f"name another topic, or leave this one out of the pattern, as in '(?!{name}$)({pattern})'"
        binding.problem(Kind.CONFLICT, letters.place("topic"), message, hint)


def _check_cases(draft: Draft, binding: Binding) -> None:
    if len(draft.pipeline_names) > 1:
        for options, node in draft.cases:
            if options.pipeline is None:
                hint = f"there is more than one: {listed(draft.pipeline_names)}"
                binding.problem(Kind.MISSING_FIELD, node.place, f'test "{options.name}" needs "pipeline"', hint)


def _check_groups(draft: Draft, binding: Binding) -> None:
    """Two pipelines of one group would move each other's offsets."""
    users: dict[tuple[str, str], str] = {}
    for pipeline in draft.pipelines.values():
        settings = pipeline.source.settings if pipeline.source else None
        group = getattr(settings, "group", None)
        if pipeline.source is None or not isinstance(group, str):
            continue
        brokers = str(getattr(settings, "brokers", ""))
        if (first := users.setdefault((brokers, group), pipeline.name)) != pipeline.name:
            message = f'group "{group}" is that of pipeline {first} already'
            binding.problem(Kind.CONFLICT, pipeline.source.place("group"), message, "leave it out, or name another")


def _check_stores(draft: Draft, binding: Binding) -> None:
    """RocksDB is written by one process of one machine."""
    embedded = {name: store for name, store in draft.stores.items() if store.kind == "rocksdb"}
    paths: dict[Path, str] = {}
    for name, store in embedded.items():
        path = getattr(store.settings, "path", None)
        if path is not None and (first := paths.setdefault(Path(path), name)) != name:
            binding.problem(Kind.CONFLICT, store.place("path"), f'store "{first}" has this path already')
    master = draft.spark.master
    if master is None or master.startswith("local"):
        return
    if used := sorted(_used_stores(draft) & embedded.keys()):
        message = f'store "{used[0]}" is embedded: it can not be written by the tasks of a cluster'
        hint = "use a local master, or an hbase store"
        binding.problem(Kind.CONFLICT, draft.spark_places[("master",)], message, hint)


def _used_stores(draft: Draft) -> set[str]:
    sinks: Iterable[Component] = (sink for pipeline in draft.pipelines.values() for sink in pipeline.sinks)
    return {getattr(sink.settings, "store", None) or draft.only_store() or "" for sink in sinks}
