"""The contract of what is attached to a task, to see each event."""

from collections.abc import Sequence
from typing import Protocol

from ingest.api import Event, EventError, Record
from ingest.pipeline.outcomes import Outcome


class TaskObserver(Protocol):
    """Receives the outcome of each event; for the dry run, and for replays."""

    @property
    def shows_bugs(self) -> bool:
        """Whether it shows exceptions of components, which else are logged."""

    def started(self) -> None:
        """An attempt starts."""

    def undecoded(self, record: Record, why: EventError | str) -> None:
        """The decoder returned no event for the record: an error, or the reason why it is dropped."""

    def settled(self, record: Record, outcome: Outcome) -> None:
        """An outcome of the chain for an event of the record; an event is written to the sinks next."""

    def written(
        self, record: Record, event: Event, failures: Sequence[tuple[str, EventError]], skipped: str | None
    ) -> None:
        """Every sink has handled the event: some failed, or none wrote it, for the reason `skipped`."""
