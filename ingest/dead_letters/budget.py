"""How many records may fail before a pipeline stops rather than fill its dead letters."""

from collections import deque

from ingest.api import IngestError

_INEXACT = 1e-9  # sums of parts are a little more or less than the whole: all that failed is not more than all


class ErrorBudgetSpentError(IngestError):
    """More failed than the pipeline allows; a human must look."""

    code = "error_budget"


class ErrorBudget:
    """
    A share of failed records over a window of batch times.

    Records are what counts, and not the events made of them: else one record of many events spends it, in every attempt
    at its batch. A record of which some events failed counts in part, as 0.3 for three of ten.

    Pure: its clock is the batch time. Fed once a micro-batch, before its dead letters are published, so that the batch
    that spends it floods nothing; the same batch again replaces what it said before, because a batch that could not be
    published runs again. It starts empty with each process.

    Args:
        share: of records that may fail, 0.05 for 5 %; 1 never stops.
        min_events: with fewer records in the window nothing is judged: one failure of three says little.
        window_s: how far back records count.
    """

    def __init__(self, *, share: float, min_events: int, window_s: float) -> None:
        self._share = share
        self._min_events = min_events
        self._window_s = window_s
        self._batches: deque[tuple[int, int, float]] = deque()

    def spend(self, batch_time_ms: int, records: int, failed: float) -> bool:
        """Take in a micro-batch; True when the budget is spent."""
        while self._batches and self._batches[-1][0] >= batch_time_ms:
            self._batches.pop()
        self._batches.append((batch_time_ms, records, failed))
        oldest_ms = batch_time_ms - self._window_s * 1000
        while self._batches[0][0] < oldest_ms:
            self._batches.popleft()
        read, wrong = self.totals()
        return wrong > 0 and read >= self._min_events and wrong > self._share * read * (1 + _INEXACT)

    def check(self, batch_time_ms: int, records: int, failed: float) -> None:
        """
        Take in a micro-batch.

        Raises:
            ErrorBudgetSpentError: the budget is spent; the batch must not be acknowledged.
        """
        if self.spend(batch_time_ms, records, failed):
            read, wrong = self.totals()
            raise ErrorBudgetSpentError(
                f"{round(wrong, 3):.12g} of {read} records failed ({wrong / read:.1%}) within {self._window_s:g} s of "
                f"batch time, {self._share:.1%} are allowed; nothing of the last batch is acknowledged",
                hint="'ingest explain' shows why events fail; mend the pipeline, or raise error_budget: {share: …}",
            )

    def totals(self) -> tuple[int, float]:
        """Records and failed records in the window."""
        return sum(records for _, records, _ in self._batches), sum(failed for _, _, failed in self._batches)
