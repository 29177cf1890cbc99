"""How many events may fail before a pipeline stops rather than fill its dead letters."""

from collections import deque

from ingest.api import IngestError


class ErrorBudgetSpentError(IngestError):
    """More events failed than the pipeline allows; a human must look."""

    code = "error_budget"


class ErrorBudget:
    """
    A share of failed events over a window of batch times.

    Pure: its clock is the batch time. Fed once a micro-batch, before its dead letters are published, so that the batch
    that spends it floods nothing; the same batch again replaces what it said before, because a batch that could not be
    published runs again. It starts empty with each process.

    Args:
        share: of events that may fail, 0.05 for 5 %; 1 never stops.
        min_events: with fewer in the window nothing is judged: one failure of three says little.
        window_s: how far back events count.
    """

    def __init__(self, *, share: float, min_events: int, window_s: float) -> None:
        self._share = share
        self._min_events = min_events
        self._window_s = window_s
        self._batches: deque[tuple[int, int, int]] = deque()

    def spend(self, batch_time_ms: int, events: int, failed: int) -> bool:
        """Take in a micro-batch; True when the budget is spent."""
        while self._batches and self._batches[-1][0] >= batch_time_ms:
            self._batches.pop()
        self._batches.append((batch_time_ms, events, failed))
        oldest_ms = batch_time_ms - self._window_s * 1000
        while self._batches[0][0] < oldest_ms:
            self._batches.popleft()
        read, wrong = self.totals()
        return wrong > 0 and read >= self._min_events and wrong > self._share * read

    def check(self, batch_time_ms: int, events: int, failed: int) -> None:
        """
        Take in a micro-batch.

        Raises:
            ErrorBudgetSpentError: the budget is spent; the batch must not be acknowledged.
        """
        if self.spend(batch_time_ms, events, failed):
            read, wrong = self.totals()
            raise ErrorBudgetSpentError(
                f"{wrong} of {read} events failed ({wrong / read:.1%}) within {self._window_s:g} s of batch time, "
                f"{self._share:.1%} are allowed; nothing of the last batch is acknowledged",
                hint="'ingest explain' shows why events fail; mend the pipeline, or raise error_budget: {share: …}",
            )

    def totals(self) -> tuple[int, int]:
        """Events and failed events in the window."""
        return sum(events for _, events, _ in self._batches), sum(failed for _, _, failed in self._batches)
