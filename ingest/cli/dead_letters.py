"""`ingest dead-letters`: list, replay and delete dead letters."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.cli.command import FileArgument, PipelineOption
from ingest.cli.confirmation import confirm_deletion
from ingest.cli.output import Output, counts_of

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.catalog import Catalog
    from ingest.config.model import Configuration, Pipeline
    from ingest.dead_letters.envelope import DeadLetter
    from ingest.dead_letters.queue import DeadLetterQueue, Entry
    from ingest.dead_letters.replay import Selection

CodesOption = Annotated[
    list[str] | None, typer.Option("--code", metavar="CODE", help="Only dead letters with this error; may be repeated.")
]
SinceOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only dead letters of micro-batches from this time on.")
]
UntilOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only dead letters of micro-batches before this time.")
]
_SKIPPED = {
    "ran_again": "their records ran again in later micro-batches; they are marked as replayed",
    "rolled_back": "their micro-batches were rolled back; 'ingest replay' runs these as a whole",
}
AllOption = Annotated[bool, typer.Option("--all", help="Include those that a replay has stored or dropped.")]


def list_(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    *,
    pipeline: PipelineOption = None,
    code: CodesOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    replayed: AllOption = False,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum number of dead letters.")] = None,
) -> None:
    """
    List the dead letters, oldest micro-batch first.

    Example: ingest dead-letters list pipeline.yaml --code no_match --since 2026-01-31
    """
    selection = _selection((), code, since, until, has_replayed=replayed)
    seen: Counter[str] = Counter()
    with _queue(out, file, pipeline, shows_records=True) as (configuration, _, queue):
        selected = filter(selection.matches, _counting(queue.entries(), seen))
        entries = list(itertools.islice(selected, limit))
        has_more = limit is not None and next(selected, None) is not None
    if seen and not entries:
        # an empty list would look as if no event had failed
        existing = f"{counted(seen.total(), 'dead letter')} ({counts_of(seen)})"
        advice = "" if replayed else "; --all also lists those that were replayed"
        out.note(f"none of {existing} is selected{advice}", "yellow")
        return
    if out.is_json:
        for entry in entries:
            out.json(_plain(entry))
        return
    if not entries:
        out.done("no dead letters")
        return
    header = ["position", "batch", "component", "error", "event", "message"]
    header += ["replay"] if any(entry.mark for entry in entries) else []
    out.table(header, [_row(entry)[: len(header)] for entry in entries])
    out.done(counted(len(entries), "dead letter") + (" shown; more exist" if has_more else ""))
    target = _target(file, configuration, pipeline)
    out.next(f"ingest dead-letters show {target} {entries[0].position}", f"ingest dead-letters replay {target}")


def show(
    out: Output,
    file: FileArgument,
    position: Annotated[str, typer.Argument(metavar="POSITION", help="As `ingest dead-letters list` shows it.")],
    *,
    pipeline: PipelineOption = None,
) -> None:
    """
    Show one dead letter in full; its JSON is an input of "explain --events".

    Example: ingest dead-letters show pipeline.yaml 000001308748686-0000000003:0
    """
    from ingest.formats.times import moment
    from ingest.reference.readable import readable

    with _queue(out, file, pipeline, shows_records=True) as (configuration, _, queue):
        entry = queue.read(position)
    dead_letter = entry.dead_letter
    if out.is_json:
        out.json(_explainable(dead_letter))
        return
    record = dead_letter.record
    facts = [
        ("id", dead_letter.id),
        ("pipeline", dead_letter.pipeline),
        ("component", dead_letter.component),
        ("error", f"{dead_letter.code}: {dead_letter.message}"),
        ("batch", moment(dead_letter.batch_time_ms)),
        ("record", f"{record.topic}, partition {record.partition}, offset {record.offset}"),
        ("events", "" if dead_letter.events == 1 else f"{dead_letter.events:,} failed alike; this is the first"),
        ("time", moment(record.timestamp_ms)),
        ("key", "" if record.key is None else readable(record.key)),
        *((f"header {name}", "" if value is None else readable(value)) for name, value in record.headers),
        ("value", "null" if record.value is None else readable(record.value)),
        *((f"attribute {name}", readable(value)) for name, value in dead_letter.attributes.items()),
        ("replay", _replayed(entry)),
    ]
    if dead_letter.pointer is not None:
        facts.append(("full dead letter", dead_letter.pointer))
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        if value:
            out.parts((f"{name:<{width}}  ", "cyan"), (value, ""))
    target = _target(file, configuration, pipeline)
    out.next(
        f"ingest dead-letters show {target} {position} --output json | ingest explain {target} --events -",
        f"ingest dead-letters replay {target} {position}",
    )


def replay(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    positions: Annotated[
        list[str] | None, typer.Argument(metavar="[POSITION]...", help="Only these; default: all selected ones.")
    ] = None,
    *,
    pipeline: PipelineOption = None,
    code: CodesOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    replayed: AllOption = False,
    recount: Annotated[
        bool,
        typer.Option(
            "--recount",
            help="Also replay dead letters into deferred updates if the batch log no longer has their micro-batch; if "
            "that ran again, their events are counted twice.",
        ),
    ] = False,
) -> None:
    """
    Run dead letters again, through the pipeline as it is configured now.

    The dead letter of a sink is replayed into that sink alone, that of a decorator or the source into all sinks.

    The timestamp of the cells is one millisecond before the micro-batch in which they failed, so a newer value is
    never hidden. Exit code 1 when some fail again.

    Dead letters into deferred updates are skipped if their record has run again in a later micro-batch, or if their
    micro-batch was rolled back: 'ingest replay' runs it as a whole.

    Example: ingest dead-letters replay pipeline.yaml --code no_match
    """
    from ingest.cli.run import set_up_logs
    from ingest.clock import now_ms
    from ingest.dead_letters.replay import replay as run_again
    from ingest.dead_letters.replay import require
    from ingest.durable import private_files
    from ingest.service.dead_letter_replay import DeadLetterReplay

    selection = _selection(positions or (), code, since, until, has_replayed=replayed)
    with _queue(out, file, pipeline, shows_records=False) as (configuration, catalog, queue):
        set_up_logs(configuration, is_watched=True)
        require(queue, selection.ids)
        with (
            private_files(),
            DeadLetterReplay(configuration, _chosen(configuration, pipeline), catalog, recount=recount) as replayer,
            out.progress("dead letters") as advance,
        ):
            replayer.settle(queue)
            report = run_again(
                queue,
                selection,
                replayer,
                components=replayer.components,
                now_ms=now_ms,
                skip_reason=replayer.skip_reason,
                on_progress=_Sum(advance),
                on_marked=replayer.marked,
            )
    if out.is_json:
        out.json(
            {
                "selected": report.selected,
                "replayed": report.replayed,
                "failed_again": dict(report.failed_again),
                "dropped": dict(report.dropped),
                "skipped": dict(report.skipped),
                "cut": report.cut,
                "renamed": dict(report.renamed),
            }
        )
    else:
        failed = report.failed_again.total()
        out.table(
            ("#selected", "#replayed", "#failed again", "#skipped", "#not on this machine"),
            [
                tuple(
                    f"{number:,}"
                    for number in (report.selected, report.replayed, failed, report.skipped.total(), len(report.cut))
                )
            ],
        )
        for reason, number in report.skipped.items():
            out.note(f"skipped: {counted(number, 'dead letter')}, because {_SKIPPED[reason.value]}", "yellow")
        if failed:
            out.note(f"failed again: {counts_of(report.failed_again)}", "yellow")
        if report.dropped:
            out.note(f"dropped by the pipeline: {counts_of(report.dropped)}", "yellow")
        if report.renamed:
            out.note(
                f"replayed into all sinks, because no component has the name: {counts_of(report.renamed)}", "yellow"
            )
    out.next(f"ingest dead-letters list {_target(file, configuration, pipeline)}")
    if report.failed_again or report.cut:
        raise typer.Exit(1)


def purge(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    *,
    pipeline: PipelineOption = None,
    code: CodesOption = None,
    replayed: Annotated[
        bool, typer.Option("--replayed", help="Only those that a replay has stored or dropped.")
    ] = False,
    before: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only dead letters of micro-batches before this time.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count them and delete nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
) -> None:
    """
    Permanently delete dead letters that were replayed, or that are older than a time.

    Only for dead letters in files: those in a Kafka topic expire by its retention.

    Example: ingest dead-letters purge pipeline.yaml --replayed --before 2026-01-31
    """
    from ingest.api import ConfigError
    from ingest.dead_letters.queue import ReplayOutcome

    if not replayed and before is None:
        raise ConfigError("no dead letters are selected", hint="give --replayed, --before TIME, or both")
    selection = _selection((), code, None, before, has_replayed=True)
    with _queue(out, file, pipeline, shows_records=False) as (_, _, queue):
        selected = [
            entry.position
            for entry in queue.entries()
            if selection.matches(entry)
            and (not replayed or (entry.mark is not None and entry.mark.outcome is ReplayOutcome.REPLAYED))
        ]
        if not dry_run and selected:
            if not yes:
                confirm_deletion(f"permanently delete {counted(len(selected), 'dead letter')}?")
            queue.remove(selected)
    if out.is_json:
        out.json({"selected": len(selected), "deleted": 0 if dry_run else len(selected)})
    else:
        verb = "would be deleted" if dry_run else "deleted"
        out.done(f"{counted(len(selected), 'dead letter')} {verb}")


def _counting(entries: "Iterable[Entry]", codes: Counter[str]) -> "Iterator[Entry]":
    """The same entries; counts their codes as they pass."""
    for entry in entries:
        codes[entry.dead_letter.code] += 1
        yield entry


class _Sum:
    """Adds up counts of dead letters for a progress bar, which shows the total."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance = advance
        self._done = 0

    def __call__(self, dead_letters: int) -> None:
        self._done += dead_letters
        self._advance(self._done)


@contextmanager
def _queue(
    out: Output, file: str, name: str | None, *, shows_records: bool
) -> "Iterator[tuple[Configuration, Catalog, DeadLetterQueue]]":
    from ingest.cli.loading import loaded
    from ingest.config.options import DeadLetterTopic
    from ingest.service.dead_letters import dead_letter_queue

    configuration, catalog = loaded(out, file, shows_records=shows_records)
    chosen = _chosen(configuration, name)
    if not isinstance(chosen.dead_letters.settings, DeadLetterTopic) and configuration.state_url is None:
        _note_missing_state(out, configuration.local_dir)
    queue = dead_letter_queue(configuration, chosen)
    try:
        yield configuration, catalog, queue
    finally:
        queue.close()


def _note_missing_state(out: Output, state_dir: "Path") -> None:
    """Report a state folder that does not exist, which looks like a pipeline without dead letters."""
    if not state_dir.exists():
        advice = "" if state_dir.is_absolute() else "; relative paths start at the current folder"
        out.note(f'no state at "{state_dir.absolute()}"{advice}', "yellow")


def _target(file: str, configuration: "Configuration", pipeline: str | None) -> str:
    from ingest.cli.loading import with_pipeline

    return with_pipeline(file, configuration, _chosen(configuration, pipeline).name)


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
    from ingest.dead_letters.replay import Selection
    from ingest.formats.times import moment_of

    return Selection(
        ids=frozenset(positions),
        codes=frozenset(codes or ()),
        since_ms=None if since is None else moment_of(since),
        until_ms=None if until is None else moment_of(until),
        has_replayed=has_replayed,
    )


def _row(entry: "Entry") -> tuple[str, ...]:
    from ingest.formats.times import moment

    dead_letter = entry.dead_letter
    event = f"{dead_letter.record.topic}/{dead_letter.record.partition}/{dead_letter.record.offset}"
    if dead_letter.events > 1:
        event += f" ({dead_letter.events:,} events)"
    return (
        entry.position,
        moment(dead_letter.batch_time_ms),
        dead_letter.component,
        dead_letter.code,
        event,
        dead_letter.message,
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
    envelope: dict[str, object] = orjson.loads(entry.dead_letter.to_json())
    return {"position": entry.position, "replay": about} | envelope


def _explainable(dead_letter: "DeadLetter") -> dict[str, object]:
    """The record as an input of `explain`."""
    import orjson

    return {"record": orjson.loads(dead_letter.to_json())["record"]}
