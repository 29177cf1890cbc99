"""
Connections to the stores, sources, sinks, dead-letter topics and the schema registry of a configuration.

For `validate --connect` and `doctor`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.amounts import counted
from ingest.api import ConflictError, IngestError, NoTableError, NotFoundError, Source, Store, TableSpec
from ingest.api.notation import name_from_bytes
from ingest.catalog import table_features
from ingest.config.model import declared_in, names_of
from ingest.config.options import DeadLetterTopic
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.errors import AccessDeniedError
from ingest.plan.assemble import plan_of, sink_checks
from ingest.plan.stores import reading_store_if_exists
from ingest.registry.client import RegistryClient
from ingest.sources.kafka import KafkaSourceSettings, identity_of_offsets, topics_of
from sinks.owning.owner import refuse_other_owner

if TYPE_CHECKING:
    from ingest.api import SinkSettings
    from ingest.catalog import Catalog
    from ingest.config.model import Component, Configuration, Pipeline
    from ingest.config.problems import Place
    from ingest.spark.streaming.checkpoint import Checkpoint

CONNECT_TIMEOUT_S = 10.0  # shorter than a service's: a user waits
ANY_KEY = b"\x00"
"""A row key that may or may not exist: reading it shows the right to read, and that the servers with rows answer."""


class Caution(NamedTuple):
    """
    A warning about something that can be connected to.

    Attributes:
        message: what is wrong.
        hint: what to do.
        why: what happens otherwise.
        is_start_refused: whether a start of the pipeline as it is would be refused.
    """

    message: str
    hint: str
    why: str
    is_start_refused: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """
    The result of connecting to one store, source, sink or dead-letter topic.

    Attributes:
        location: of the component in the file.
        what: the component, for messages.
        found: what it contains, if there is no error.
        caution: a warning about it.
    """

    location: str
    what: str
    found: str = ""
    error: IngestError | None = None
    caution: Caution | None = None


class Kind(StrEnum):
    """What a connection leads to."""

    STORE = "store"
    SOURCE = "source"
    SINK = "sink"
    DEAD_LETTERS = "dead_letters"
    REGISTRY = "registry"


@dataclass(frozen=True, slots=True)
class Connection:
    """
    A connection that can be checked.

    Attributes:
        name: of the store, or of the pipeline of a source, a sink or a topic; "" for the registry.
        what: the component, for messages.
        location: of the component in the file.
        connect: connects, and returns what it found, with a warning or None.
    """

    kind: Kind
    name: str
    what: str
    location: "Place"
    connect: Callable[[], str | tuple[str, Caution | None]]

    def check(self) -> Check:
        """Connect."""
        location = str(self.location)
        try:
            outcome = self.connect()
        except IngestError as error:
            return Check(location, self.what, error=error)
        found, caution = (outcome, None) if isinstance(outcome, str) else outcome
        return Check(location, self.what, found, caution=caution)


def connections(configuration: "Configuration", catalog: "Catalog") -> Iterator[Connection]:
    """Every store, source, sink without a store, dead-letter topic, and the registry; none is connected yet."""
    for name, store in configuration.stores.items():
        connect = partial(_connect_store, configuration, catalog, name, store)
        yield Connection(Kind.STORE, name, f'store "{name}"', store.location, connect)
    for name, pipeline in configuration.pipelines.items():
        source = partial(_connect_source, configuration, catalog, pipeline)
        yield Connection(Kind.SOURCE, name, f'source of pipeline "{name}"', pipeline.source.location, source)
        for sink, check in sink_checks(plan_of(configuration, pipeline, catalog), pipeline.source.settings):
            yield Connection(Kind.SINK, name, f'sink "{sink.name}" of pipeline "{name}"', sink.location, check)
        if isinstance(topic := pipeline.dead_letters.settings, DeadLetterTopic):
            what = f'dead-letter topic of pipeline "{name}"'
            check_topic = partial(_connect_dead_letter_topic, topic, pipeline)
            yield Connection(Kind.DEAD_LETTERS, name, what, pipeline.dead_letters.location, check_topic)
    registry = configuration.registry
    if registry is not None and registry.url is not None:
        check = RegistryClient(registry).check
        yield Connection(Kind.REGISTRY, "", "schema registry", configuration.origins["registry",], check)


def checks(configuration: "Configuration", catalog: "Catalog") -> Iterator[Check]:
    """Connect to all of them, one after the other."""
    return (connection.check() for connection in connections(configuration, catalog))


def _connect_store(
    configuration: "Configuration", catalog: "Catalog", name: str, component: "Component[Any]"
) -> str | tuple[str, Caution | None]:
    tables = configuration.tables.values()
    declared = declared_in(name, tables)
    with reading_store_if_exists(component, catalog, timeout_s=CONNECT_TIMEOUT_S) as (store, exists):
        if not exists:
            return "does not exist yet, the first write creates it"
        existing = store.tables()
        missing = (
            [] if store.capabilities.creates_tables else [spec for spec in declared.values() if not _has(store, spec)]
        )
        if missing:
            one, several = "does not exist, or lacks declared families", "do not exist, or lack declared families"
            raise NotFoundError(
                _of_tables([spec.name for spec in missing], one, several),
                hint="'attr2hbase table apply' creates what is missing",
            )
        written = [] if store.capabilities.creates_tables else table_names(configuration, name)
        absent = [table for table in written if table not in declared and store.families(table) is None]
        if absent:
            raise NotFoundError(_of_tables(absent, "does not exist", "do not exist"), hint=NoTableError.hint)
        of_topics = [] if store.capabilities.creates_tables else _tables_of_topics(configuration, name)
        lacking = [table for table in of_topics if table not in declared and store.families(table) is None]
        _check_owners(configuration, name, declared, store)
        # HBase's master knows the tables, and region servers have their rows: a get needs both
        for spec in declared.values():
            if store.families(spec.name) is not None:
                store.get(spec.name, ANY_KEY)
        _check_durabilities(configuration, name, store)
        clauses = Counter(
            feature.check_store(store, table) for table in tables if table.store == name for feature in table.features
        )
        through = f" through {store.connected_by}" if store.connected_by else ""
        found = [f"{counted(len(existing), 'table')}{through}"]
        found += [clause.format(tables=counted(count, "table")) for clause, count in clauses.items() if clause]
        return "; ".join(found), _without_tables(lacking)


def _without_tables(lacking: Sequence[str]) -> Caution | None:
    if not lacking:
        return None
    message = _of_tables(lacking, "does not exist", "do not exist") + ", which a topic of a source names"
    return Caution(message, NoTableError.hint or "", "each event of its topic would be a dead letter")


def _of_tables(names: Sequence[str], one: str, several: str) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    return f"table {listed} {one}" if len(names) == 1 else f"tables {listed} {several}"


def _check_durabilities(configuration: "Configuration", name: str, store: Store[Any]) -> None:
    """Raise the error of the rows of a sink whose durability a family refuses, as far as the store can tell."""
    for pipeline in configuration.pipelines.values():
        for settings in (sink.settings for sink in pipeline.sinks if sink.settings.store_name == name):
            table = settings.fixed_table
            durabilities = {durability for _, durability in settings.named_durabilities()}
            if table is None or not durabilities:
                continue
            for family in sorted(store.families(table) or ()):
                if not _may_write(settings, family):
                    continue
                errors = (store.refusal_of(table, family, durability) for durability in sorted(durabilities))
                for error in filter(None, errors):
                    raise error


def _check_owners(
    configuration: "Configuration", name: str, declared: "Mapping[str, TableSpec]", store: Store[Any]
) -> None:
    """Raise the error of a start of a pipeline that writes a table which another pipeline owns."""
    for pipeline in configuration.pipelines.values():
        written = {sink.settings.fixed_table for sink in pipeline.sinks if sink.settings.store_name == name}
        for spec in declared.values():
            if spec.name in written and store.families(spec.name) is not None:
                refuse_other_owner(store.properties(spec.name), spec, pipeline.name, table_features())


def _may_write(settings: "SinkSettings", family: bytes) -> bool:
    """Whether the options of a sink name a family, or events may name it."""
    word = name_from_bytes(family)
    named = {one for _, one in settings.named_families()}
    return settings.family_rule(word) is not False and (settings.cell_prefix is not None or word in named)


def table_names(configuration: "Configuration", store: str) -> list[str]:
    """Tables of a store that the file declares, or that a sink writes under a fixed name."""
    sinks = [sink.settings for pipeline in configuration.pipelines.values() for sink in pipeline.sinks]
    written = [sink.fixed_table for sink in sinks if sink.store_name == store and sink.fixed_table is not None]
    declared = [table.name for table in configuration.tables.values() if table.store == store]
    return list(dict.fromkeys([*written, *declared]))


def _tables_of_topics(configuration: "Configuration", store: str) -> list[str]:
    """Tables of a store that sinks name by the topic of an event, for the topics that sources list."""
    found: dict[str, None] = {}
    for pipeline in configuration.pipelines.values():
        topics = pipeline.source.settings.topics_by_name
        for settings in (sink.settings for sink in pipeline.sinks if sink.settings.store_name == store):
            if settings.fixed_table is None:
                found |= dict.fromkeys(settings.tables_of(topics))
    return list(found)


def _has(store: Store[Any], spec: TableSpec) -> bool:
    families = store.families(spec.name)
    return families is not None and families >= {family.name for family in spec.families}


def _connect_source(
    configuration: "Configuration", catalog: "Catalog", pipeline: "Pipeline"
) -> tuple[str, Caution | None]:
    source: type[Source[Any]] = catalog.load("sources", pipeline.source.kind)
    return source.check(pipeline.source.settings), _start_refused(configuration, pipeline, source)


def _start_refused(configuration: "Configuration", pipeline: "Pipeline", source: type[Source[Any]]) -> Caution | None:
    """Whether a start is refused: of other topics than before, or where only the consumer group has a position."""
    from ingest.kafka.offsets import GroupOffsets, NoCheckpointError, group_in_use
    from ingest.spark.state import checkpoint_folder
    from ingest.spark.streaming.checkpoint import Checkpoint

    settings = pipeline.source.settings
    # a state in HDFS needs Spark's JVM
    if not isinstance(settings, KafkaSourceSettings) or configuration.state_url is not None:
        return None
    checkpoint = Checkpoint(checkpoint_folder(configuration, pipeline.name), changed=source.changed_identity)
    if checkpoint.exists:
        return _other_topics(checkpoint, settings)
    group = settings.group_of(pipeline.name)
    try:
        with KafkaAdmin(settings) as admin, closing(GroupOffsets(settings, group)) as offsets:
            committed = offsets.committed(topics_of(settings, admin))
            members = offsets.members() if committed else []
    except AccessDeniedError:
        return None  # the check of the group says so
    if not committed:
        return None
    if members:
        in_use = group_in_use(group, members)
        why = "a start with --start-from group is refused, since both would write the same records"
        return Caution(in_use.message, in_use.hint or "", why, is_start_refused=True)
    refusal = NoCheckpointError(group, checkpoint.folder)
    why = "a start without --start-from is refused, since it would lose or repeat records"
    return Caution(refusal.message, refusal.hint or "", why, is_start_refused=True)


def _other_topics(checkpoint: "Checkpoint", settings: KafkaSourceSettings) -> Caution | None:
    """Whether a start or a reload is refused, since the checkpoint is of other topics or of another cluster."""
    with KafkaAdmin(settings) as admin:
        identity = identity_of_offsets(settings, admin.cluster_id(), topics_of(settings, admin))
    try:
        checkpoint.check_identity({"source": "kafka"} | identity)
    except ConflictError as error:
        why = "a start and a reload are refused, since offsets belong to their topics and cluster"
        return Caution(error.message, error.hint or "", why, is_start_refused=True)
    return None


def _connect_dead_letter_topic(topic: DeadLetterTopic, pipeline: "Pipeline") -> tuple[str, Caution | None]:
    """The same check as at the start of a pipeline."""
    from ingest.dead_letters.kafka import CREATED_BY, loss_of_dead_letters
    from ingest.kafka.loops import (
        cluster_of_reader,
        clusters_of_sinks,
        refuse_topic_of_sinks,
        refuse_topic_of_source,
    )

    with KafkaAdmin(topic.connection()) as admin:
        settings = admin.settings(topic.topic, created_by=CREATED_BY)
        reader = cluster_of_reader(pipeline.source.settings, topic.topic)
        refuse_topic_of_source(topic.topic, admin, reader, "dead letters")
        sinks = zip(names_of(pipeline.sinks), (sink.settings for sink in pipeline.sinks), strict=True)
        refuse_topic_of_sinks(topic.topic, admin, clusters_of_sinks(sinks, topic.topic))
    loss = loss_of_dead_letters(topic.topic, settings)
    why = "dead letters that are deleted cannot be replayed"
    return f"records of at most {settings.max_message_bytes} bytes", None if loss is None else Caution(*loss, why)
