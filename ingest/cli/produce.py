"""`attr2hbase produce`: sample events into the topic of a pipeline."""

import itertools
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.cli.command import FileOption, PipelineOption
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.api import Record
    from ingest.config.model import Pipeline
    from ingest.config.test_cases import Given
    from ingest.kafka.settings import KafkaConnection

_FLUSH_RECORDS = 10_000  # bounds the memory of unacknowledged records
_FLUSH_S = 0.2  # with a rate, records are flushed at least this often


def produce(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileOption,
    *,
    pipeline: PipelineOption = None,
    events: Annotated[
        str | None, typer.Option(metavar="FILE", help="Events, one JSON object per line as for explain; - is stdin.")
    ] = None,
    lines: Annotated[str | None, typer.Option(metavar="FILE", help="Bodies, one per line; - is stdin.")] = None,
    topic: Annotated[
        str | None, typer.Option(metavar="NAME", help="Topic; optional if the pipeline reads one.")
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of events; the file is repeated if it is shorter.")
    ] = None,
    rate: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum number of events per second.")] = None,
) -> None:
    """
    Produce sample events to the topic a pipeline reads; the topic is created if missing.

    Example: attr2hbase produce --events events.jsonl --count 1000 --rate 100
    """
    from ingest.api import ConfigError
    from ingest.cli.loading import loaded, pipeline_of, to_run
    from ingest.kafka.admin import KafkaAdmin
    from ingest.kafka.producer import KafkaProducer

    if (events is None) == (lines is None):
        raise ConfigError("produce needs one of --events FILE and --lines FILE")
    configuration, _ = loaded(out, file)
    chosen = pipeline_of(configuration, pipeline)
    source, target = _target(chosen, topic)
    records = list(_records(events, lines, chosen.source.settings.decoding.format))
    if not records:
        raise ConfigError(f'"{events or lines}" has no events')
    with KafkaAdmin(source) as admin:
        if admin.ensure_topic(target):
            out.note(f'topic "{target}" created')
    producer = KafkaProducer(source)
    started = flushed = time.monotonic()
    sent = 0
    try:
        with out.progress("events", count or len(records)) as advance:
            for record in itertools.islice(itertools.cycle(records), count or len(records)):
                if rate is not None:
                    time.sleep(max(0.0, started + sent / rate - time.monotonic()))
                # 0: the broker client sets the time of sending
                producer.send(target, record.key, record.value, record.headers, None, record.timestamp_ms or None)
                sent += 1
                if sent % _FLUSH_RECORDS == 0 or (rate is not None and time.monotonic() - flushed > _FLUSH_S):
                    producer.flush()
                    flushed = time.monotonic()
                    advance(sent)
            producer.flush()
    finally:
        producer.close()
    seconds = time.monotonic() - started
    out.plain({"topic": target, "events": sent, "seconds": round(seconds, 3)})
    out.line(f'{counted(sent, "event")} in topic "{target}" ({seconds:.1f} s)')
    out.next(to_run(file, configuration, "status"))


def _target(pipeline: "Pipeline", topic: str | None) -> "tuple[KafkaConnection, str]":
    """The cluster and topic to write to."""
    from ingest.api import ConfigError
    from ingest.kafka.settings import connection_of

    source = connection_of(pipeline.source.settings)
    if source is None:
        raise ConfigError(f'pipeline "{pipeline.name}" reads no topic', hint="its source is not Kafka")
    topics = pipeline.source.settings.topics_by_name
    if topic is None and len(topics) != 1:
        raise ConfigError(f'pipeline "{pipeline.name}" reads several topics', hint="choose one with --topic NAME")
    return source, topic or topics[0]


def _records(events: str | None, lines: str | None, form: str) -> "Iterator[Record]":
    from ingest.api import Record
    from ingest.cli.lines import lines_of, shown
    from ingest.dry_run import InputLines

    if lines is not None:
        for line in lines_of(lines):
            yield Record("", 0, 0, None, line, 0)
    elif events is not None:
        for number, given in enumerate(InputLines(lines_of(events), shown(events))):
            yield produced(number, given, form)


def produced(number: int, given: "Given", form: str) -> "Record":
    """
    The record that the source decodes into this event.

    Args:
        number: of the input, from 0.
        given: the input.
        form: format of the source's values.

    Raises:
        ConfigError: no record of this format gives the event.
    """
    from ingest.api import ConfigError, Event, Record
    from ingest.api.notation import name_to_bytes
    from ingest.dry_run.inputs import event_of, record_of

    if given.record is not None:
        return record_of(number, given.record)
    event = event_of(number, given, Event)
    match form:
        case "raw":
            value = event.body
        case "json":
            value = _envelope(event.body)
        case _:
            raise ConfigError(
                f"events cannot be written as {form}", hint='give records instead: {"record": {"value": …}}'
            )
    headers = list(event.attributes.items())
    core = {"host": given.host, "priority": given.priority, "nanos": given.nanos}
    headers += [(name, name_to_bytes(str(core[name]))) for name in core if name in given.model_fields_set]
    return Record("", 0, 0, event.key or None, value, event.timestamp_ms, tuple(headers))


def _envelope(body: bytes) -> bytes:
    import orjson

    from ingest.api.notation import to_notation

    return orjson.dumps({"body": to_notation(body)})
