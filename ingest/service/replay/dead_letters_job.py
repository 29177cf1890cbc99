"""Runs dead letters again."""

from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ingest.amounts import counted, counts_of, total_of
from ingest.api import Model, option
from ingest.dead_letters.selecting import filters, none_selected
from ingest.formats.times import moment
from ingest.service.jobs.command import JobCommand, NextCommand, Subject, Summary
from ingest.service.jobs.job import Steps
from ingest.service.jobs.job_run import Progress
from ingest.service.jobs.option_types import Moment, Value
from ingest.service.jobs.pipeline_job import PipelineJob
from ingest.service.jobs.place import Place

if TYPE_CHECKING:  # a command that asks the service starts without Spark and Kafka
    from ingest.dead_letters.replay import Selection

_SKIPPED = {
    "counted": "a replay has counted their events in deferred updates; --all --recount counts them again",
    "not_in_batch": "their micro-batches were replays, into other tables; they are marked as replayed",
    "ran_again": "their records ran again in later micro-batches; they are marked as replayed",
    "superseded": "a later dead letter has the same place; they are marked as replayed",
    "unread": "their records are not in the topic any more, or larger than max_decompressed_bytes of the source",
    "sink_unknown": "it is unknown which sinks of deferred updates have their events: no component has their name, or "
    "sinks without a label have moved; give the sink in which they failed that name as its label, or a decorator, or "
    "count them in all sinks with --recount",
    "fan_out": "their records became several events, and deferred updates have those that did not fail; with --recount "
    "the whole records are counted",
    "no_blob": "the values of their records are not in the blob store any more",
    "runs_again": "their micro-batch is not acknowledged, and runs their records again when the pipeline runs",
    "rolled_back": "their micro-batches were rolled back; 'attr2hbase replay' runs these as a whole",
}
_PREVIEW = {"selected": "selected", "stored": "would be stored", "dropped": "dropped"}
_PREVIEW |= {"failed_again": "would fail again", "skipped": "would be skipped", "unknown": "not known"}
_OUTCOME = {"selected": "selected", "replayed": "replayed", "failed_again": "failed again", "skipped": "skipped"}
_OUTCOME |= {"cut": "not on this machine"}
_KEPT = {"sink_unknown", "fan_out", "no_blob", "unread"}
"""Reasons for which a dead letter could not run, and still should."""


class DeadLettersReplayOptions(Model):
    """Which dead letters run, and how."""

    position: list[Value] = option("Only these; default: all selected ones.", default=[])
    code: list[Value] = option("Only dead letters with this error.", default=[])
    component: list[Value] = option('Only dead letters of this component, as "list" shows it.', default=[])
    since: Moment | None = option("Only dead letters of micro-batches from this time on.", default=None)
    until: Moment | None = option("Only dead letters of micro-batches before this time.", default=None)
    all_: bool = Field(
        default=False, alias="all", description="Include those that a replay has stored or dropped, or that are kept."
    )
    recount: bool = option(
        "Also replay dead letters into deferred updates if their micro-batch is older than `replay: {keep}`, or, with "
        "--all, if a replay has stored them, or if it is unknown which sinks have; their events may be counted twice.",
        default=False,
    )

    def selection(self) -> "Selection":
        """The dead letters that are selected."""
        from ingest.dead_letters.replay import Selection

        return Selection(
            ids=frozenset(self.position),
            codes=frozenset(self.code),
            components=frozenset(self.component),
            since_ms=self.since,
            until_ms=self.until,
            has_replayed=self.all_,
            has_kept=self.all_,
        )

    def given(self) -> list[str]:
        """The positions and options that select."""
        since, until = (None if time_ms is None else moment(time_ms) for time_ms in (self.since, self.until))
        return filters(self.code, self.component, since=since, until=until, positions=self.position)


class DeadLettersReplay(PipelineJob[DeadLettersReplayOptions]):
    """
    Runs dead letters again; see `ingest.dead_letters.replay`. It may be killed at any moment, and run again.

    Args:
        subject: name of the pipeline.
        options: which dead letters.
    """

    kind = "dead-letters-replay"
    needs_slots = False
    options_model = DeadLettersReplayOptions
    command = JobCommand(
        help="""
        Run dead letters again, through the pipeline as it is configured now.

        The dead letter of a sink is replayed into that sink alone, a dead letter of a decorator or the source into all
        sinks.

        Of records of which a dead letter has the place only, it reads what is there now.

        The timestamp of the cells is one millisecond before the micro-batch in which they failed, so a newer value is
        never hidden. Exit code 1 when some fail again.

        Dead letters into deferred updates are skipped if a replay has stored them and that was not rolled back, if
        their record has run again in a later micro-batch, or if their micro-batch was rolled back: 'attr2hbase replay'
        runs it as a whole. So are those of which it is unknown which sinks have their event.

        If the service runs, it runs them beside its pipelines; a pipeline with deferred updates or a change feed waits
        meanwhile. Interrupting the command (Ctrl-C) cancels it.

        With --dry-run the records run as in "explain": tables and what earlier replays have counted are not looked at.

        Example: attr2hbase dead-letters replay --code no_match
        """,
        subject=Subject.PIPELINE,
        arguments=("position",),
        dry_run="Count what would be stored, dropped, or fail again; write nothing.",
        advances=("dead letters", "selected"),
        does="replays the dead letters",
        resumes="finished dead letters are marked; run the same command again",
    )

    def steps(self, place: Place) -> Steps:
        """
        Run the dead letters: a slice for each micro-batch.

        Raises:
            NotFoundError: there is none of a position.
            ConflictError: another replay of the pipeline runs, or it was cancelled.
            ReplayStoppedError: they cannot be stored now.
            IngestError: as `DeadLetterReplay`.
        """
        from ingest.clock import now_ms
        from ingest.dead_letters.replay import replay, require
        from ingest.dry_run.dead_letters import preview
        from ingest.service.dead_letters.queues import components_of, dead_letter_queue
        from ingest.service.replay.dead_letter_replay import DeadLetterReplay

        pipeline, selection = self.pipeline(place.configuration), self.options.selection()
        result: dict[str, Any] = {"selected": 0}
        with closing(dead_letter_queue(place.configuration, pipeline)) as queue:
            require(queue, selection.ids)
            if place.is_dry_run:
                plan = place.plan_of(pipeline)
                selected = filter(selection.matches, queue.entries())
                found = preview(
                    plan,
                    place.configuration.tables.values(),
                    selected,
                    components_of(plan),
                    recount=self.options.recount,
                )
                result = found.to_json()
            else:
                with DeadLetterReplay(place, pipeline, recount=self.options.recount) as replayer:
                    replayer.settle(queue)
                    reports = replay(
                        queue,
                        selection,
                        replayer,
                        components=replayer.components,
                        now_ms=now_ms,
                        runs_again=replayer.runs_again,
                        skip_reason=replayer.skip_reason,
                        counted=replayer.counted,
                        on_marked=replayer.marked,
                        on_released=replayer.release,
                    )
                    with replayer.taken_back_on_failure(queue):
                        for report in place.paced(reports, activity=self.kind):
                            result = report.to_json()
                            yield Progress(report.selected, 0, result)
            seen = {} if result["selected"] else Counter(entry.dead_letter.code for entry in queue.entries())
        yield Progress(result["selected"], result["selected"], result | {"seen": seen})

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:
        """What has become of the dead letters."""
        plain = {name: value for name, value in content.items() if name != "seen"}
        columns = _PREVIEW if is_dry_run else _OUTCOME
        row = {f"#{column}": f"{total_of(content[name]):,}" for name, column in columns.items()}
        notes = []
        if content["seen"]:
            advice = "" if self.options.all_ else "; --all includes those that were replayed or are kept"
            notes.append(none_selected(content["seen"], self.options.given(), advice))
        for reason, number in content.get("skipped", {}).items():
            notes.append(f"skipped: {counted(number, 'dead letter')}, because {_SKIPPED[reason]}")
        would = "would be " if is_dry_run else ""
        for name, meaning in {
            "failed_again": "would fail again" if is_dry_run else "failed again",
            "published": "failed, with dead letters of their own",
            "dropped": f"{would}dropped by the pipeline",
            "renamed": "replayed into all sinks, because the file has neither a sink nor a decorator of the name",
        }.items():
            if content.get(name):
                notes.append(f"{meaning}: {counts_of(content[name])}")
        if content.get("unknown"):
            notes.append("not known: dead letters without the bytes of their records, which only a replay reads")
        is_left = any(content.get(name) for name in ("failed_again", "published", "cut"))
        return Summary(
            plain,
            table=[row],
            notes=notes,
            next=None if is_dry_run else NextCommand("dead-letters list"),
            would_change=bool(content.get("stored" if is_dry_run else "selected")),
            exit_code=int(not is_dry_run and (is_left or bool(content["skipped"].keys() & _KEPT))),
        )
