"""`ingest replay`: run the records of a time range through a pipeline again."""

import contextlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingest.amounts import counted, counts_of
from ingest.cli import completion
from ingest.cli.by_service import OwnProcessOption, requested
from ingest.cli.command import FileArgument, PipelineOption
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.config.model import Configuration
    from ingest.service.endpoint.client import ServiceClient
    from ingest.service.jobs.client import FollowedJob
    from ingest.service.replay.range_replay import RangePlan, RangeReplay
    from ingest.service.replay.request import ReplayRequest
    from ingest.service.replay.state import ReplayTotals

_MEANINGS = {
    "whole": "whole logged batches, at their own times; in tables with deferred updates at new ones",
    "rest": "what the topics have left of rolled-back batches, at new times",
    "part": "parts of logged batches, one ms before their times",
    "unlogged": "records in no logged batch",
}
_MAY_HIDE = (
    "warning: the range leaves out records of later micro-batches; if they wrote a cell at the same event time "
    "(`timestamp: event`), the replay hides their value"
)
_NO_RECORDS = "no record of the pipeline's topics has a timestamp in this range (times without a zone are UTC)"
_NOTHING_REPLAYED = "nothing was replayed: the topics have no record in this range (times without a zone are UTC)"
_SHOWN = 20  # batches that a dry run lists


def replay(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    *,
    from_: Annotated[
        str, typer.Option("--from", metavar="TIME", help="Timestamp of the first records, as in 2026-01-31T12:00:00Z.")
    ],
    to: Annotated[str, typer.Option(metavar="TIME", help="Records before this timestamp.")],
    pipeline: PipelineOption = None,
    rate: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum average of records per second.")] = None,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="Cell timestamp for records that are in no logged batch.")
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Write records that are in no logged batch at the present time."),
    ] = False,
    sink: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only into this sink, by its label or kind; may be repeated.",
            autocompletion=completion.sinks,
        ),
    ] = None,
    own_process: OwnProcessOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would run; write nothing.")] = False,
) -> None:
    """
    Run the records of a time range through the pipeline again, in the micro-batches in which they were written.

    A whole micro-batch writes the same cells with the same timestamps: missing cells are restored, and no newer value
    is hidden. A part of one is written one millisecond earlier. Records that are in no logged micro-batch need
    `timestamp: event` in all sinks, --at or --overwrite. Run the same command again to resume an interrupted replay.

    With `timestamp: event` a replay hides values that later micro-batches outside of the range wrote at the same event
    time; a warning says if there are such micro-batches.

    With --sink a table that was dropped is refilled alone. A record that fails has a dead letter of this sink then. A
    table with deferred updates needs all of the sinks that write it, and no others. Resume with the same sinks.

    Refused with a sink `archive`, which would add the rows again. Dead letters can be replayed into one.

    If the service runs, it runs the replay beside its pipelines; interrupting the command (Ctrl-C) cancels it.

    Example: ingest replay pipeline.yaml --from 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z --dry-run
    """
    from ingest.cli.loading import loaded, note_missing_state, pipeline_of, set_up_logs, with_pipeline
    from ingest.durable import private_files
    from ingest.service.replay.range_replay import RangeReplay
    from ingest.service.replay.request import ReplayRequest
    from ingest.service.replay.state import ReplayTotals

    configuration, catalog = loaded(out, file)
    set_up_logs(configuration, is_watched=True)
    chosen = pipeline_of(configuration, pipeline)
    options = {"from": from_, "to": to, "at": at, "overwrite": overwrite, "rate": rate}
    more = {"fingerprint": chosen.fingerprint, "sinks": tuple(sink) if sink else None}
    request = ReplayRequest.model_validate(options | more)
    note_missing_state(out, configuration)
    run = RangeReplay(configuration, chosen, catalog, request)
    if dry_run:
        _show_plan(out, run, run.plan())
        return
    notes = _notes(run)
    by_service = None if own_process else _by_service(out, configuration, chosen.name, request)
    if by_service is None or by_service.has_waited:
        for note in notes:
            out.note(note, "yellow")
    with private_files(), out.progress("micro-batches") as advance:
        if by_service is None:
            totals = run.run(on_progress=lambda so_far, planned: advance(so_far.batches, planned))
        else:
            found = by_service.follow(lambda _totals, done, total: advance(done, total or None), out.state)
            totals = ReplayTotals.from_json(found)
    _show_totals(out, totals)
    command = "dead-letters list" if totals.dead_lettered else "offsets show"
    out.next(f"ingest {command} {with_pipeline(file, configuration, chosen.name)}")


def _by_service(
    out: Output, configuration: "Configuration", pipeline: str, request: "ReplayRequest"
) -> "FollowedJob | None":
    from ingest.api import ConflictError

    def send(client: "ServiceClient") -> dict[str, Any]:
        try:
            return client.replay(pipeline, request.to_json())
        except ConflictError as error:
            if error.code == "no_jobs":
                error.hint = "--own-process runs it beside the service, unless a store is RocksDB"
            raise

    resumes = "finished micro-batches are not run again; run the same command again"
    return requested(out, configuration, send, does="runs the replay", resumes=resumes)


def _notes(run: "RangeReplay") -> list[str]:
    """What may be unexpected; nothing if the plan cannot be made here, which `run` would report."""
    from ingest.api import IngestError

    with contextlib.suppress(IngestError):  # the service may have the permissions that this process lacks
        interrupted = run.interrupted_plan()
        notes = [] if interrupted is None else _notes_of_interrupted(run, interrupted)
        if run.has_event_time and run.may_hide_values(interrupted or run.plan()):
            notes.append(_MAY_HIDE)
        return notes
    return []


def _notes_of_interrupted(run: "RangeReplay", plan: "RangePlan") -> list[str]:
    finished = counted(plan.totals.batches, "micro-batch", "micro-batches")
    notes = [f"an interrupted replay resumes after {finished}"]
    if plan.has_changed and plan.totals.batches:
        notes.append(
            f"warning: the pipeline has changed since this replay began; {finished} keep the results of the earlier "
            f'version. To run all of them again, remove "{run.plan_file}" and run the command again'
        )
    return notes


def _note_left_out(out: Output, totals: "ReplayTotals") -> None:
    if totals.not_durable:
        left_out = counted(totals.not_durable, "offset")
        out.note(
            f"left out: {left_out} of this range, which the pipeline had not stored when the replay began", "yellow"
        )


def _note_gone(out: Output, totals: "ReplayTotals") -> None:
    if totals.gone:
        gone = counted(totals.gone, "offset")
        out.note(
            f"warning: {gone} of rolled-back micro-batches are left out, because the topics had deleted them when the "
            "replay began; dead letters that have the bytes of such records can be replayed after it",
            "yellow",
        )


def _show_plan(out: Output, run: "RangeReplay", plan: "RangePlan") -> None:
    from ingest.formats.times import moment
    from ingest.service.replay.plan import BatchKind

    kinds = {kind: plan.of_kind(kind) for kind in BatchKind}
    may_hide_values = run.may_hide_values(plan)
    is_refused = bool(kinds[BatchKind.UNLOGGED]) and not run.is_any_allowed
    if out.is_json:
        counts = {
            kind.value: {"batches": len(batches), "offsets": sum(batch.offsets for batch in batches)}
            for kind, batches in kinds.items()
        }
        about = {
            "resumes": plan.resumes,
            "finished": plan.totals.batches,
            "has_changed": plan.has_changed,
            "is_refused": is_refused,
            "may_hide_values": may_hide_values,
            "not_durable": plan.totals.not_durable,
            "gone": plan.totals.gone,
        }
        out.json(about | counts)
        return
    _note_left_out(out, plan.totals)
    _note_gone(out, plan.totals)
    if not plan.batches and not plan.resumes:
        if not plan.totals.not_durable:
            out.note(_NO_RECORDS, "yellow")
        return
    rows = [
        (_MEANINGS[kind.value], f"{len(batches):,}", f"{sum(batch.offsets for batch in batches):,}")
        for kind, batches in kinds.items()
    ]
    out.table(("kind", "#batches", "#offsets"), rows)
    edges = [batch for batch in plan.batches if batch.kind is not BatchKind.WHOLE][:_SHOWN]
    for batch in edges:
        for (topic, partition), (begin, end) in batch.ranges.items():
            out.line(f"{batch.kind.value}: {moment(batch.time_ms)} {topic}/{partition} {begin:,} to {end - 1:,}")
    for note in _notes_of_interrupted(run, plan) if plan.resumes else ():
        out.note(note, "yellow")
    if is_refused:
        out.note(
            "records in no logged batch are refused without `timestamp: event` in all sinks, --at or --overwrite",
            "yellow",
        )
    if may_hide_values:
        out.note(_MAY_HIDE, "yellow")
    out.done(f"{counted(len(plan.batches), 'micro-batch', 'micro-batches')}, {counted(plan.offsets, 'offset')}")


def _show_totals(out: Output, totals: "ReplayTotals") -> None:
    if out.is_json:
        out.json(
            {
                "batches": totals.batches,
                "records": totals.records,
                "read": totals.read,
                "stored": totals.stored,
                "dropped": dict(totals.dropped),
                "dead_lettered": dict(totals.dead_lettered),
                "cells": totals.cells,
                "has_changed": totals.has_changed,
                "not_durable": totals.not_durable,
                "gone": totals.gone,
            }
        )
        return
    _note_left_out(out, totals)
    _note_gone(out, totals)
    if not totals.records:
        if not totals.not_durable:
            out.note(_NOTHING_REPLAYED, "yellow")
        return
    dropped, dead_lettered = totals.dropped.total(), totals.dead_lettered.total()
    numbers = (totals.batches, totals.read, totals.stored, dropped, dead_lettered, totals.cells)
    out.table(
        ("#batches", "#read", "#stored", "#dropped", "#dead-lettered", "#cells"),
        [tuple(f"{number:,}" for number in numbers)],
    )
    if totals.has_changed:
        out.note(
            "warning: the pipeline was changed while this replay ran or was interrupted; the micro-batches that were "
            "finished before keep the results of the earlier version",
            "yellow",
        )
    for what, counts in (("dropped", totals.dropped), ("dead-lettered", totals.dead_lettered)):
        if counts:
            out.line(f"{what}: {counts_of(counts)}")
