"""Events that a command runs through a pipeline: from JSON lines, a raw log, the source's files or its topics."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from io import BufferedReader

    from ingest.api import Record
    from ingest.config.model import Pipeline
    from ingest.config.test_cases import Given

LinesOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="A raw log, plain or gzip, one event per line; - is stdin.")
]


def given_by(pipeline: "Pipeline", events: str | None, lines: str | None) -> "Iterable[Given] | None":
    """
    The events of `--events` or `--lines`; None without both.

    Raises:
        ConfigError: both were given, or a line of the events is not an event.
        NotFoundError: there is no such file.
    """
    from ingest.api import ConfigError
    from ingest.cli.lines import lines_of, shown
    from ingest.dry_run import InputLines

    if events is not None and lines is not None:
        raise ConfigError("--events and --lines were both given", hint="choose one of them")
    if lines is not None:
        return _raw(lines, pipeline)
    return None if events is None else InputLines(lines_of(events), shown(events))


def of_source_files(pipeline: "Pipeline", count: int) -> "Iterator[Given]":
    """Events of the first `count` lines of the source's files; none for a source without files."""
    from ingest.dry_run.raw_lines import first_records

    source = pipeline.source.settings
    if source.line_files is None:
        return iter(())
    return first_records(source.line_files, count, source.decoding)


def newest_of_topics(pipeline: "Pipeline", count: int) -> "list[Record]":
    """
    The newest records of the source's topics, at most `count`.

    Raises:
        ConfigError: the source is not Kafka.
        NotFoundError: there is no such topic.
        SourceUnavailableError: the cluster does not answer.
    """
    from ingest.api import ConfigError
    from ingest.kafka.admin import KafkaAdmin
    from ingest.kafka.tail import TopicTail
    from ingest.sources.kafka import KafkaSourceSettings, required_topics_of

    source = pipeline.source.settings
    if not isinstance(source, KafkaSourceSettings):
        raise ConfigError(
            f'the source of pipeline "{pipeline.name}" is {pipeline.source.kind}, which has no topics',
            hint="give a raw log with --lines, or JSON lines with --events",
        )
    topics = source.topics_by_name
    if source.topics_pattern is not None:
        with KafkaAdmin(source) as admin:
            topics = tuple(required_topics_of(source, admin))
    return list(TopicTail(source).newest(topics, count))


def _raw(lines: str, pipeline: "Pipeline") -> "Iterable[Given]":
    from ingest.cli.lines import shown
    from ingest.clock import now_ms
    from ingest.dry_run.raw_lines import records_of_file, records_of_stream

    decoding = pipeline.source.settings.decoding
    if lines == "-":
        # a stream has no time of its own, and times without a year need one near
        return records_of_stream(cast("BufferedReader", sys.stdin.buffer), shown(lines), decoding, now_ms())
    return records_of_file(Path(lines), decoding)
