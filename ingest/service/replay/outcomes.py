"""What became of events that run several times, each time into other sinks."""

from collections import Counter
from collections.abc import Collection, Sequence

from ingest.api import Event, EventError, Record, RecordPlace
from ingest.pipeline.outcomes import Dropped, Failed, Outcome

_NO_SINK = "no_sink"  # as of sinks whose `when` is not true: another run may have one whose is


class Drops:
    """
    Events that every run has dropped; observes the tasks of the runs (`ingest.pipeline.task_observer.TaskObserver`).

    An event that a run has stored is not dropped, though its `when` may have kept it from the sinks of another run.
    """

    shows_bugs = False

    def __init__(self) -> None:
        self._reasons: dict[tuple[RecordPlace, int], str] = {}
        self._others: set[tuple[RecordPlace, int]] = set()
        self._written: Collection[RecordPlace] = ()

    def start(self, written: Collection[RecordPlace]) -> None:
        """Forget all events; `written` are records that some of their sinks have already, and do not get again."""
        self._reasons, self._others, self._written = {}, set(), written

    def counts(self) -> Counter[str]:
        """Reason -> number of events."""
        return Counter(
            reason
            for event, reason in self._reasons.items()
            if event not in self._others and not (reason == _NO_SINK and event[0] in self._written)
        )

    def started(self) -> None:
        """Nothing: another attempt at a run has the same events."""

    def undecoded(self, record: Record, why: EventError | str) -> None:
        """A record of which there is no event."""
        self._add(record, 0, why if isinstance(why, str) else None)

    def settled(self, record: Record, outcome: Outcome) -> None:
        """An event that a decorator has dropped, or that failed there."""
        if isinstance(outcome, Dropped):
            self._add(record, outcome.event.origin.fan_out, outcome.reason)
        elif isinstance(outcome, Failed):
            self._add(record, outcome.origin.fan_out, None)

    def written(
        self, record: Record, event: Event, failures: Sequence[tuple[str, EventError]], skipped: str | None
    ) -> None:
        """An event that the sinks of a run have handled."""
        self._add(record, event.origin.fan_out, None if failures else skipped)

    def _add(self, record: Record, fan_out: int, reason: str | None) -> None:
        event = record.place, fan_out
        if reason is None:
            self._others.add(event)
        elif self._reasons.get(event, _NO_SINK) == _NO_SINK:
            self._reasons[event] = reason
