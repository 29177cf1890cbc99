"""What a replay of a time range runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ingest.service.replay.plan import BatchKind, ReplayBatch
from ingest.service.replay.state import ReplayTotals


@dataclass(frozen=True, slots=True)
class RangePlan:
    """
    What a replay of a range runs.

    Attributes:
        batches: in the order in which they run.
        totals: of the batches that an earlier, interrupted run has finished; also what is left out of the range.
        resumes: whether there was such a run.
        has_changed: whether the pipeline has changed since that run began, so that the finished batches have the
            results of its earlier version.
        topic_ids: topic -> its id when the batches were planned, as far as it is known.
        counted: those of the batches that another replay has brought into the tables with deferred updates since: they
            do not run.
    """

    batches: Sequence[ReplayBatch]
    totals: ReplayTotals
    resumes: bool = False
    has_changed: bool = False
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    counted: Sequence[ReplayBatch] = ()

    def of_kind(self, kind: BatchKind) -> list[ReplayBatch]:
        """The batches of a kind."""
        return [batch for batch in self.batches if batch.kind is kind]

    def to_json(self) -> dict[str, Any]:
        """What a dry run shows: batches and offsets of each kind, and where the batches are that are not whole."""
        counts = {kind.value: self.of_kind(kind) for kind in BatchKind}
        edges = [
            [batch.kind.value, batch.time_ms, *part, *bounds]
            for batch in self.batches
            if batch.kind is not BatchKind.WHOLE
            for part, bounds in batch.ranges.items()
        ]
        about = {"batches": 0, "not_durable": self.totals.not_durable, "gone": self.totals.gone, "edges": edges}
        return about | {
            kind: {"batches": len(batches), "offsets": sum(batch.offsets for batch in batches)}
            for kind, batches in counts.items()
        }
