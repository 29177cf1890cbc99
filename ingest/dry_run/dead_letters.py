"""What a replay of dead letters would do, by a dry run of their records."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ingest.config.model import Table
from ingest.dead_letters.components import Components
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.queue import Entry
from ingest.dead_letters.replay_batches import SkipReason
from ingest.dry_run.inputs import given_of_record
from ingest.dry_run.pipeline import DryRun
from ingest.plan.plan import Plan
from sinks.updates.feature import Updates

_TOGETHER = 1_000  # dead letters in memory


@dataclass(slots=True)
class Preview:
    """
    Numbers of dead letters; selected = stored + dropped + failed_again + skipped + unknown.

    Attributes:
        dropped: those of which no event would be stored, by the reason of the first.
        failed_again: error code -> number.
        skipped: why a replay would not run those that are skipped by their names -> number.
        unknown: without the bytes of their records.
    """

    selected: int = 0
    stored: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    failed_again: Counter[str] = field(default_factory=Counter)
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    unknown: int = 0

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


def preview(
    plan: Plan, tables: Collection[Table], entries: Iterable[Entry], components: Components, *, recount: bool = False
) -> Preview:
    """
    Run the records of dead letters without storing anything: those of a sink into it, others into all sinks.

    Args:
        plan: of the pipeline.
        tables: that the file declares.
        entries: the dead letters.
        components: of the plan.
        recount: whether those run into deferred updates of which it is unknown which sinks have their event.

    Raises:
        IngestError: as `DryRun.run`.
    """
    found, remaining = Preview(), iter(entries)
    updated_sinks = plan.sinks_of(Updates.name)
    while some := [entry.dead_letter for entry in islice(remaining, _TOGETHER)]:
        found.selected += len(some)
        by_sink: dict[str, list[DeadLetter]] = {}
        for letter in some:
            sinks = frozenset([letter.component]) if letter.component in components.alone else components.sinks
            if updated_sinks and not recount and components.is_unsure(letter):
                found.skipped[SkipReason.SINK_UNKNOWN] += 1
            elif not recount and letter.is_of_fan_out and sinks & updated_sinks:
                found.skipped[SkipReason.FAN_OUT] += 1
            elif letter.pointer is not None or letter.blob is not None or letter.by_place is not None:
                found.unknown += 1
            else:
                sink = letter.component if letter.component in components.alone else ""
                by_sink.setdefault(sink, []).append(letter)
        for sink, letters in by_sink.items():
            dry_run = DryRun(plan.with_sinks({sink}) if sink else plan, tables)
            for lines in _lines_of(dry_run, letters):
                _add(found, lines)
    return found


def _lines_of(dry_run: DryRun, letters: Sequence[DeadLetter]) -> Iterator[Sequence[Mapping[str, Any]]]:
    """The outputs of each record."""
    found: dict[int, list[Mapping[str, Any]]] = {number: [] for number in range(len(letters))}
    for output in dry_run.run(given_of_record(letter.record) for letter in letters):
        line: Mapping[str, Any] = output.line
        found[line["input"]].append(line)
    return iter(found.values())


def _add(found: Preview, lines: Sequence[Mapping[str, Any]]) -> None:
    failures = [line for line in lines if line["error"] is not None]
    if failures:
        found.failed_again[str(failures[0]["error"]["code"])] += 1
    elif not lines or any(line["outcome"] == "kept" for line in lines):  # no lines: it becomes no events
        found.stored += 1
    else:
        reason = str(lines[0]["reason"])
        found.dropped[reason] += 1
