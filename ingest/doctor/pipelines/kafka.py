"""Checks of what a pipeline reads from Kafka: rights, retention, the size of records, versions, the clock."""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from ingest.amounts import counted, size
from ingest.api import SourceError, SourceUnavailableError, TopicPartition
from ingest.clock import MAX_AHEAD_MS, now_ms
from ingest.doctor.examination import Finding, Found, Severity, Skipped
from ingest.doctor.pipelines import network
from ingest.doctor.pipelines.guide import docs_of
from ingest.doctor.versions import dotted, rated
from ingest.formats.times import moment
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.errors import AccessDeniedError
from ingest.kafka.offsets import GroupOffsets
from ingest.kafka.retention import HALF, NEARLY, Backlog, backlogs
from ingest.kafka.settings import KafkaConnection
from ingest.kafka.stored import TopicSettings
from ingest.kafka.tail import TopicTail
from ingest.sources.kafka import KafkaSourceSettings, topics_of

DECOMPRESSED_OVERHEAD_BYTES = 64 << 10
"""Key, headers and lengths of a record beside its value."""
_MAX_DECOMPRESSED = "max.decompressed.message.bytes"
_WHY_DECOMPRESSED = "a record that is small in the log and larger than its memory ends Spark's JVM once"
_MAX_APART_MS = 60_000  # NTP keeps clocks within a second
BATCH_OVERHEAD_BYTES = 68
"""Part of max.message.bytes, which limits a batch: 61 for a batch, and at least 7 for its only record."""


def versions(connection: KafkaConnection, *, subject: str) -> Found:
    """The version of the brokers."""
    with KafkaAdmin(connection) as admin:
        found = admin.version()
    rating = rated("kafka_version", "kafka", found.number, subject=subject, docs=docs_of("kafka_version"))
    return rating if found.agreed is None else replace(rating, text=f"{rating.text}, {_agreed(found.agreed)}")


def _agreed(version: tuple[int, ...]) -> str:
    return f"the cluster uses the features of {dotted(version)} until 'kafka-features.sh upgrade'"


def login(connection: KafkaConnection) -> Found:
    """Whether the cluster accepts the user."""
    with KafkaAdmin(connection) as admin:
        return Found(f"cluster {admin.cluster_id()}")


def clock(connection: KafkaConnection, *, subject: str) -> Found | Skipped:
    """Whether the clock of this machine agrees with that of the cluster."""
    with KafkaAdmin(connection) as admin:
        cluster_ms = admin.clock_ms()
    return rated_clock(now_ms(), cluster_ms, subject=subject)


def rated_clock(here_ms: int, cluster_ms: int | None, *, subject: str) -> Found | Skipped:
    """The clock of this machine, compared with that of the cluster; None if the cluster does not report it."""
    if cluster_ms is None:
        return Skipped("the cluster does not report its clock")
    ahead_ms = here_ms - cluster_ms
    if abs(ahead_ms) <= _MAX_APART_MS:
        return Found(f"within {_MAX_APART_MS // 1000} s of this machine's")
    is_refused = ahead_ms > MAX_AHEAD_MS
    finding = Finding(
        "clock",
        Severity.ERROR if is_refused else Severity.WARNING,
        f"the clock of this machine, {moment(here_ms)}, is {abs(ahead_ms) / 1000:,.0f} s "
        f"{'ahead of' if ahead_ms > 0 else 'behind'} the cluster's, {moment(cluster_ms)}",
        subject,
        {"ahead_s": ahead_ms / 1000},
        hint="correct the clock that is wrong, for example with NTP",
        why="a start is refused, since the times of micro-batches never go back"
        if is_refused
        else "micro-batches get their times from the clock of this machine, and these never go back",
        docs=docs_of("clock"),
    )
    return Found(findings=(finding,))


def listeners(connection: KafkaConnection, *, subject: str) -> Found:
    """Whether the addresses that the cluster advertises can be reached; clients use only these after the first call."""
    with KafkaAdmin(connection) as admin:
        addresses = admin.brokers()
    found = network.ports(addresses, subject=subject)
    problems = tuple(
        Finding(
            "listeners",
            Severity.ERROR,
            finding.message,
            subject,
            finding.numbers,
            property="advertised.listeners",
            hint="of the broker; it must be an address that this machine can reach",
            why="partitions that this broker leads cannot be read",
            docs=docs_of("listeners"),
        )
        for finding in found.findings
    )
    return Found(found.text, problems)


def rights(connection: KafkaConnection, topics: Sequence[str], operation: str, *, subject: str) -> Found | Skipped:
    """Whether the user may perform an operation, such as READ, on topics."""
    with KafkaAdmin(connection) as admin:
        allowed = admin.topic_operations(topics)
    return rated_rights(allowed, operation, subject=subject)


def rated_rights(allowed: Mapping[str, frozenset[str]], operation: str, *, subject: str) -> Found | Skipped:
    """The same for the operations that are allowed on each topic."""
    if not allowed:
        return Skipped("the cluster does not report rights")
    findings = tuple(
        Finding(
            "topic_rights",
            Severity.ERROR,
            f'no right to {operation} topic "{topic}"',
            subject,
            {"topic": topic, "allowed": ", ".join(sorted(operations))},
            hint=f"'kafka-acls.sh --add --allow-principal User:… --operation {operation.title()} --topic {topic}'",
            why="the pipeline is blocked until the right is granted",
            docs=docs_of("topic_rights"),
        )
        for topic, operations in allowed.items()
        if operation not in operations
    )
    return Found(f"may {operation} {counted(len(allowed), 'topic')}", findings)


def readable(connection: KafkaConnection, topic: str, *, subject: str) -> Found:
    """Whether the newest dead letter can be read: the right, the codec of the topic, a record batch that is intact."""
    try:
        with closing(TopicTail(connection).newest([topic], 1)) as records:
            count = len(list(records))
    except SourceUnavailableError:
        raise
    except SourceError as error:
        finding = Finding(
            "readable",
            Severity.WARNING,
            error.message,
            subject,
            {"topic": topic},
            hint=error.hint or "",
            why="dead letters cannot be listed, shown or replayed; the pipeline runs",
            docs=docs_of("readable"),
        )
        return Found(findings=(finding,))
    return Found("the newest one" if count else "there is none")


def group(settings: KafkaSourceSettings, name: str, *, subject: str) -> Found | Skipped:
    """Whether the user may read and commit offsets of the consumer group."""
    with closing(GroupOffsets(settings, name)) as offsets:
        operations = offsets.operations()
    if operations is None:
        return Skipped(f'the cluster does not report rights on group "{name}"')
    if "READ" in operations:
        return Found(f'may READ group "{name}"')
    finding = Finding(
        "group",
        Severity.ERROR,
        f'no right to READ group "{name}"',
        subject,
        {"group": name, "allowed": ", ".join(sorted(operations))},
        hint=f"'kafka-acls.sh --add --allow-principal User:… --operation Read --group {name}'",
        why="acknowledged offsets cannot be committed, so tools show no lag",
        docs=docs_of("group"),
    )
    return Found(findings=(finding,))


def retention(settings: KafkaSourceSettings, name: str, *, subject: str) -> Found | Skipped:
    """Whether the topics delete records before the pipeline has read them; the position is that of the group."""
    with KafkaAdmin(settings) as admin, closing(GroupOffsets(settings, name)) as offsets:
        topics = topics_of(settings, admin)
        committed = offsets.committed(topics)
        if not committed:
            return Skipped(f'group "{name}" has no offsets yet')
        findings: list[Finding] = []
        lag = 0
        for topic in topics:
            try:
                limits = admin.settings(topic)
            except AccessDeniedError as error:
                return Skipped(error.message)
            found = backlogs(admin, topic, limits, committed, time.time() * 1000)
            lag += sum(backlog.end - backlog.position for backlog in found.values())
            findings += rated_retention(topic, limits, found, subject=subject)
    return Found(f"{lag:,} unread records", tuple(findings))


def rated_retention(
    topic: str, limits: TopicSettings, found: Mapping[TopicPartition, Backlog], *, subject: str
) -> list[Finding]:
    """The partitions of a topic that have deleted unread records, or will soon; one finding for each severity."""
    lost = {part for part, each in found.items() if each.position < each.earliest}
    nearly = {part for part, each in found.items() if each.used >= NEARLY} - lost
    half = {part for part, each in found.items() if each.used >= HALF} - nearly - lost
    findings = []
    for severity, partitions, what in (
        (Severity.CRITICAL, lost, "unread records are deleted"),
        (Severity.ERROR, nearly, f"unread records have used {NEARLY:.0%} of the retention"),
        (Severity.WARNING, half, f"unread records have used {HALF:.0%} of the retention"),
    ):
        if not partitions:
            continue
        is_by_size = all(found[part].is_by_size for part in partitions)
        limit = limits.retention_bytes if is_by_size else limits.retention_ms
        records = sum(
            (found[part].earliest if severity is Severity.CRITICAL else found[part].end) - found[part].position
            for part in partitions
        )
        names = ", ".join(str(number) for _, number in sorted(partitions))
        numbers: dict[str, float | str] = {"topic": topic, "partitions": len(partitions), "records": records}
        findings.append(
            Finding(
                "retention",
                severity,
                f'{what}: topic "{topic}", partitions {names}, {records:,} records',
                subject,
                numbers | {"retention_ms": limits.retention_ms},
                property="retention.bytes" if is_by_size else "retention.ms",
                value=str(2 * limit) if limit > 0 else "-1",
                hint=f"'kafka-configs.sh --alter --entity-type topics --entity-name {topic} --add-config …'",
                why="a pipeline stops when records that it has not read are deleted",
                docs=docs_of("retention"),
            )
        )
    return findings


def record_size(settings: KafkaSourceSettings, *, subject: str) -> Found | Skipped:
    """Whether topics accept records that the source refuses."""
    limits = _limits_of(settings)
    if isinstance(limits, Skipped):
        return limits
    sizes = {topic: limit.max_message_bytes for topic, limit in limits.items()}
    return rated_sizes(sizes, settings.max_event_bytes, subject=subject)


def rated_sizes(topics: Mapping[str, int], max_event_bytes: int, *, subject: str) -> Found:
    """max.message.bytes of topics, compared with `max_event_bytes`."""
    findings = tuple(
        Finding(
            "record_size",
            Severity.WARNING,
            f'topic "{topic}" accepts records of {size(limit)}, max_event_bytes is {size(max_event_bytes)}',
            subject,
            {"topic": topic, "max_message_bytes": limit, "max_event_bytes": max_event_bytes},
            property="max_event_bytes",
            value=f"{limit}B",
            why="larger records become dead letters",
            docs=docs_of("record_size"),
        )
        for topic, limit in topics.items()
        if limit - BATCH_OVERHEAD_BYTES > max_event_bytes
    )
    return Found(f"records of at most {size(max_event_bytes)}", findings)


def decompressed_size(settings: KafkaSourceSettings, *, subject: str) -> Found | Skipped:
    """Whether topics accept records that are small in the log and larger than an event may be."""
    limits = _limits_of(settings)
    if isinstance(limits, Skipped):
        return limits
    sizes = {topic: limit.max_decompressed_bytes for topic, limit in limits.items()}
    return rated_decompressed_sizes(sizes, settings.max_event_bytes, subject=subject)


def _limits_of(settings: KafkaSourceSettings) -> dict[str, TopicSettings] | Skipped:
    """The settings of the topics of a source, if the user may read them."""
    with KafkaAdmin(settings) as admin:
        try:
            return {topic: admin.settings(topic) for topic in topics_of(settings, admin)}
        except AccessDeniedError as error:
            return Skipped(error.message)


def rated_decompressed_sizes(topics: Mapping[str, int | None], max_event_bytes: int, *, subject: str) -> Found:
    """max.decompressed.message.bytes of topics, compared with `max_event_bytes`."""
    if topics and all(limit is None for limit in topics.values()):
        finding = Finding(
            "decompressed_size",
            Severity.INFO,
            "the brokers do not limit the size of a record when it is decompressed",
            subject,
            {"topics": len(topics)},
            property=_MAX_DECOMPRESSED,
            hint="brokers 4.2.2 and 4.4 know this setting; with others only producers that you trust should write",
            why=_WHY_DECOMPRESSED,
            docs=docs_of("decompressed_size"),
        )
        return Found(findings=(finding,))
    most = max_event_bytes + DECOMPRESSED_OVERHEAD_BYTES
    findings = tuple(
        Finding(
            "decompressed_size",
            Severity.WARNING,
            f'topic "{topic}" accepts records of {size(limit)} when they are decompressed, '
            f"max_event_bytes is {size(max_event_bytes)}",
            subject,
            {"topic": topic, "max_decompressed_message_bytes": limit, "max_event_bytes": max_event_bytes},
            property=_MAX_DECOMPRESSED,
            value=str(most),
            hint=f"'kafka-configs.sh --alter --entity-type topics --entity-name {topic} --add-config …'; records that "
            "are there must not be larger",
            why=_WHY_DECOMPRESSED,
            docs=docs_of("decompressed_size"),
        )
        for topic, limit in topics.items()
        if limit is not None and limit > most
    )
    return Found(f"records of at most {size(most)} when they are decompressed", findings)


def read_topics(settings: KafkaSourceSettings) -> list[str]:
    """The topics of a source, by name or by pattern."""
    with KafkaAdmin(settings) as admin:
        return topics_of(settings, admin)
