"""Lets a pipeline start at other offsets."""

import shlex
from collections.abc import Mapping
from typing import Any

from ingest.api import Model, option
from ingest.service.jobs.command import JobCommand, NextCommand, Subject, Summary
from ingest.service.jobs.job import Steps
from ingest.service.jobs.job_run import Progress
from ingest.service.jobs.option_types import Position
from ingest.service.jobs.pipeline_job import PipelineJob
from ingest.service.jobs.place import Place


class OffsetsResetOptions(Model):
    """Where the pipeline starts."""

    to: Position = option(
        "earliest, latest, a time as in 2026-01-31T12:00:00Z, group:NAME for the committed offsets of another consumer "
        "group, or a JSON file {TOPIC: {PARTITION: OFFSET}}; with remaining, the acknowledged offsets, or the first "
        "ones that are left where the topic has deleted these."
    )
    recount: bool = option("Also move back if deferred updates or an archive then have events twice.", default=False)


class OffsetsReset(PipelineJob[OffsetsResetOptions]):
    """
    Puts a new checkpoint in the place of the old one; see `ingest.service.offsets_reset`. It may be killed at any
    moment, and run again.

    Args:
        subject: name of the pipeline.
        options: where it starts.
    """

    kind = "offsets-reset"
    needs_slots = False
    options_model = OffsetsResetOptions
    command = JobCommand(
        help="""
        Let a pipeline start at other offsets; the old checkpoint is kept. Only for pipelines that read Kafka.

        The records that it reads again are new micro-batches with new timestamps; 'attr2hbase replay' writes the old
        ones.

        If the service runs, it stops the pipeline after its running micro-batch, and then starts it there.

        Example: attr2hbase offsets reset --to 2026-01-31T12:00:00Z --dry-run
        """,
        subject=Subject.PIPELINE,
        dry_run="Show the offsets; change nothing.",
        advances=("checkpoints", "done"),
        does="resets the offsets",
        resumes="see 'attr2hbase offsets show', and run the same command again",
    )

    def steps(self, place: Place) -> Steps:
        """
        Reset the offsets.

        Raises:
            ConflictError: it was cancelled, and nothing was changed.
            IngestError: as `planned_reset` and `reset`.
        """
        from ingest.service.offsets_reset import planned_reset, reset

        configuration, pipeline, options = place.configuration, self.pipeline(place.configuration), self.options
        # what is refused does not end the pipeline
        found = planned_reset(configuration, pipeline, options.to, recount=options.recount)
        if not place.is_dry_run:
            with place.borrowed(pipeline, kind=self.kind) as checkpoint:
                found = planned_reset(configuration, pipeline, options.to, checkpoint, recount=options.recount)
                found = reset(configuration, pipeline, checkpoint, found)
        yield Progress(1, 1, {"done": 1, "runs": place.is_service, **found.to_json()})

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:
        """The old and the new offsets, and how to undo the reset."""
        changed = [(each["from"], each["to"]) for each in content["partitions"]]
        columns = {"topic": "topic", "partition": "#partition", "from": "#from", "to": "#to"}
        table = [{column: _shown(each[name]) for name, column in columns.items()} for each in content["partitions"]]
        notes, kept = [], content["kept"]
        if content["uncommitted"] is not None:
            notes.append(f"batch {content['uncommitted']} had started: a part of its rows may be stored")
        if kept is not None and not content["is_group_set"]:
            notes.append("the consumer group still has the old offsets; the next start sets them")
        if kept is not None and not content["runs"]:
            here, there, away = (shlex.quote(path) for path in (content["checkpoint"], kept, f"{kept}.undone"))
            notes.append(f"to undo it before the pipeline has run: mv {here} {away} && mv {there} {here}")
            if any(old is not None and new > old for old, new in changed):
                notes.append("after that, the group is ahead of the checkpoint until the pipeline has read as far")
        return Summary(
            {name: value for name, value in content.items() if name not in ("done", "runs")},
            table=table,
            notes=notes,
            done=f'the old checkpoint is kept in "{kept}"' if kept is not None else "nothing was changed",
            next=NextCommand("offsets show") if kept is not None else None,
            would_change=is_dry_run,
        )


def _shown(value: str | int | None) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else value
