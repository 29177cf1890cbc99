"""`ingest offsets`: show and reset the offsets of a pipeline."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.cli.command import FileArgument, PipelineOption
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.service.offsets import PartitionOffsets, PipelineOffsets
    from ingest.service.offsets_reset import Reset

_HEADER = ("topic", "#partition", "#acknowledged", "#group", "#log start", "#log end", "#lag")


def show(out: Output, file: FileArgument, *, pipeline: PipelineOption = None) -> None:
    """
    Show the offsets of a pipeline: acknowledged in the checkpoint, committed to the consumer group, and in the topics.

    The checkpoint decides where the pipeline resumes; the group is a copy of it. The lag is the number of offsets
    between the acknowledged one and the end of the log. The service may run.

    Example: ingest offsets show pipeline.yaml --pipeline ticks
    """
    from ingest.cli.loading import loaded, note_missing_state, pipeline_of
    from ingest.service.offsets import offsets_of

    configuration, _ = loaded(out, file)
    chosen = pipeline_of(configuration, pipeline)
    note_missing_state(out, configuration)
    offsets = offsets_of(configuration, chosen)
    if out.is_json:
        out.json(_plain(chosen.name, offsets))
        return
    _show_facts(out, chosen.name, offsets)
    out.table(_HEADER, [_row(each) for each in offsets.partitions])
    lost = [each for each in offsets.partitions if each.lost]
    for each in lost:
        gone = counted(each.lost, "offset")
        out.note(f"{each.topic}/{each.partition}: {gone} were deleted before they were acknowledged", "red")
    deleted = sorted({each.topic for each in offsets.partitions if each.log_end is None})
    for topic in deleted:
        out.note(f'topic "{topic}" has no such partitions any more', "yellow")
    for topic in offsets.recreated:
        out.note(f'topic "{topic}" was deleted and recreated: the acknowledged offsets are of other records', "red")
    total = sum(each.lag or 0 for each in offsets.partitions)
    out.done(f"{counted(len(offsets.partitions), 'partition')}, lag {total:,}")


def reset(
    out: Output,
    file: FileArgument,
    *,
    to: Annotated[
        str,
        typer.Option(
            metavar="POSITION",
            help="earliest, latest, a time as in 2026-01-31T12:00:00Z, or a JSON file {TOPIC: {PARTITION: OFFSET}}.",
        ),
    ],
    pipeline: PipelineOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the offsets; change nothing.")] = False,
    recount: Annotated[
        bool, typer.Option("--recount", help="Also move back if deferred updates or an archive then have events twice.")
    ] = False,
) -> None:
    """
    Let a stopped pipeline start at other offsets; the old checkpoint is kept.

    The records that it reads again are new micro-batches with new timestamps; `ingest replay` writes the old ones. A
    running pipeline is refused.

    Example: ingest offsets reset pipeline.yaml --to 2026-01-31T12:00:00Z --dry-run
    """
    from ingest.cli.loading import loaded, note_missing_state, pipeline_of, set_up_logs, with_pipeline
    from ingest.service.offsets_reset import reset_offsets

    configuration, _ = loaded(out, file)
    set_up_logs(configuration, is_watched=True)
    chosen = pipeline_of(configuration, pipeline)
    note_missing_state(out, configuration)
    done = reset_offsets(configuration, chosen, to, dry_run=dry_run, recount=recount)
    if out.is_json:
        out.json(_plain_reset(chosen.name, done))
        return
    rows = [
        (topic, str(partition), "-" if old is None else f"{old:,}", f"{offset:,}")
        for (topic, partition), offset in sorted(done.after.items())
        for old in [done.before.get((topic, partition))]
    ]
    out.table(("topic", "#partition", "#from", "#to"), rows)
    if done.uncommitted is not None:
        out.note(f"batch {done.uncommitted} had started: a part of its rows may be stored", "yellow")
    if done.kept is None:
        out.done("nothing was changed")
        return
    if not done.is_group_set:
        out.note("the consumer group still has the old offsets; the next start sets them", "yellow")
    out.done(f'the old checkpoint is kept in "{done.kept}"')
    here, kept, away = (shlex.quote(str(path)) for path in (done.checkpoint, done.kept, f"{done.kept}.undone"))
    out.note(f"to undo it before the pipeline has run: mv {here} {away} && mv {kept} {here}")
    if any(offset > done.before.get(part, offset) for part, offset in done.after.items()):
        out.note("after that, the group is ahead of the checkpoint until the pipeline has read as far")
    out.next(f"ingest offsets show {with_pipeline(file, configuration, chosen.name)}")


def _show_facts(out: Output, pipeline: str, offsets: "PipelineOffsets") -> None:
    from ingest.formats.times import moment

    newest = "none"
    if offsets.batch is not None:
        at = "" if offsets.batch_time_ms is None else f" of {moment(offsets.batch_time_ms)}"
        newest = f"{offsets.batch}{at}"
    if offsets.uncommitted is not None:
        newest += f"; {offsets.uncommitted} has started"
    since = offsets.replayable_since_ms
    facts = (
        ("pipeline", pipeline),
        ("group", offsets.group),
        ("newest batch", newest),
        ("replayable", "nothing" if since is None else f"batches since {moment(since)}"),
    )
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        out.parts((f"{name:<{width}}  ", "cyan"), (value, ""))


def _row(offsets: "PartitionOffsets") -> tuple[str, ...]:
    numbers = (offsets.acknowledged, offsets.group, offsets.log_start, offsets.log_end, offsets.lag)
    return (
        offsets.topic,
        str(offsets.partition),
        *("-" if number is None else f"{number:,}" for number in numbers),
    )


def _plain(pipeline: str, offsets: "PipelineOffsets") -> dict[str, object]:
    return {
        "pipeline": pipeline,
        "group": offsets.group,
        "batch": offsets.batch,
        "batch_time_ms": offsets.batch_time_ms,
        "uncommitted": offsets.uncommitted,
        "replayable_since_ms": offsets.replayable_since_ms,
        "recreated": list(offsets.recreated),
        "partitions": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "acknowledged": each.acknowledged,
                "group": each.group,
                "log_start": each.log_start,
                "log_end": each.log_end,
                "lag": each.lag,
                "lost": each.lost,
            }
            for each in offsets.partitions
        ],
    }


def _plain_reset(pipeline: str, done: "Reset") -> dict[str, object]:
    return {
        "pipeline": pipeline,
        "partitions": [
            {"topic": topic, "partition": partition, "from": done.before.get((topic, partition)), "to": offset}
            for (topic, partition), offset in sorted(done.after.items())
        ],
        "uncommitted": done.uncommitted,
        "checkpoint": str(done.checkpoint),
        "kept": None if done.kept is None else str(done.kept),
        "is_group_set": done.is_group_set,
    }
