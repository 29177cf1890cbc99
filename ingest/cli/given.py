"""Events that a command runs through a pipeline: from JSON lines, a raw log, the source's files or its topics."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from ingest.config.model import Configuration, Pipeline
    from ingest.config.test_cases import Given

_FIRST_LINES = 10  # of the source's files

LinesOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="A raw log, plain or gzip, one event per line; - is stdin.")
]
TopicOption = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="The newest N records of the source's topics; no consumer group reads or commits."
    ),
]
AtOption = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="With --topic: the first N records from this time on, as in 2026-01-31T12:00Z."),
]


def given_by(
    pipeline: "Pipeline",
    events: str | None = None,
    lines: str | None = None,
    topic: int | None = None,
    at: str | None = None,
    *,
    content: bytes | None = None,
) -> "Iterable[Given] | None":
    """
    The events of `--events`, `--lines` or `--topic`; None without all of them.

    Args:
        pipeline: that reads them.
        events: a file, or `-`.
        lines: a file, or `-`.
        topic: number of records.
        at: time of the first record.
        content: of the file of `events` or `lines`, if `repeatable` has read it; else it is read while the events are
            iterated.

    Raises:
        ConfigError: several were given, `--at` without `--topic`, a line of the events is not an event, or the source
            is not Kafka.
        NotFoundError: there is no such file or topic.
        SourceUnavailableError: the cluster does not answer.
    """
    from ingest.api import ConfigError
    from ingest.cli.lines import lines_of, shown
    from ingest.dry_run import InputLines

    options = {"--events": events, "--lines": lines, "--topic": topic}
    given = [name for name, value in options.items() if value is not None]
    if len(given) > 1:
        raise ConfigError(f"{' and '.join(given)} were both given", hint="choose one of them")
    if at is not None and topic is None:
        raise ConfigError("--at needs --topic", hint="add --topic N, the number of records from this time on")
    if topic is not None:
        return _of_topics(pipeline, topic, at)
    if lines is not None:
        return _raw(lines, pipeline, content)
    if events is None:
        return None
    read = lines_of(events) if content is None else (line.rstrip(b"\r\n") for line in BytesIO(content))
    return InputLines(read, shown(events))


def _of_topics(pipeline: "Pipeline", count: int, at: str | None) -> "Iterable[Given]":
    from ingest.dry_run import given_of_record
    from ingest.dry_run.source_records import first_of_topics, newest_of_topics
    from ingest.formats.times import moment_of

    if at is None:
        return map(given_of_record, newest_of_topics(pipeline, count))
    return map(given_of_record, first_of_topics(pipeline, moment_of(at), count))


def own_events(configuration: "Configuration", pipeline: "Pipeline") -> "tuple[list[Given], str]":
    """
    The events of the pipeline's tests, or else the first lines of its source's files; none if it has neither.

    And what they are, in words.
    """
    from ingest.dry_run.inputs import given_of

    tests = [event for case in configuration.tests if case.pipeline == pipeline.name for event in case.given]
    if tests:
        return [given_of(*each) for each in enumerate(tests)], "the events of its tests"
    return list(of_source_files(pipeline, _FIRST_LINES)), "the first lines of the files of its source"


def of_source_files(pipeline: "Pipeline", count: int) -> "Iterator[Given]":
    """Events of the first `count` lines of the source's files; none for a source without files."""
    from ingest.dry_run.raw_lines import first_records

    source = pipeline.source.settings
    if source.line_files is None:
        return iter(())
    return first_records(source.line_files, count, source.decoding)


def repeatable(file: str | None) -> bytes | None:
    """
    All of stdin or of a pipe, for a command that gives it to several pipelines; None for what can be read again.

    Raises:
        NotFoundError: there is no such file.
    """
    from ingest.cli.lines import content_of

    return content_of(file) if file is not None and (file == "-" or Path(file).is_fifo()) else None


def refuse_stdin_twice(inputs: Mapping[str, str | None]) -> None:
    """
    Refuse a command that would read stdin for several things, of which the second has nothing.

    Args:
        inputs: name of an option or argument -> the file; `-` is stdin.

    Raises:
        ConfigError: two of them are stdin.
    """
    from ingest.api import ConfigError

    twice = [name for name, file in inputs.items() if file == "-"]
    if len(twice) > 1:
        raise ConfigError(f"stdin cannot be {' and '.join(twice)} at once", hint="give all but one of them as a file")


def _raw(lines: str, pipeline: "Pipeline", content: bytes | None) -> "Iterable[Given]":
    from ingest.cli.lines import shown
    from ingest.clock import now_ms
    from ingest.dry_run.raw_lines import records_of_file, records_of_stream

    decoding = pipeline.source.settings.decoding
    if lines == "-" or content is not None:
        # a stream has no time of its own, and times without a year need one near
        stream = sys.stdin.buffer if content is None else BufferedReader(BytesIO(content))
        return records_of_stream(cast("BufferedReader", stream), shown(lines), decoding, now_ms())
    return records_of_file(Path(lines), decoding)
