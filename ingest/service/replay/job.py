"""Runs the records of a time range through a pipeline again."""

from collections.abc import Mapping, Sequence
from typing import Any

from ingest.amounts import counted, counts_of, total_of
from ingest.config.model import Configuration
from ingest.formats.times import moment
from ingest.service.jobs.command import JobCommand, NextCommand, Subject, Summary
from ingest.service.jobs.job import Job, Steps
from ingest.service.jobs.job_run import Progress
from ingest.service.jobs.pipeline_job import PipelineJob
from ingest.service.jobs.place import Place
from ingest.service.replay.options import ReplayOptions

_MEANINGS = {
    "whole": "whole logged batches, at their own times; in tables with deferred updates at new ones",
    "rest": "what the topics have left of rolled-back batches, at new times",
    "part": "parts of logged batches, one ms before their times",
    "unlogged": "records in no logged batch",
}
_SHOWN = 20  # batches that a dry run lists
_UTC = "in this range (times without a zone are UTC)"


class Replay(PipelineJob[ReplayOptions]):
    """
    Replays a time range; see `ingest.service.replay.range_replay`. It may be killed at any moment, and run again.

    Args:
        subject: name of the pipeline.
        options: which records.
    """

    kind = "replay"
    options_model = ReplayOptions
    command = JobCommand(
        help="""
        Run the records of a time range through the pipeline again, in the micro-batches in which they were written.

        Only for pipelines that read Kafka. The service logs which records each micro-batch had, for `replay: {keep}`.

        A whole micro-batch writes the same cells with the same timestamps: missing cells are restored, and no newer
        value is hidden. A part of one is written one millisecond earlier. Records that are in no logged micro-batch
        need `timestamp: event` in all sinks, --at or --overwrite. Run the same command again to resume an interrupted
        replay.

        With `timestamp: event` a replay hides values that later micro-batches outside of the range wrote at the same
        event time; a warning says if there are such micro-batches.

        With --sink a table that was dropped is refilled alone. A record that fails has a dead letter of this sink then.
        A table with deferred updates needs all of the sinks that write it, and no others. Resume with the same sinks.

        Refused with a sink `archive`, which would add the rows again. Dead letters can be replayed into one.

        If the service runs, it runs the replay beside its pipelines; a pipeline with deferred updates or a change feed
        waits meanwhile. Interrupting the command (Ctrl-C) cancels it.

        Example: attr2hbase replay --from 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z --dry-run
        """,
        subject=Subject.PIPELINE,
        dry_run="Show what would run; write nothing.",
        advances=("micro-batches", "batches"),
        total="planned",
        does="runs the replay",
        resumes="finished micro-batches are not run again; run the same command again",
    )

    def is_same(self, other: Job[Any]) -> bool:
        """Whether the other one replays the same records; it would leave nothing to this one, whatever its rate."""
        is_same_pipeline = isinstance(other, Replay) and self.subject == other.subject
        return is_same_pipeline and self.options.selection() == other.options.selection()

    def checked(self, configuration: Configuration) -> None:
        """Refuse a pipeline whose source has no offsets, too."""
        from ingest.service.offsets import kafka_source_of

        kafka_source_of(self.pipeline(configuration))

    def steps(self, place: Place) -> Steps:
        """
        Run the replay, a micro-batch in each slice, or what an interrupted run has left of it.

        Raises:
            IngestError: as `RangeReplay.steps`.
        """
        from ingest.service.replay.range_replay import RangeReplay

        replayed = RangeReplay(place, self.pipeline(place.configuration), self.options)
        if place.is_dry_run:
            yield Progress(result=replayed.preview())
        else:
            yield from replayed.steps()

    def begun(self, content: Mapping[str, Any]) -> Sequence[str]:
        """That it resumes, and that it may hide values."""
        notes = []
        if content["resumes"]:
            finished = counted(content["finished"], "micro-batch", "micro-batches")
            notes.append(f"an interrupted replay resumes after {finished}")
            if content["has_changed"] and content["finished"]:
                notes.append(
                    f"warning: the pipeline has changed since this replay began; {finished} keep the results of the "
                    f'earlier version. To run all of them again, remove "{content["plan"]}" and run the command again'
                )
        if content["may_hide_values"]:
            notes.append(
                "warning: the range leaves out records of later micro-batches; if they wrote a cell at the same event "
                "time (`timestamp: event`), the replay hides their value"
            )
        return notes

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:
        """What has run, or would run."""
        notes = []
        if content["not_durable"]:
            left_out = counted(content["not_durable"], "offset")
            notes.append(f"left out: {left_out} of this range, which the pipeline had not stored when the replay began")
        if content["gone"]:
            notes.append(
                f"warning: {counted(content['gone'], 'offset')} of rolled-back micro-batches are left out, because the "
                "topics had deleted them when the replay began; dead letters that have the bytes of such records can "
                "be replayed after it"
            )
        return _of_plan(content, notes) if is_dry_run else _of_totals(content, notes)


def _of_plan(content: Mapping[str, Any], notes: list[str]) -> Summary:
    plain = {name: value for name, value in content.items() if name not in ("batches", "edges", "plan", "planned")}
    kinds = {meaning: content[kind] for kind, meaning in _MEANINGS.items()}
    if not content["planned"] and not content["resumes"]:
        none = [] if content["not_durable"] else [f"no record of the pipeline's topics has a timestamp {_UTC}"]
        return Summary(plain, notes=notes + none)
    if content["is_refused"]:
        notes.append(
            "records in no logged batch are refused without `timestamp: event` in all sinks, --at or --overwrite"
        )
    offsets = sum(each["offsets"] for each in kinds.values())
    return Summary(
        plain,
        table=[
            {"kind": meaning, "#batches": f"{each['batches']:,}", "#offsets": f"{each['offsets']:,}"}
            for meaning, each in kinds.items()
        ],
        lines=[
            f"{kind}: {moment(time_ms)} {topic}/{partition} {begin:,} to {end - 1:,}"
            for kind, time_ms, topic, partition, begin, end in content["edges"][:_SHOWN]
        ],
        notes=notes,
        done=f"{counted(content['planned'], 'micro-batch', 'micro-batches')}, {counted(offsets, 'offset')}",
        would_change=not content["is_refused"],
    )


def _of_totals(content: Mapping[str, Any], notes: list[str]) -> Summary:
    begun = ("resumes", "finished", "may_hide_values", "plan", "planned")
    plain = {name: value for name, value in content.items() if name not in begun}
    following = NextCommand("dead-letters list" if content["dead_lettered"] else "offsets show")
    if not content["records"]:
        none = [] if content["not_durable"] else [f"nothing was replayed: the topics have no record {_UTC}"]
        return Summary(plain, notes=notes + none, next=following)
    if content["has_changed"]:
        notes.append(
            "warning: the pipeline was changed while this replay ran or was interrupted; the micro-batches that were "
            "finished before keep the results of the earlier version"
        )
    columns = {name: name.replace("_", "-") for name in ("batches", "read", "stored", "dropped", "dead_lettered")}
    row = {f"#{column}": f"{total_of(content[name]):,}" for name, column in (columns | {"cells": "cells"}).items()}
    lines = [f"{columns[name]}: {counts_of(content[name])}" for name in ("dropped", "dead_lettered") if content[name]]
    return Summary(plain, table=[row], notes=notes, lines=lines, next=following)
