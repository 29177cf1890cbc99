"""`attr2hbase offsets show`: the offsets of a pipeline."""

from typing import TYPE_CHECKING

from ingest.amounts import counted
from ingest.cli.command import FileOption, PipelineOption
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.service.offsets import PartitionOffsets, PipelineOffsets

_HEADER = ("topic", "#partition", "#acknowledged", "#group", "#log start", "#log end", "#lag")


def show(out: Output, file: FileOption, *, pipeline: PipelineOption = None) -> None:
    """
    Show the offsets of a pipeline: acknowledged in the checkpoint, committed to the consumer group, and in the topics.

    The checkpoint decides where the pipeline resumes; the group is a copy of it. The lag is the number of offsets
    between the acknowledged one and the end of the log. Only for pipelines that read Kafka. The service may run.

    Example: attr2hbase offsets show --pipeline ticks
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
