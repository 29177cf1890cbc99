"""
Translates Kafka sources and channels of Flume 1.

Source: KafkaSource and KafkaChannel of Flume 1.11; ConsumerGroupCommand of Kafka 4.
"""

import re
import shlex
from collections.abc import Mapping
from typing import get_args

from ingest.config import Kind
from ingest.config.nodes import NodePath
from ingest.flume.ng.properties import Options
from ingest.flume.pipelines.document import Component, Origin, Verbatim
from ingest.formats.addresses import is_this_machine
from ingest.kafka.settings import ClientOption

_CLIENT_OPTIONS = frozenset(get_args(ClientOption))
_SPLIT = re.compile(r"\s*,\s*|\s+")
_MECHANISMS = {"PLAIN": "plain", "SCRAM-SHA-256": "scram_sha_256", "SCRAM-SHA-512": "scram_sha_512", "GSSAPI": "gssapi"}
CORE_FIELDS = ("host", "priority", "nanos")
"""Headers that are core fields of the event here, not attributes."""

GROUP_OF_FLUME = "Flume's group: `attr2hbase run --start-from group` resumes where Flume stopped"
"""The comment above a source with Flume's consumer group."""

_TOOL = "kafka-consumer-groups.sh --bootstrap-server"
_GROUP = "flume"
_CONSUMER = "kafka.consumer."
_ORIGINS = {
    "brokers": ("brokerList", "kafka.bootstrap.servers"),
    "group": ("groupId", "kafka.consumer.group.id"),
    "security": ("kafka.consumer.security.protocol", "kafka.consumer.sasl.mechanism"),
}
_READ_ALREADY = (
    "security.protocol", "sasl.mechanism", "sasl.jaas.config", "sasl.kerberos.service.name", "group.id",
    "auto.offset.reset",
)  # fmt: skip


def is_kafka(options: Options) -> bool:
    """Whether a source or channel is a Kafka one, by its alias or class."""
    name = options.text("type").rpartition(".")[2].lower()
    return name.removesuffix("source").removesuffix("channel") == "kafka"


def group_of(options: Options) -> tuple[str, str]:
    """Brokers and consumer group of a Kafka source or channel in Flume."""
    brokers = options.raw("kafka.bootstrap.servers") or options.raw("brokerList")
    group = options.raw(f"{_CONSUMER}group.id") or options.raw("groupId") or _GROUP
    brokers = ",".join(part for part in _SPLIT.split(brokers) if part)
    return brokers.replace("${env:", "${"), group.replace("${env:", "${")


def kafka_source(options: Options) -> Component:
    """The source for a Kafka source of Flume."""
    found: dict[str, object] = {"brokers": _brokers(options, "kafka.bootstrap.servers", "brokerList")}
    pattern = options.open_text("kafka.topics.regex")
    topics = [name for name in _SPLIT.split(_either(options, "kafka.topics", "topic")) if name]
    if pattern:
        found["topics_pattern"] = pattern
    elif topics:
        found["topics"] = topics
    else:
        options.error(
            Kind.MISSING_FIELD, "type", "the source names no topics", "it needs kafka.topics or kafka.topics.regex"
        )
    _consumer(options, found, "latest")
    if options.is_true("useFlumeEventFormat", default=False):
        found["format"] = "flume_avro"
    remarks = [*options.comments(), GROUP_OF_FLUME]
    names = {**_ORIGINS, "topics": ("topic", "kafka.topics"), "topics_pattern": ("kafka.topics.regex",)}
    return Component("kafka", found, remarks, options.original.place(options.at("type")), _origins(options, names))


def group_for_others(names: str) -> str:
    """The comment above a source if pipelines of these names need the group's offsets, too."""
    return (
        f"Flume's group: once its offsets are copied for {names}, as described there, "
        "`attr2hbase run --start-from group` resumes where Flume stopped"
    )


def offsets_for(source: Component, own: str) -> list[tuple[str, str]]:
    """
    Commands of Kafka's own tool, in two parts each, that copy the offsets of a source's group to another group.

    Args:
        source: the source.
        own: the other group.
    """
    broker = str(source.options["brokers"]).partition(",")[0]
    security = source.options.get("security")
    has_login = isinstance(security, Mapping) and not security.keys().isdisjoint(("tls", "sasl"))
    login = " --command-config client.properties" if has_login else ""
    tool = f"{_TOOL} {broker}{login} --reset-offsets"
    group = _word(str(source.options["group"]))
    return [
        (tool, f"--group {group} --all-topics --to-current --dry-run --export > offsets.csv"),
        (tool, f"--group {_word(own)} --from-file offsets.csv --execute"),
    ]


def _word(text: str) -> str:
    """A quoted word of a shell command; marks of variables are kept."""
    return shlex.quote(text) if text.isascii() else f'"{text}"'


def kafka_channel(options: Options) -> Component:
    """The source for a Kafka channel."""
    found: dict[str, object] = {"brokers": _brokers(options, "kafka.bootstrap.servers", "brokerList")}
    found["topics"] = [_either(options, "kafka.topic", "topic") or "flume-channel"]
    # a channel starts with the first retained event by default, a source with the next one
    start = "earliest" if options.is_true("readSmallestOffset", default=True) else "latest"
    _consumer(options, found, start)
    if options.is_true("parseAsFlumeEvent", default=True):
        found["format"] = "flume_avro"
    remarks = [*options.comments(), "the topic of the channel; other sources keep writing to it", GROUP_OF_FLUME]
    names = {**_ORIGINS, "topics": ("topic", "kafka.topic")}
    return Component("kafka", found, remarks, options.original.place(options.at("type")), _origins(options, names))


def _origins(options: Options, names: Mapping[str, tuple[str, ...]]) -> dict[NodePath, Origin]:
    """Places of the settings from which our options are translated; of two names for a setting the later one."""
    found = {
        path: origin for name, written in names.items() for each in written
        for path, origin in options.origins({(name,): each}).items()
    }  # fmt: skip
    own: dict[NodePath, str] = {("options", name): _CONSUMER + name for name in options.below(_CONSUMER)}
    return {**found, **options.origins(own)}


def _brokers(options: Options, name: str, former: str) -> object:
    text = _either(options, name, former)
    if not text:
        options.error(Kind.MISSING_FIELD, "type", f"no brokers are named: {name} is missing")
        return Verbatim("${KAFKA:localhost:9092}")
    return ",".join(part for part in _SPLIT.split(text) if part)


def _either(options: Options, name: str, former: str) -> str:
    """A setting with a former name; may contain variables."""
    return options.open_text(name) or options.open_text(former)


def _consumer(options: Options, found: dict[str, object], start: str) -> None:
    consumer = options.below(_CONSUMER)
    found["group"] = _either(options, f"{_CONSUMER}group.id", "groupId") or _GROUP
    found["start"] = "earliest" if options.text(f"{_CONSUMER}auto.offset.reset", start) == "earliest" else "latest"
    security = _security(options, str(found["brokers"]))
    if security:
        found["security"] = security
    kept = {name: options.open_text(_CONSUMER + name) for name in consumer if name in _CLIENT_OPTIONS}
    if kept:
        found["options"] = kept
    rest = [name for name in consumer if name not in _CLIENT_OPTIONS and name not in _READ_ALREADY]
    if rest:
        options.warn("kafka.consumer." + rest[0], f"not passed on to the Kafka client: {', '.join(sorted(rest))}")


def _security(options: Options, brokers: str) -> dict[str, object]:
    name = "kafka.consumer.security.protocol"
    protocol = options.text(name, "PLAINTEXT").upper()
    security: dict[str, object] = {}
    if protocol.endswith("SSL"):
        security["tls"] = {}
        options.warn(name, "TLS uses the system's certificates; Java's trust and key stores are not read",
                     "name PEM files under `security: {tls: {ca_file: …, key_file: …}}`")  # fmt: skip
    elif options.variables.has_any(brokers) or not all(
        is_this_machine(broker.rpartition(":")[0]) for broker in brokers.split(",") if ":" in broker
    ):
        security["insecure"] = True
        options.warn("kafka.bootstrap.servers", "events are not encrypted on the network, as in Flume",
                     "use TLS: `security: {tls: {}}`")  # fmt: skip
    if protocol.startswith("SASL"):
        security["sasl"] = _sasl(options)
    return security


def _sasl(options: Options) -> dict[str, object]:
    written = options.text("kafka.consumer.sasl.mechanism", "GSSAPI")
    mechanism = _MECHANISMS.get(written.upper())
    if mechanism is None:
        options.error(Kind.NOT_ONE_OF, "kafka.consumer.sasl.mechanism", f'the mechanism "{written}" is not imported')
        return {}
    if mechanism == "gssapi":
        options.warn(
            "kafka.consumer.sasl.mechanism", "set KAFKA_PRINCIPAL and KAFKA_KEYTAB, or write their values into the file"
        )
        found: dict[str, object] = {
            "mechanism": mechanism,
            "principal": _login(options, "principal") or Verbatim("${KAFKA_PRINCIPAL:flume}"),
            "keytab": _login(options, "keyTab") or Verbatim("${KAFKA_KEYTAB:/etc/flume.keytab}"),
        }
        service = options.open_text("kafka.consumer.sasl.kerberos.service.name")
        if service:
            found["service_name"] = service
        return found
    options.warn(
        "kafka.consumer.sasl.mechanism", "the password is not copied: set KAFKA_PASSWORD, or use `${secret:…}`"
    )
    return {
        "mechanism": mechanism,
        "username": _login(options, "username") or Verbatim("${KAFKA_USER:flume}"),
        "password": Verbatim("${KAFKA_PASSWORD:}"),
    }


def _login(options: Options, name: str) -> str:
    """A part of the client's credentials in the JAAS configuration."""
    login = "kafka.consumer.sasl.jaas.config"
    match = re.search(rf'\b{name}\s*=\s*"([^"]*)"', options.raw(login))
    return options.variables.opened(match[1], options.at(login)) if match else ""


def header_decorators(options: Options) -> list[Component]:
    """Decorators that set exactly the headers that Flume's source set."""
    place = options.original.place(options.at("type"))
    mapping = {name: options.text(f"header.{name}") for name in options.below("header.")}
    topic = options.text("topicHeader", "topic") if options.is_true("setTopicHeader", default=True) else ""
    own = {
        "timestamp": "timestamp",
        **({topic: "topic"} if topic else {}),
        "partition": "partition",
        "offset": "offset",
    }
    is_raw = not options.is_true("useFlumeEventFormat", default=False)
    remarks = ["the headers that Flume's Kafka source set, and those that it was configured to map"]
    decorators: list[Component] = []
    moved = {header: name for name, header in mapping.items() if header not in CORE_FIELDS}
    if is_raw:
        decorators.append(Component("select", {"attributes": [*moved, *own, "key"]}, remarks, place))
    renamed = {header: name for header, name in moved.items() if header != name}
    if renamed:
        decorators.append(Component("rename", {"attributes": renamed}, (), place))
    for name, header in mapping.items():
        if header in CORE_FIELDS:
            decorators.append(Component("value", {"attribute": name, "value": f"%{{{header}}}"}, (), place))
    for name, part in own.items():
        made: dict[str, object] = {"attribute": name, "value": f"%{{{part}}}"}
        if name in mapping or not is_raw:
            made["when"] = absent(name)
        decorators.append(Component("value", made, (), place))
    decorators.append(Component("value", {"attribute": "key", "value": "%{key}", "when": "%{key} != ''"}, (), place))
    return decorators


def absent(name: str) -> str:
    """The condition that an attribute is absent."""
    doubled = name.replace("'", "''")
    return f"not exists('{doubled}')"
