"""What a query reports of its micro-batches."""

from typing import Protocol

from ingest.receipt import Counts


class BatchObserver(Protocol):
    """Receives the progress of a pipeline; called from the thread of the query."""

    def running(self) -> None:
        """The pipeline makes progress."""

    def blocked(self, code: str, message: str) -> None:
        """The batch cannot be made durable now and will be retried."""

    def attempted(self, counts: Counts) -> None:
        """One attempt at a batch ended, durable or not."""

    def durable(self, batch_id: int, batch_time_ms: int, counts: Counts, seconds: float) -> None:
        """A batch and its dead letters are durable; Spark acknowledges it next."""
