"""The examinations of a pipeline file, in order: this machine, the ways to its servers, and what is behind them."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.amounts import counted
from ingest.config.model import declared_in
from ingest.doctor.connecting import Connection, Kind, connections, table_names
from ingest.doctor.examination import Examination, Finding, Found, Key, Severity, Skipped
from ingest.doctor.pipelines import kafka, machine, network, tables
from ingest.doctor.pipelines.guide import docs_of
from ingest.doctor.pipelines.state import state
from ingest.doctor.versions import MATRIX
from ingest.kafka.settings import KafkaConnection, KafkaTopic, connection_of, topic_of
from ingest.kafka.tls import tls_context
from ingest.sources.kafka import KafkaSourceSettings
from ingest.spark.master import DEFAULT_MASTER

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.catalog import Catalog
    from ingest.config.model import Configuration, Pipeline


@dataclass(frozen=True, slots=True)
class Cluster:
    """
    A Kafka cluster that the file names.

    Attributes:
        subject: for messages.
    """

    connection: KafkaConnection
    subject: str


def examinations(configuration: "Configuration", catalog: "Catalog") -> Iterator[Examination]:
    """All examinations of a configuration."""
    yield from _machine(configuration, catalog)
    clusters = _clusters(configuration)
    for cluster in clusters:
        yield from _cluster(cluster)
    for connection in connections(configuration, catalog):
        match connection.kind:
            case Kind.STORE:
                yield from _store(configuration, catalog, connection)
            case Kind.SOURCE:
                yield from _source(configuration.pipelines[connection.name], connection, clusters)
            case Kind.DEAD_LETTERS:
                yield from _dead_letters(configuration.pipelines[connection.name], connection, clusters)
            case Kind.SINK:
                yield from _sink(configuration.pipelines[connection.name], connection, clusters)
            case Kind.REGISTRY:
                yield _connected(connection)


def _machine(configuration: "Configuration", catalog: "Catalog") -> Iterator[Examination]:
    this = "this machine"
    yield _of("python", this, machine.python)
    yield _of("spark", this, machine.spark)
    yield _of("java", this, machine.java)
    for kind in dict.fromkeys(pipeline.source.kind for pipeline in configuration.pipelines.values()):
        yield _of("jars", f"source {kind}", partial(_jars, catalog, kind))
    folders = {name: store.settings.own_folder for name, store in configuration.stores.items()}
    has_rocksdb = any(folder is not None for folder in folders.values())
    yield _of("open_files", this, lambda: machine.open_files(machine.read_open_files(), has_rocksdb=has_rocksdb))
    yield _of("memory", this, partial(_memory, configuration))
    is_local = configuration.state_url is None
    yield _of("disk", "state_dir" if is_local else "local_dir", partial(machine.disk, configuration.local_dir))
    for name, folder in folders.items():
        if folder is not None:
            yield _of("disk", f'store "{name}"', partial(_store_disk, folder))
    if not is_local:
        # through Spark's JVM
        yield Examination("state", "state_dir", partial(state, configuration), (("java", this),), docs_of("state"))


def _cluster(cluster: Cluster) -> Iterator[Examination]:
    connection, subject = cluster.connection, cluster.subject
    addresses = [_address(broker) for broker in connection.broker_list]
    yield _of("names", subject, partial(network.names, addresses, subject=subject))
    yield _of("ports", subject, partial(network.ports, addresses, subject=subject), needs=("names",))
    last = "ports"
    if (tls := connection.security.tls) is not None:
        yield _of("tls", subject, lambda: network.tls(addresses, tls_context(tls), subject=subject), needs=("ports",))
        last = "tls"
    yield _of("kafka", subject, partial(kafka.login, connection), needs=(last,))
    yield _of("kafka_version", subject, partial(kafka.versions, connection, subject=subject), needs=("kafka",))
    yield _of("clock", subject, partial(kafka.clock, connection, subject=subject), needs=("kafka",))
    yield _of("listeners", subject, partial(kafka.listeners, connection, subject=subject), needs=("kafka",))


def _store(configuration: "Configuration", catalog: "Catalog", connection: Connection) -> Iterator[Examination]:
    subject = connection.what
    settings = configuration.stores[connection.name].settings
    needs: tuple[Key, ...] = ()
    if settings.addresses:
        yield _of("names", subject, partial(network.names, settings.addresses, subject=subject))
        yield _of("ports", subject, partial(network.ports, settings.addresses, subject=subject), needs=("names",))
        needs = (("ports", subject),)
    yield _connected(connection, needs)
    component = configuration.stores[connection.name]
    if component.kind in MATRIX:
        run = partial(tables.server_version, catalog, component, subject=subject)
        yield Examination(f"{component.kind}_version", subject, run, needs, docs_of(f"{component.kind}_version"))
    wanted = table_names(configuration, connection.name)
    if wanted and (settings.own_folder is not None or not settings.creates_tables):
        declared = declared_in(connection.name, configuration.tables.values())
        readable = partial(tables.readable, catalog, component, wanted, declared=declared, subject=subject)
        yield _of("tables", subject, readable, needs=(connection.kind.value,))


def _source(pipeline: "Pipeline", connection: Connection, clusters: list[Cluster]) -> Iterator[Examination]:
    settings = pipeline.source.settings
    subject = connection.what
    yield _connected(connection, _needs(connection_of(settings), clusters))
    if not isinstance(settings, KafkaSourceSettings):
        return
    name = settings.group_of(pipeline.name)
    runs: dict[str, Callable[[], Found | Skipped]] = {
        "topic_rights": lambda: kafka.rights(settings, kafka.read_topics(settings), "READ", subject=subject),
        "group": partial(kafka.group, settings, name, subject=subject),
        "retention": partial(kafka.retention, settings, name, subject=subject),
        "record_size": partial(kafka.record_size, settings, subject=subject),
        "decompressed_size": partial(kafka.decompressed_size, settings, subject=subject),
    }
    for check, run in runs.items():
        yield _of(check, subject, run, needs=(connection.kind.value,))


def _sink(pipeline: "Pipeline", connection: Connection, clusters: list[Cluster]) -> Iterator[Examination]:
    topic = next(topic_of(sink.settings) for sink in pipeline.sinks if sink.location == connection.location)
    cluster = None if topic is None else topic.connection()
    yield _connected(connection, _needs(cluster, clusters))
    if topic is not None:
        yield _writable(topic, connection)


def _dead_letters(pipeline: "Pipeline", connection: Connection, clusters: list[Cluster]) -> Iterator[Examination]:
    topic = topic_of(pipeline.dead_letters.settings)
    assert topic is not None  # noqa: S101 - for mypy: of this kind
    cluster, subject = topic.connection(), connection.what
    yield _connected(connection, _needs(cluster, clusters))
    yield _writable(topic, connection)
    readable = partial(kafka.readable, cluster, topic.topic, subject=subject)
    yield _of("readable", subject, readable, needs=(connection.kind.value,))


def _writable(topic: KafkaTopic, connection: Connection) -> Examination:
    run = partial(kafka.rights, topic.connection(), [topic.topic], "WRITE", subject=connection.what)
    return _of("topic_rights", connection.what, run, needs=(connection.kind.value,))


def _of(check: str, subject: str, run: "Callable[[], Found | Skipped]", *, needs: tuple[str, ...] = ()) -> Examination:
    """An examination that needs others of the same subject."""
    return Examination(check, subject, run, tuple((need, subject) for need in needs), docs_of(check))


def _connected(connection: Connection, needs: tuple[Key, ...] = ()) -> Examination:
    check = connection.kind.value

    def run() -> Found:
        outcome = connection.check()
        if outcome.error is not None:
            raise outcome.error
        if outcome.caution is None:
            return Found(outcome.found)
        message, hint, why, _ = outcome.caution
        finding = Finding(check, Severity.WARNING, message, connection.what, hint=hint, why=why, docs=docs_of(check))
        return Found(outcome.found, (finding,))

    return Examination(check, connection.what, run, needs, docs_of(check))


def _jars(catalog: "Catalog", kind: str) -> Found:
    count = len(catalog.load("sources", kind).jars())
    return Found(counted(count, "jar") if count else "needs none")


def _store_disk(folder: Path) -> Found:
    return machine.disk(folder, stored=machine.stored_in(folder))


def _memory(configuration: "Configuration") -> Found:
    spark = configuration.spark
    return machine.memory(
        machine.machine_memory(),
        machine.driver_heap(spark.driver_memory, spark.conf),
        machine.task_slots(spark.master or DEFAULT_MASTER, os.cpu_count() or 1),
        max(each.source.settings.decoding.max_event_bytes for each in configuration.pipelines.values()),
    )


def _clusters(configuration: "Configuration") -> list[Cluster]:
    """The clusters of sources, sinks and dead-letter topics, each once."""
    found: list[KafkaConnection] = []
    for pipeline in configuration.pipelines.values():
        source = connection_of(pipeline.source.settings)
        topics = (topic_of(each.settings) for each in (pipeline.dead_letters, *pipeline.sinks))
        written = (topic.connection() for topic in topics if topic is not None)
        found += [_plain(connection) for connection in (source, *written) if connection is not None]
    unique = [connection for number, connection in enumerate(found) if connection not in found[:number]]
    named = [connection.brokers for connection in unique]
    return [
        # two connections to one cluster may differ in their user
        Cluster(connection, f"Kafka {connection.brokers}{f' #{number}' if named.count(connection.brokers) > 1 else ''}")
        for number, connection in enumerate(unique, start=1)
    ]


def _needs(connection: KafkaConnection | None, clusters: list[Cluster]) -> tuple[Key, ...]:
    """The examination of the cluster of a connection."""
    if connection is None:
        return ()
    plain = _plain(connection)
    return tuple(("kafka", cluster.subject) for cluster in clusters if cluster.connection == plain)


def _plain(connection: KafkaConnection) -> KafkaConnection:
    """Only what identifies the cluster and the user."""
    return KafkaConnection(brokers=connection.brokers, security=connection.security)


def _address(broker: str) -> network.Address:
    host, _, port = broker.rpartition(":")
    return host.strip("[]"), int(port)
