"""`ingest dead-letters`: the events that could not pass, and another try."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.command import FileArgument, PipelineOption
from ingest.cli.output import Output, counted, counts_of

if TYPE_CHECKING:
    from ingest.catalog import Catalog
    from ingest.config.model import Configuration, Pipeline
    from ingest.dead_letters.envelope import DeadLetter
    from ingest.dead_letters.queue import DeadLetterQueue, Entry
    from ingest.dead_letters.replay import Selection

CodesOption = Annotated[
    list[str] | None, typer.Option("--code", metavar="CODE", help="Only letters with this error; may be repeated.")
]
SinceOption = Annotated[str | None, typer.Option(metavar="TIME", help="Only letters of batches from this time on.")]
UntilOption = Annotated[str | None, typer.Option(metavar="TIME", help="Only letters of batches before this time.")]
AllOption = Annotated[bool, typer.Option("--all", help="Also letters that a replay brought through.")]


def list_(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    *,
    pipeline: PipelineOption = None,
    code: CodesOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    replayed: AllOption = False,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="At most so many letters.")] = None,
) -> None:
    """
    List the events that could not pass, the oldest batch first.

    Example: ingest dead-letters list pipeline.yaml --code no_match --since 2026-01-31
    """
    selection = _selection((), code, since, until, has_replayed=replayed)
    seen: Counter[str] = Counter()
    with _queue(file, pipeline) as (_, _, queue):
        every = _counting(queue.entries(), seen)
        entries = list(itertools.islice(filter(selection.holds, every), limit))
    if seen and not entries:
        # an empty answer would look as if all were well
        there = f"{counted(seen.total(), 'dead letter')} ({counts_of(seen)})"
        advice = "" if replayed else "; --all also lists those that were replayed"
        out.note(f"none is selected of {there}{advice}", "yellow")
        return
    if out.is_json:
        for entry in entries:
            out.json(_plain(entry))
        return
    if not entries:
        out.done("no dead letters")
        return
    header = ["position", "batch", "component", "error", "event", "what was wrong"]
    header += ["replay"] if any(entry.mark for entry in entries) else []
    out.table(header, [_row(entry)[: len(header)] for entry in entries])
    out.done(counted(len(entries), "dead letter"))
    out.next(f"ingest dead-letters show {file} {entries[0].position}", f"ingest dead-letters replay {file}")


def show(
    out: Output,
    file: FileArgument,
    position: Annotated[str, typer.Argument(metavar="POSITION", help="As `ingest dead-letters list` shows it.")],
    *,
    pipeline: PipelineOption = None,
) -> None:
    """
    Show one dead letter whole; as JSON it is what "explain --events" reads.

    Example: ingest dead-letters show pipeline.yaml 000001308748686-0000000003:0
    """
    from ingest.cli.readable import moment, readable

    with _queue(file, pipeline) as (_, _, queue):
        entry = queue.read(position)
    letter = entry.letter
    if out.is_json:
        out.json(_explainable(letter))
        return
    record = letter.record
    facts = [
        ("id", letter.id),
        ("pipeline", letter.pipeline),
        ("component", letter.component),
        ("error", f"{letter.code}: {letter.message}"),
        ("batch", moment(letter.batch_time_ms)),
        ("record", f"{record.topic}, partition {record.partition}, offset {record.offset}"),
        ("events", "" if letter.events == 1 else f"{letter.events:,} of the record failed so, this one first"),
        ("time", moment(record.timestamp_ms)),
        ("key", "" if record.key is None else readable(record.key)),
        *((f"header {name}", "" if value is None else readable(value)) for name, value in record.headers),
        ("value", "null" if record.value is None else readable(record.value)),
        *((f"attribute {name}", readable(value)) for name, value in letter.attributes.items()),
        ("replay", _replayed(entry)),
    ]
    if letter.pointer is not None:
        facts.append(("whole letter", letter.pointer))
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        if value:
            out.parts((f"{name:<{width}}  ", "cyan"), (value, ""))
    out.next(
        f"ingest dead-letters show {file} {position} --output json | ingest explain {file} --events -",
        f"ingest dead-letters replay {file} {position}",
    )


def replay(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    positions: Annotated[
        list[str] | None, typer.Argument(metavar="[POSITION]...", help="Only these; left out: all that are selected.")
    ] = None,
    *,
    pipeline: PipelineOption = None,
    code: CodesOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    replayed: AllOption = False,
) -> None:
    """
    Run dead letters again, through the pipeline as the file describes it now.

    A letter of a sink is run into that sink alone, a letter of a decorator or of the source into all sinks.

    Their cells get the time just before the batch they failed in, one millisecond earlier, so a newer value is never
    hidden. Exit code 1 when some fail again.

    Example: ingest dead-letters replay pipeline.yaml --code no_match
    """
    from ingest.clock import now_ms
    from ingest.dead_letters.replay import replay as run_again
    from ingest.dead_letters.replay import require
    from ingest.service.replay import Replayer

    selection = _selection(positions or (), code, since, until, has_replayed=replayed)
    with _queue(file, pipeline) as (configuration, catalog, queue):
        require(queue, selection.ids)
        with (
            Replayer(configuration, _chosen(configuration, pipeline), catalog) as replayer,
            out.progress("dead letters") as advance,
        ):
            report = run_again(
                queue,
                selection,
                replayer,
                components=replayer.components,
                now_ms=now_ms,
                on_progress=_Sum(advance),
            )
    if out.is_json:
        out.json(
            {
                "selected": report.selected,
                "replayed": report.replayed,
                "failed_again": dict(report.failed_again),
                "dropped": dict(report.dropped),
                "cut": report.cut,
                "renamed": dict(report.renamed),
            }
        )
    else:
        failed = report.failed_again.total()
        out.table(
            ("#selected", "#replayed", "#failed again", "#not on this machine"),
            [tuple(f"{number:,}" for number in (report.selected, report.replayed, failed, len(report.cut)))],
        )
        if failed:
            out.note(f"failed again: {counts_of(report.failed_again)}", "yellow")
        if report.dropped:
            out.note(f"dropped by the pipeline: {counts_of(report.dropped)}", "yellow")
        if report.renamed:
            out.note(f"run into all sinks, as no component has the name: {counts_of(report.renamed)}", "yellow")
    out.next(f"ingest dead-letters list {file}")
    if report.failed_again or report.cut:
        raise typer.Exit(1)


def _counting(entries: "Iterable[Entry]", codes: Counter[str]) -> "Iterator[Entry]":
    """The same entries; their codes are counted on the way."""
    for entry in entries:
        codes[entry.letter.code] += 1
        yield entry


class _Sum:
    """Tells how many letters are done when told how many more are."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance = advance
        self._done = 0

    def __call__(self, letters: int) -> None:
        self._done += letters
        self._advance(self._done)


@contextmanager
def _queue(file: str, name: str | None) -> "Iterator[tuple[Configuration, Catalog, DeadLetterQueue]]":
    from ingest.cli.loading import loaded
    from ingest.service.dead_letters import dead_letter_queue

    configuration, catalog = loaded(file)
    queue = dead_letter_queue(configuration, _chosen(configuration, name))
    try:
        yield configuration, catalog, queue
    finally:
        queue.close()


def _chosen(configuration: "Configuration", name: str | None) -> "Pipeline":
    from ingest.cli.loading import pipeline_of

    return pipeline_of(configuration, name)


def _selection(
    positions: "tuple[str, ...] | list[str]",
    codes: list[str] | None,
    since: str | None,
    until: str | None,
    *,
    has_replayed: bool,
) -> "Selection":
    from ingest.cli.readable import moment_of
    from ingest.dead_letters.replay import Selection

    return Selection(
        ids=frozenset(positions),
        codes=frozenset(codes or ()),
        since_ms=None if since is None else moment_of(since),
        until_ms=None if until is None else moment_of(until),
        has_replayed=has_replayed,
    )


def _row(entry: "Entry") -> tuple[str, ...]:
    from ingest.cli.readable import moment

    letter = entry.letter
    event = f"{letter.record.topic}/{letter.record.partition}/{letter.record.offset}"
    if letter.events > 1:
        event += f" ({letter.events:,} events)"
    return (
        entry.position,
        moment(letter.batch_time_ms),
        letter.component,
        letter.code,
        event,
        letter.message,
        _replayed(entry),
    )


def _replayed(entry: "Entry") -> str:
    if entry.mark is None:
        return ""
    words = entry.mark.outcome.value.replace("_", " ")
    return f"{words} ({entry.mark.code})" if entry.mark.code else words


def _plain(entry: "Entry") -> dict[str, object]:
    import orjson

    mark = entry.mark
    about = None if mark is None else {"outcome": mark.outcome.value, "at_ms": mark.at_ms, "code": mark.code}
    letter: dict[str, object] = orjson.loads(entry.letter.to_json())
    return {"position": entry.position, "replay": about} | letter


def _explainable(letter: "DeadLetter") -> dict[str, object]:
    """The record as an input of `explain`."""
    import orjson

    return {"record": orjson.loads(letter.to_json())["record"]}
