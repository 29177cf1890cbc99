"""`ingest produce`: sample events into the topic of a pipeline."""

import itertools
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.command import FileArgument, PipelineOption
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.api import Record
    from ingest.config.cases import Given
    from ingest.config.model import Pipeline
    from ingest.sources.kafka import KafkaSource

_FLUSH_RECORDS = 10_000  # memory of what is not acknowledged yet stays bounded
_FLUSH_S = 0.2  # with a rate, what was sent is in the topic after so long


def produce(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    *,
    pipeline: PipelineOption = None,
    events: Annotated[
        str | None, typer.Option(metavar="FILE", help="Events, a JSON object a line as for explain; - is stdin.")
    ] = None,
    lines: Annotated[str | None, typer.Option(metavar="FILE", help="Bodies, one a line; - is stdin.")] = None,
    topic: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which topic; may be left out when the pipeline reads one.")
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="So many events; the file begins again when it is short.")
    ] = None,
    rate: Annotated[int | None, typer.Option(min=1, metavar="N", help="At most so many events a second.")] = None,
) -> None:
    """
    Put sample events into the topic a pipeline reads; the topic is made when it is missing.

    Example: ingest produce pipeline.yaml --events events.jsonl --count 1000 --rate 100
    """
    from ingest.api import ConfigError
    from ingest.cli.loading import loaded, pipeline_of
    from ingest.kafka.admin import KafkaAdmin
    from ingest.kafka.producer import KafkaProducer

    if (events is None) == (lines is None):
        raise ConfigError("produce needs one of --events FILE and --lines FILE")
    configuration, _ = loaded(file)
    source, target = _target(pipeline_of(configuration, pipeline), topic)
    records = list(_records(events, lines, source.format))
    if not records:
        raise ConfigError(f'"{events or lines}" holds no events')
    with KafkaAdmin(source) as admin:
        if target not in admin.topics_matching(".*"):
            admin.create_topic(target)
            out.note(f'topic "{target}" made')
    producer = KafkaProducer(source)
    started = flushed = time.monotonic()
    sent = 0
    try:
        with out.progress("events", count or len(records)) as advance:
            for record in itertools.islice(itertools.cycle(records), count or len(records)):
                if rate is not None:
                    time.sleep(max(0.0, started + sent / rate - time.monotonic()))
                # a time of 0 stands for "when it is sent"
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
    if out.is_json:
        out.json({"topic": target, "events": sent, "seconds": round(seconds, 3)})
        return
    out.line(f'{sent:,} events in topic "{target}" ({seconds:.1f} s)')
    out.next(f"ingest run --once {file}")


def _target(pipeline: "Pipeline", topic: str | None) -> "tuple[KafkaSource, str]":
    """The cluster and topic to write to."""
    from ingest.api import ConfigError
    from ingest.sources.kafka import KafkaSource

    source = pipeline.source.settings
    if not isinstance(source, KafkaSource):
        raise ConfigError(f'pipeline "{pipeline.name}" reads no topic', hint="its source is not Kafka")
    topics = source.topics or []
    if topic is None and len(topics) != 1:
        raise ConfigError(f'pipeline "{pipeline.name}" reads several topics', hint="choose one with --topic NAME")
    return source, topic or topics[0]


def _records(events: str | None, lines: str | None, form: str) -> "Iterator[Record]":
    from ingest.api import Record
    from ingest.cli.lines import lines_of, shown
    from ingest.trial import inputs_of

    if lines is not None:
        for line in lines_of(lines):
            yield Record("", 0, 0, None, line, 0)
    elif events is not None:
        for number, given in enumerate(inputs_of(lines_of(events), shown(events))):
            yield produced(number, given, form)


def produced(number: int, given: "Given", form: str) -> "Record":
    """
    The record that the source makes this event of.

    Args:
        number: of the input, from 0.
        given: the input.
        form: how the source takes values to hold events.

    Raises:
        ConfigError: there is none in this format.
    """
    from ingest.api import ConfigError, Event, Record
    from ingest.api.notation import name_to_bytes
    from ingest.trial.inputs import event_of, record_of

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
                f"events can not be written as {form}", hint='give whole records instead: {"record": {"value": …}}'
            )
    headers = list(event.attributes.items())
    core = {"host": given.host, "priority": given.priority, "nanos": given.nanos}
    headers += [(name, name_to_bytes(str(core[name]))) for name in core if name in given.model_fields_set]
    return Record("", 0, 0, event.key or None, value, event.timestamp_ms, tuple(headers))


def _envelope(body: bytes) -> bytes:
    import orjson

    from ingest.api.notation import to_notation

    return orjson.dumps({"body": to_notation(body)})
