"""
Rules that span several options: unknown names, unreachable decorators, conflicting options.

The rules use only the properties that `ingest.api` defines for all components, never a class, a kind or an option name.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic_core import PydanticCustomError

from ingest.api import Settings, SinkSettings, SourceSettings, StoreSettings
from ingest.api.buckets import buckets_warning
from ingest.config.column_types import check_columns
from ingest.config.components import Binding
from ingest.config.conversions import check_conversions
from ingest.config.dump import check_dump
from ingest.config.features import check_features
from ingest.config.model import Component, names_of
from ingest.config.names import check_names
from ingest.config.nodes import ScalarNode, locations
from ingest.config.partial import PartialConfig, PartialPipeline, PartialTable
from ingest.config.problems import Kind, Place, Severity, listed
from ingest.config.registry import check_registry
from ingest.config.rowkeys import check_row_keys
from ingest.config.targets import check_family_rules, check_table
from ingest.expressions import Condition
from ingest.kafka.settings import check_protected, connection_of, has_common_broker, topic_of
from ingest.suggest import did_you_mean

_STARTS_JAVA = re.compile(
    r"spark\.(driver|executor|yarn\.am)\.(default|extra)(JavaOptions|ClassPath|LibraryPath)"
    r"|spark\.(archives|files|jars|pyspark|submit)(\..*)?"
)
"""Settings of Spark that take effect before the driver runs."""


def check(partial_config: PartialConfig, binding: Binding) -> None:
    """Report the problems that need the whole file."""
    _check_uses(partial_config.store_uses, partial_config.store_names, "store", binding)
    _check_uses(partial_config.pipeline_uses, partial_config.pipeline_names, "pipeline", binding)
    for name, table in partial_config.tables.items():
        _check_store(table.options.store, f"table {name}", table.location, partial_config, binding)
        _check_buckets(table, binding)
        _check_attributes(table, partial_config, binding)
    check_features(partial_config, binding)
    check_columns(partial_config, binding)
    check_dump(partial_config, binding)
    check_registry(partial_config, binding)
    for pipeline in partial_config.pipelines.values():
        _check_labels(pipeline, binding)
        _check_reachable(pipeline, binding)
        _check_order(pipeline, binding)
        _check_topics(pipeline, binding)
        check_row_keys(pipeline, partial_config, binding)
        check_conversions(pipeline, binding)
        for sink in pipeline.sinks:
            _check_sink(sink, pipeline, partial_config, binding)
    _check_cases(partial_config, binding)
    _check_groups(partial_config, binding)
    _check_stores(partial_config, binding)
    _check_slots(partial_config, binding)
    _check_command_lines(partial_config, binding)
    if all(problem.severity is Severity.WARNING for problem in binding.problems):
        for pipeline in partial_config.pipelines.values():
            check_names(pipeline, partial_config, binding)
    for name, location in partial_config.chains.items():
        if name not in partial_config.used_chains:
            binding.warning(Kind.UNUSED, location, f'chain "{name}" is not used')


def _check_buckets(table: PartialTable, binding: Binding) -> None:
    distribute = table.options.distribute
    if distribute is not None and (warning := buckets_warning(distribute.hash)) is not None:
        place = locations(table.node).get(("distribute", "hash"), table.location)
        binding.warning(Kind.DOUBTFUL, place, warning)


def _check_attributes(table: PartialTable, partial_config: PartialConfig, binding: Binding) -> None:
    """
    The store must be able to set the attributes of families.

    They are HBase's: in another store they have no effect, which a user may not expect.
    """
    store = partial_config.stores.get(table.options.store or partial_config.only_store() or "")
    named = {family: options.attributes for family, options in table.options.families.items() if options.attributes}
    if store is None or not named:
        return
    places = locations(table.node)
    if (reason := store.settings.without_attributes) is not None:
        place = places.get(("families", next(iter(named)), "attributes"), table.location)
        why, remedy = reason
        binding.warning(Kind.UNUSED, place, f"attributes of families have no effect: the store {why}", remedy)
    for family, attributes in named.items():
        for name in attributes:
            if (refusal := store.settings.attribute_refusal(name)) is not None:
                place = places.get(("families", family, "attributes", name), table.location)
                why, remedy = refusal
                binding.problem(Kind.CONFLICT, place, f"the {store.kind} store {why}", remedy)


def _check_store(
    name: str | None, owner: str, location: Place, partial_config: PartialConfig, binding: Binding
) -> None:
    """The store may be omitted only if the file has exactly one; `_check_uses` checks the names."""
    stores = partial_config.store_names
    if name is None and not stores:
        binding.problem(Kind.MISSING_FIELD, location, f"{owner} needs a store", "declare one under `stores`")
    elif name is None and len(stores) > 1:
        hint = f"there is more than one: {listed(stores)}"
        binding.problem(Kind.MISSING_FIELD, location, f'{owner} needs "store"', hint)


def _check_uses(uses: Iterable[ScalarNode], names: Iterable[str], what: str, binding: Binding) -> None:
    names = sorted(names)
    for use in uses:
        if use.text not in names:
            hint = did_you_mean(use.text, names) or (f"there are {listed(names)}" if names else f"see `{what}s`")
            binding.problem(Kind.UNKNOWN_REFERENCE, use.place, f'there is no {what} "{use.text}"', hint)


def _check_sink(
    sink: Component[SinkSettings], pipeline: PartialPipeline, partial_config: PartialConfig, binding: Binding
) -> None:
    settings = sink.settings
    check_family_rules(sink, pipeline, binding)
    if settings.store_name is not None:
        store = settings.store_name or partial_config.only_store()
        _check_store(settings.store_name or None, sink.kind, sink.place("store"), partial_config, binding)
        check_table(sink, store, pipeline, partial_config, binding)
        _check_creates(sink, partial_config.stores.get(store or ""), binding)
        _check_durabilities(sink, partial_config.stores.get(store or ""), binding)
        _check_ttls(sink, partial_config.stores.get(store or ""), partial_config.table_of(settings), binding)
    for finding in settings.findings():
        see = "" if finding.see is None else f"see line {sink.place(*finding.see).line}"
        binding.report(finding, sink.place(*finding.path), see)
    _check_time(sink, pipeline, binding)


def _check_creates(sink: Component[SinkSettings], store: Component[StoreSettings] | None, binding: Binding) -> None:
    """`on_unknown: create` requires a store that can create families."""
    if sink.settings.on_unknown_family != "create" or store is None:
        return
    if store.settings.unsupported_reason is not None:
        reason, remedy = store.settings.unsupported_reason
        message = f"no family can be created: the {store.kind} store {reason}"
        place = sink.place("families", "on_unknown")
        binding.problem(Kind.CONFLICT, place, message, f"{remedy}, or leave on_unknown out")


def _check_durabilities(
    sink: Component[SinkSettings], store: Component[StoreSettings] | None, binding: Binding
) -> None:
    """The store must have each durability that the sink names."""
    if store is None:
        return
    for path, durability in sink.settings.named_durabilities():
        refusal = store.settings.durability_refusal(durability)
        if refusal is not None:
            reason, remedy = refusal
            binding.problem(Kind.CONFLICT, sink.place(*path), f"the {store.kind} store {reason}", remedy)


def _check_ttls(
    sink: Component[SinkSettings],
    store: Component[StoreSettings] | None,
    table: PartialTable | None,
    binding: Binding,
) -> None:
    """The store must keep a time to live of single cells, and some family of the table keep cells for that long."""
    if store is None:
        return
    for path, ttl_ms in sink.settings.named_ttls():
        if (refusal := store.settings.cell_ttl_refusal) is not None:
            reason, remedy = refusal
            binding.problem(Kind.CONFLICT, sink.place(*path), f"the {store.kind} store {reason}", remedy)
        elif ttl_ms is not None and table is not None and _is_above_families(ttl_ms, sink.settings, table):
            message = (
                f'each family of table "{table.name}" that the sink may write has a shorter `ttl`, so this has no '
                "effect: cells live no longer than their family says"
            )
            hint = "write a shorter one, or a longer `ttl` of the families under `tables`"
            binding.warning(Kind.DOUBTFUL, sink.place(*path), message, hint)


def _is_above_families(ttl_ms: int, settings: SinkSettings, table: PartialTable) -> bool:
    """Whether the table declares families that the sink may write, and all of them keep cells for a shorter time."""
    families = table.options.families.items()
    ttls_s = [options.ttl for family, options in families if settings.family_rule(family) is not False]
    return bool(ttls_s) and all(ttl_s is not None and ttl_ms > ttl_s * 1000 for ttl_s in ttls_s)


def _check_time(sink: Component[SinkSettings], pipeline: PartialPipeline, binding: Binding) -> None:
    if pipeline.source is None or pipeline.source.settings.has_record_times or not sink.settings.has_event_time:
        return
    if not any(
        "timestamp" in decorator.settings.sets_core() - decorator.settings.reads() for decorator in pipeline.decorators
    ):
        message = "every event of a file has the file's time, so `timestamp: event` gives all cells one time"
        binding.warning(Kind.SAME_TIME, sink.place("timestamp"), message, "set event times with a timestamp decorator")


def _check_labels(pipeline: PartialPipeline, binding: Binding) -> None:
    seen: dict[str, Place] = {}
    for component in [*pipeline.decorators, *pipeline.sinks]:
        label = component.settings.label
        if not label:
            continue
        if label in seen:
            message = f'the label "{label}" is used twice in pipeline {pipeline.name}'
            hint = f"first on line {seen[label].line}"
            binding.problem(Kind.DUPLICATE_LABEL, component.place("label"), message, hint)
        seen.setdefault(label, component.place("label"))
    for components in (pipeline.decorators, pipeline.sinks):
        for name, component in zip(names_of(components), components, strict=True):
            if name in seen and not component.settings.label:
                message = f'the label "{name}" is the name of the {component.kind} on line {component.location.line}'
                hint = "choose another, or give that component a label"
                binding.problem(Kind.DUPLICATE_LABEL, seen[name], message, hint)


def _hint_for(condition: Condition) -> str:
    """A hint for a condition that has the same result for every event."""
    return next((f"{warning.message}: {warning.hint}" for warning in condition.lint_warnings if warning.hint), "")


def _check_reachable(pipeline: PartialPipeline, binding: Binding) -> None:
    blocker: Component[Settings] | None = None
    zone = pipeline.options.timezone
    for component in [*pipeline.decorators, *pipeline.sinks]:
        if blocker is not None:
            message = f'no event reaches this: "{blocker.kind}" on line {blocker.location.line} lets none pass'
            hint = "give it a `when` that some events do not meet" if blocker.settings.when is None else ""
            binding.problem(Kind.UNREACHABLE, component.location, message, hint)
            return
        when = component.settings.when
        condition = None if when is None else Condition.parse(when, zone)
        if condition is None or condition.constant is True:
            if component.settings.passes_no_event():
                blocker = component
        elif condition.constant is False:
            message = f"{component.kind} is never used: `when` is never true"
            binding.problem(Kind.UNREACHABLE, component.place("when"), message, _hint_for(condition))


def _check_order(pipeline: PartialPipeline, binding: Binding) -> None:
    """Events that bypass a buffering decorator are written first, so an older value may win."""
    if all(sink.settings.has_event_time or sink.settings.store_name is None for sink in pipeline.sinks):
        return  # cells have the event's time, which decides in HBase
    for component in pipeline.decorators:
        when = component.settings.when
        if when is None or Condition.parse(when, pipeline.options.timezone).constant is not None:
            continue
        if binding.lookup.holds_events(component.kind):
            message = (
                f"{component.kind} buffers events; events that do not match `when` bypass it and are written first, so "
                "an older value of a row may win"
            )
            hint = "use only parts of the row key in `when`, or write the event's time: `timestamp: event`"
            binding.warning(Kind.REORDERED, component.place("when"), message, hint)


def _check_topics(pipeline: PartialPipeline, binding: Binding) -> None:
    """The topics that a pipeline writes: it must not read them, and dead letters have one of their own."""
    source, dead_letters = pipeline.source, pipeline.dead_letters
    if source is None:
        return
    if dead_letters is not None:
        _check_topic(dead_letters, "dead letters", source, binding)
    for sink in pipeline.sinks:
        _check_topic(sink, f"the records of {sink.kind}", source, binding)
        if dead_letters is not None and _is_one_topic(sink, dead_letters, source):
            hint = f"see line {dead_letters.place('topic').line}; give one of them another topic"
            binding.problem(Kind.CONFLICT, sink.place("topic"), "dead letters are written to this topic", hint)


def _check_topic(component: Component[Any], what: str, source: Component[SourceSettings], binding: Binding) -> None:
    topic, cluster = topic_of(component.settings), connection_of(source.settings)
    if topic is None:
        return
    if topic.brokers is None and cluster is None:
        message = f'{what} need "brokers", because the source has none'
        binding.problem(Kind.MISSING_FIELD, component.location, message)
    if topic.brokers is None and topic.security is not None and cluster is not None:
        try:
            check_protected(cluster.brokers, topic.security)
        except PydanticCustomError as error:
            binding.problem(Kind.CONFLICT, component.place("security"), error.message())
    if cluster is None or not has_common_broker(topic.brokers or cluster.brokers, cluster.brokers):
        return  # another cluster, as far as the names of brokers tell: the pipeline compares its id when it starts
    if not source.settings.reads_topic(topic.topic):
        return
    if topic.topic in source.settings.topics_by_name:
        message, hint = f'{what} would be read again: "{topic.topic}" is a topic of the source', ""
    else:
        message = f'{what} would be read again: "topics_pattern" of the source matches "{topic.topic}"'
        name, pattern = topic.topic.replace(".", r"\."), source.settings.summary
        hint = f"use another topic, or exclude this one from the pattern: '(?!{name}$)({pattern})'"
    binding.problem(Kind.CONFLICT, component.place("topic"), message, hint)


def _is_one_topic(one: Component[Any], other: Component[Any], source: Component[SourceSettings]) -> bool:
    """Whether two components write the same topic, as far as the names of brokers tell."""
    first, second, cluster = topic_of(one.settings), topic_of(other.settings), connection_of(source.settings)
    if first is None or second is None or first.topic != second.topic:
        return False
    usual = "" if cluster is None else cluster.brokers
    brokers, others = first.brokers or usual, second.brokers or usual
    return bool(brokers and others) and has_common_broker(brokers, others)


def _check_cases(partial_config: PartialConfig, binding: Binding) -> None:
    if len(partial_config.pipeline_names) > 1:
        for options, node in partial_config.test_cases:
            if options.pipeline is None:
                hint = f"there is more than one: {listed(partial_config.pipeline_names)}"
                binding.problem(Kind.MISSING_FIELD, node.place, f'test "{options.name}" needs "pipeline"', hint)


def _check_groups(partial_config: PartialConfig, binding: Binding) -> None:
    """Two pipelines of one consumer group would overwrite each other's committed offsets."""
    users: dict[tuple[str, str], str] = {}
    for pipeline in partial_config.pipelines.values():
        group = None if pipeline.source is None else pipeline.source.settings.consumer_group
        if pipeline.source is None or group is None:
            continue
        if (first := users.setdefault(group, pipeline.name)) != pipeline.name:
            message = f'pipeline {first} already uses group "{group[1]}"'
            binding.problem(Kind.CONFLICT, pipeline.source.place("group"), message, "leave it out, or use another")


def _check_stores(partial_config: PartialConfig, binding: Binding) -> None:
    """An embedded store is opened by one process: each has its own folder, and cluster tasks cannot write it."""
    embedded: dict[str, Path] = {}
    folders: dict[Path, str] = {}
    for name, store in partial_config.stores.items():
        if (folder := store.settings.own_folder) is None:
            continue
        embedded[name] = folder
        if (first := folders.setdefault(folder, name)) != name:
            binding.problem(Kind.CONFLICT, store.place("path"), f'store "{first}" already uses this path')
    master = partial_config.spark.master
    is_cluster = master is not None and not master.startswith("local")
    sinks = (sink for pipeline in partial_config.pipelines.values() for sink in pipeline.sinks)
    names = (sink.settings.store_name for sink in sinks)
    written = {name or partial_config.only_store() for name in names if name is not None}
    used = [name for name in sorted(embedded) if name in written]
    if used and partial_config.state_place is not None:
        message = f'store "{used[0]}" is on this machine: a driver elsewhere would resume without its rows'
        hint = "use an hbase store, or a state_dir on this machine"
        binding.problem(Kind.CONFLICT, partial_config.state_place, message, hint)
    if used and is_cluster:
        message = f'store "{used[0]}" is embedded: tasks on a cluster cannot write it'
        hint = "use a local master, or an hbase store"
        binding.problem(Kind.CONFLICT, partial_config.spark_places[("master",)], message, hint)


def _check_slots(partial_config: PartialConfig, binding: Binding) -> None:
    """Jobs leave a task slot to the pipelines; the number of slots is only known if the file has it."""
    location = partial_config.service_places.get(("jobs", "tasks"))
    slots = partial_config.spark.local_slots
    tasks = partial_config.service.jobs.tasks
    if location is None or slots is None or tasks < slots:
        return
    message = f'"tasks: {tasks}" leaves no task slot to the pipelines: "{partial_config.spark.master}" has {slots}'
    hint = "a service with one slot runs no jobs: remove the option, or give Spark more slots, as in local[2]"
    binding.problem(Kind.CONFLICT, location, message, hint if slots == 1 else f"set it to {slots - 1} at most")


def _check_command_lines(partial_config: PartialConfig, binding: Binding) -> None:
    """Secrets must not be on command lines, which every user of the machine can read."""
    for name, value in partial_config.spark.conf.items():
        if _STARTS_JAVA.fullmatch(name) and binding.masks.hide(value) != value:
            location = partial_config.spark_places[("conf", name)]
            message = f'"{name}" becomes part of a command line, and its value contains a secret'
            hint = "refer to a file that contains the secret, or use a setting that Spark reads at run time"
            binding.problem(Kind.CONFLICT, location, message, hint)
