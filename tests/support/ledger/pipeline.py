"""The pipeline for the events of the ledger, and the options of a test."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from tests.support.ledger.events import FAMILIES, chain
from tests.support.ledger.observed import VERSIONS
from tests.support.servers import Kafka, Protocol

StoreName = Literal["rocksdb", "hbase"]


@dataclass(frozen=True)
class Options:
    """
    Options of a run, see the fixture `ledger_run`.

    Attributes:
        events: options of `Events` other than run and seed.
        source, sink, pipeline, content: merged into these parts of the pipeline file; `content` into the whole file.
        store_options: options of the store.
        table: options of the table, besides its families.
        dead_letters: destination of dead letters.
        dead_kafka: broker of their topic; None for the broker of the events.
        brokers, hbase_port: addresses for the service only, such as those of a proxy.
        protocol: of the hbase store: thrift, or rpc for HBase's own.
        mutant: description of the deliberate bug; then some rule must be broken.
    """

    store: StoreName = "rocksdb"
    events: Mapping[str, Any] = field(default_factory=dict)
    partitions: int = 4
    batch_size: int = 2_000
    source: Mapping[str, Any] = field(default_factory=dict)
    sink: Mapping[str, Any] = field(default_factory=dict)
    pipeline: Mapping[str, Any] = field(default_factory=dict)
    content: Mapping[str, Any] = field(default_factory=dict)
    store_options: Mapping[str, Any] = field(default_factory=dict)
    table: Mapping[str, Any] = field(default_factory=dict)
    dead_letters: Literal["files", "kafka"] = "files"
    dead_kafka: Kafka | None = None
    topic_config: Mapping[str, str] | None = None
    brokers: str | None = None
    hbase_port: int | None = None
    protocol: Protocol = "thrift"
    mutant: str = ""


class Names(NamedTuple):
    """Names of one run."""

    pipeline: str
    topic: str
    group: str
    table: str
    dead_topic: str | None


def content_of(
    options: Options, names: Names, *, store: Mapping[str, Any], brokers: str, dead_brokers: str
) -> dict[str, Any]:
    """The pipeline file as plain data."""
    source = {
        "brokers": options.brokers or brokers,
        "topics": [names.topic],
        "group": names.group,
        "max_events_per_batch": options.batch_size,
    }
    pipeline: dict[str, Any] = {
        "source": {"kafka": {**source, **options.source}},
        "decorators": chain(),
        "sinks": [{"attr2hbase": {"table": names.table, **options.sink}}],
    }
    if names.dead_topic is not None:
        pipeline["dead_letters"] = {"kafka": {"topic": names.dead_topic, "brokers": dead_brokers}}
    content = {
        # the audit needs the time of every batch; by default Spark keeps the last hundred
        "spark": {"conf": {"spark.sql.streaming.minBatchesToRetain": "10000"}},
        "stores": {"store": store},
        "tables": {
            names.table: {
                "store": "store",
                "families": {name.decode(): {"versions": VERSIONS} for name in FAMILIES},
                **options.table,
            }
        },
        "pipelines": {names.pipeline: {**pipeline, **options.pipeline}},
    }
    return merged(content, options.content)


def with_neighbour(content: Mapping[str, Any], name: str, *, table: str, store: str = "store") -> dict[str, Any]:
    """The same file with another pipeline like its first: over the same topic, with a group and a table of its own."""
    first = next(iter(content["pipelines"].values()))
    kafka = first["source"]["kafka"]
    source = {"kafka": {**kafka, "group": f"{kafka['group']}-{name}"}}
    families = next(iter(content["tables"].values()))["families"]
    added = {
        "tables": {table: {"store": store, "families": families}},
        "pipelines": {name: {**first, "source": source, "sinks": [{"attr2hbase": {"table": table, "store": store}}]}},
    }
    return merged(content, added)


def merged(below: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two mappings recursively; `over` takes precedence."""
    result = dict(below)
    for name, value in over.items():
        known = result.get(name)
        result[name] = merged(known, value) if isinstance(known, Mapping) and isinstance(value, Mapping) else value
    return result
