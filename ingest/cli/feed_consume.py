"""`attr2hbase feed consume`: copy the changes of a table to stdout or a topic, as a worker of a consumer group."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.cli import completion
from ingest.cli.command import BytesOption, FileOption, TableArgument
from ingest.cli.dump import note_unpinned
from ingest.cli.output import Output, OutputClosedError

if TYPE_CHECKING:
    from ingest.api import IngestError
    from ingest.config.model import Configuration
    from ingest.kafka.settings import KafkaConnection
    from ingest.plan.open_feeds import OpenFeed
    from sinks.feed.consuming import Consumed
    from sinks.feed.envelope import DebeziumEnvelope, OwnEnvelope
    from sinks.feed.gaps import GapPolicy
    from sinks.feed.outputs import ChangeOutput

_TOPIC = "kafka:"


class EnvelopeName(StrEnum):
    """The form of the messages."""

    OWN = "own"
    DEBEZIUM = "debezium"


class StartName(StrEnum):
    """Where a new group begins."""

    OLDEST = "oldest"
    LATEST = "latest"


class TrimmedPolicy(StrEnum):
    """What a worker does if changes have expired before the group has read them."""

    FAIL = "fail"
    SKIP = "skip"
    RESTART = "restart-from-dump"


def consume(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileOption,
    table: TableArgument,
    *,
    group: Annotated[str, typer.Option(metavar="NAME", help="Consumer group; a new one is created.")],
    to: Annotated[str, typer.Option(metavar="DEST", help="stdout, or kafka:TOPIC.")] = "stdout",
    pipeline: Annotated[
        str | None,
        typer.Option(
            "--pipeline",
            metavar="NAME",
            help="The topic is in the cluster that this pipeline reads.",
            autocompletion=completion.pipelines,
        ),
    ] = None,
    envelope: Annotated[EnvelopeName, typer.Option(help="Form of the messages.")] = EnvelopeName.OWN,
    schemas: Annotated[
        bool,
        typer.Option(
            "--schemas",
            help="With --envelope debezium: each message as {schema, payload} of Kafka Connect's JsonConverter, as the "
            "transformations of Debezium need it.",
        ),
    ] = False,
    start: Annotated[StartName, typer.Option(help="Where a new group begins.")] = StartName.OLDEST,
    on_trimmed: Annotated[
        TrimmedPolicy,
        typer.Option(help="If changes have expired unread: fail, skip them, or write the rows of a dump first."),
    ] = TrimmedPolicy.FAIL,
    dump: Annotated[
        str | None,
        typer.Option(metavar="ROOT", help="For restart-from-dump: root of the dumps; the newest one is used."),
    ] = None,
    worker: Annotated[
        str | None, typer.Option(metavar="NAME", help="Unique in the group; by default made of host and process.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=5_000, metavar="N", help="Changes between checkpoints.")] = 1_000,
    heartbeat: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Heartbeats of shards without changes, in the own envelope; by default as the file says.",
        ),
    ] = None,
    once: Annotated[
        bool,
        typer.Option(
            "--once",
            help="End once all complete micro-batches are copied. Shards of a worker that was killed are taken "
            "over after 20 seconds; shards of other workers are left to them.",
        ),
    ] = False,
    raw: BytesOption = False,
) -> None:
    """
    Copy the changes of a table to standard output or a topic, as one worker of a consumer group.

    Start several workers, which divide the shards among them. At least once: a checkpoint follows each page, and after
    a crash another worker repeats the pages without one. The changes of a row stay in order. Ends with exit code 3 if
    changes have expired unread, unless --on-trimmed says otherwise; or if the lease of a shard is missing, after the
    shards that do not follow it.

    Example: attr2hbase feed consume orders --group search --to kafka:orders-changes --envelope debezium
    Example: attr2hbase feed consume orders --group copy --once > changes.jsonl
    """
    from ingest.cli.loading import loaded, set_up_logs
    from ingest.durable import private_files
    from ingest.formats.column_types import AS_BYTES
    from ingest.plan.open_feeds import open_feed
    from ingest.service.lifecycle import Stop
    from sinks.feed.consuming import FeedConsumer
    from sinks.feed.errors import ParentUnknownError
    from sinks.feed.group import GroupMember, GroupOptions

    configuration, catalog = loaded(out, file, shows_records=True)
    set_up_logs(configuration, is_watched=out.is_live)
    heartbeat_s = _heartbeat(configuration, table, heartbeat, envelope)
    options = GroupOptions(group, worker or _worker(), start.value, limit, heartbeat_s=heartbeat_s)
    types = AS_BYTES if raw else configuration.column_types(table)
    form = _form(envelope, has_schemas=schemas)(table, types=types)
    stop = Stop(reloads=False)
    lost: ParentUnknownError | None = None
    with (
        private_files(),
        open_feed(configuration, catalog, table) as feed,
        _gap_policy(out, on_trimmed, dump, feed, table) as policy,
        _opened(out, configuration, to, table, pipeline) as output,
        out.progress("changes") as advance,
        stop.on_signals(),
    ):
        consumer = FeedConsumer(
            GroupMember(feed.client, feed.leases, replace(options, gap_policy=policy)),
            output,
            form,
            stop.requested.wait,
            _Progress(out, advance),
            _Retries(out),
        )
        try:
            consumer.run(once=once)
        except ParentUnknownError as error:
            lost = error
        except OutputClosedError:
            copied = counted(consumer.consumed.changes, "change")
            out.note(f"the reader of standard output has ended; {copied} copied", "red")
            raise typer.Exit(1) from None
    consumed = consumer.consumed
    out.done(f"{counted(consumed.changes, 'change')} copied")
    if consumed.lost:
        out.note(f"{counted(consumed.lost, 'page')} without a checkpoint, since the lease was lost", "yellow")
    if once and consumed.shards_elsewhere:
        elsewhere = counted(consumed.shards_elsewhere, "shard")
        out.note(f"other workers of the group read {elsewhere}; 'attr2hbase admin feed groups' shows how far", "yellow")
    if lost is not None:
        raise lost
    if stop.exit_code:
        raise typer.Exit(stop.exit_code)


def _form(envelope: EnvelopeName, *, has_schemas: bool) -> "type[DebeziumEnvelope | OwnEnvelope]":
    from ingest.api import ConfigError
    from sinks.feed.connect_schema import DebeziumSchemaEnvelope
    from sinks.feed.envelope import DebeziumEnvelope, OwnEnvelope

    if envelope is EnvelopeName.DEBEZIUM:
        return DebeziumSchemaEnvelope if has_schemas else DebeziumEnvelope
    if has_schemas:
        raise ConfigError("the own envelope has no schemas", hint="add --envelope debezium, or leave --schemas out")
    return OwnEnvelope


class _Retries:
    """Shows why a server is called again, once for each reason."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._last = ""

    def __call__(self, error: "IngestError") -> None:
        if str(error) != self._last:
            self._last = str(error)
            self._out.note(self._last, "yellow")


class _Progress:
    """Shows the number of copied changes, and each gap once."""

    def __init__(self, out: Output, advance: Callable[[int], None]) -> None:
        self._out = out
        self._advance = advance
        self._gaps = 0

    def __call__(self, consumed: "Consumed") -> None:
        from ingest.formats.times import moment

        self._advance(consumed.changes)
        for shard, gap in consumed.gaps[self._gaps :]:
            interval = f"batch times from {moment(gap.from_ms)} to {moment(gap.until_ms)}"
            self._out.note(f"shard {shard}: changes of {interval} have expired", "yellow")
        self._gaps = len(consumed.gaps)


@contextmanager
def _gap_policy(
    out: Output, wanted: TrimmedPolicy, root: str | None, feed: "OpenFeed", table: str
) -> "Iterator[GapPolicy | None]":
    """What is done about changes that have expired; a dump is pinned meanwhile."""
    from ingest.api import ConfigError
    from sinks.feed.gaps import SkipGaps

    if (wanted is TrimmedPolicy.RESTART) != (root is not None):
        if root is None:
            raise ConfigError("--on-trimmed restart-from-dump needs a dump", hint="add --dump ROOT")
        raise ConfigError(
            "--dump has no effect without --on-trimmed restart-from-dump", hint="add that option, or leave --dump out"
        )
    if root is None:
        yield SkipGaps() if wanted is TrimmedPolicy.SKIP else None
        return
    from sinks.bootstrap.restart import restart_from_dump

    with restart_from_dump(root, feed.store, table, on_unpinned=note_unpinned(out)) as policy:
        yield policy


@contextmanager
def _opened(
    out: Output, configuration: "Configuration", destination: str, table: str, pipeline: str | None
) -> "Iterator[ChangeOutput]":
    """The destination of the changes."""
    from ingest.api import ConfigError
    from ingest.kafka.admin import KafkaAdmin
    from sinks.feed.outputs import KafkaOutput, LineOutput

    topic = destination.removeprefix(_TOPIC)
    if destination == "stdout":
        output: ChangeOutput = LineOutput(out.raw, out.flush)
    elif destination.startswith(_TOPIC) and topic:
        connection = _connection(configuration, table, pipeline)
        with KafkaAdmin(connection) as admin:
            if admin.ensure_topic(topic):
                out.note(f'topic "{topic}" created')
        output = KafkaOutput(connection, topic)
    else:
        raise ConfigError(f'"{destination}" is no destination', hint="write stdout, or kafka:TOPIC")
    try:
        yield output
    finally:
        output.close()


def _connection(configuration: "Configuration", table: str, pipeline: str | None) -> "KafkaConnection":
    """The cluster of a pipeline: the named one, else one that writes the table, else the only one that reads Kafka."""
    from ingest.api import ConfigError
    from ingest.cli.loading import pipeline_of
    from ingest.kafka.settings import connection_of

    chosen = configuration.pipelines.values() if pipeline is None else [pipeline_of(configuration, pipeline)]
    clusters = {each.name: connection_of(each.source.settings) for each in chosen}
    writers = {each.name for each in chosen if any(sink.settings.table_text == table for sink in each.sinks)}
    found = {name: cluster for name, cluster in clusters.items() if cluster is not None}
    wanted = {name: cluster for name, cluster in found.items() if name in writers} or found
    brokers = {cluster.brokers for cluster in wanted.values()}
    if len(brokers) != 1:
        raise ConfigError(
            "the cluster of the topic is not known: "
            + ("no pipeline reads Kafka" if not brokers else "the pipelines read several clusters"),
            hint="choose a pipeline that reads the cluster with --pipeline NAME",
        )
    return next(iter(wanted.values()))


def _heartbeat(configuration: "Configuration", table: str, text: str | None, envelope: EnvelopeName) -> float:
    """Seconds between the heartbeats of a quiet shard: of the option, else of the table; 0 for none."""
    from ingest.api import ConfigError
    from ingest.formats.durations import seconds
    from sinks.feed.feature import Feed

    if text is None:
        declared = Feed.options_of(configuration.tables[table]) if table in configuration.tables else None
        return 0.0 if declared is None else declared.heartbeat
    if envelope is not EnvelopeName.OWN:
        raise ConfigError("the envelope of Debezium has no heartbeats", hint="leave --heartbeat out")
    return seconds("--heartbeat", text)


def _worker() -> str:
    """A name that no other worker has; a process id is used again."""
    import os
    import secrets
    import socket

    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
