"""The error budget: how many records may fail before a pipeline stops."""

from collections import Counter, deque
from collections.abc import Iterable

from ingest.api import ErrorBudgetSpentError
from ingest.dead_letters.envelope import DeadLetter

_INEXACT = 1e-9  # tolerance for sums of fractions: if every record fails, their sum must not exceed the records


class ErrorBudget:
    """
    The maximum fraction of failed records in a window of batch times.

    It counts records, not the events made of them: else one record of many events would spend it, in every attempt at
    its batch. A record of ten events of which three failed counts 0.3.

    Pure: its clock is the batch time. The caller adds each micro-batch before it is committed, so nothing of the batch
    that spends the budget is committed or published. A batch that runs again replaces its earlier counts. Each process
    starts with an empty window.

    Args:
        share: fraction of records that may fail, 0.05 for 5 %; 1 never stops.
        min_events: minimum number of records in the window before the budget applies.
        window_s: length of the window.
        max_records: maximum number of records of a batch; None if it has no limit.
    """

    def __init__(self, *, share: float, min_events: int, window_s: float, max_records: int | None = None) -> None:
        self._share = share
        self._min_events = min_events
        self._window_s = window_s
        self._max_records = max_records
        self._batches: deque[tuple[int, int, float]] = deque()

    def spend(self, batch_time_ms: int, records: int, failed: float) -> bool:
        """Add a micro-batch; True if the budget is spent."""
        while self._batches and self._batches[-1][0] >= batch_time_ms:
            self._batches.pop()
        self._batches.append((batch_time_ms, records, failed))
        oldest_ms = batch_time_ms - self._window_s * 1000
        while self._batches[0][0] < oldest_ms:
            self._batches.popleft()
        read, wrong = self.totals()
        return read >= self._min_events and wrong > self._share * read * (1 + _INEXACT)

    def max_failures(self, batch_time_ms: int) -> int | None:
        """
        The number of failed records of a batch above which the budget is spent, whatever the outcome of the others.

        Args:
            batch_time_ms: of the batch; its own earlier attempts do not count.

        Returns:
            The number, or None if there is no such number.
        """
        if self._share >= 1 or self._max_records is None:
            return None
        window = [(records, failed) for at, records, failed in self._batches if at < batch_time_ms]
        read, wrong = sum(records for records, _ in window), sum(failed for _, failed in window)
        allowed = self._share * (read + self._max_records) * (1 + _INEXACT) - wrong
        return max(0, int(allowed), self._min_events - read)

    def check(self, batch_time_ms: int, records: int, failed: float, dead_letters: Iterable[bytes] = ()) -> None:
        """
        Add a micro-batch.

        Args:
            batch_time_ms: of the micro-batch.
            records: number of its records.
            failed: how many of them failed; see above.
            dead_letters: of the micro-batch; the error names their most frequent failure, since they are not kept.

        Raises:
            ErrorBudgetSpentError: the budget is spent; the batch must not be acknowledged.
        """
        if self.spend(batch_time_ms, records, failed):
            read, wrong = self.totals()
            raise ErrorBudgetSpentError(
                f"{round(wrong, 3):.12g} of {read} records failed ({wrong / read:.1%}) within {self._window_s:g} s of "
                f"batch time{_most_frequent(dead_letters)}, {self._share:.1%} are allowed; nothing of the last batch "
                "is acknowledged",
                hint="'attr2hbase explain' shows why events fail; correct the pipeline, or raise error_budget: "
                "{share: …}",
            )

    def totals(self) -> tuple[int, float]:
        """Records and failed records in the window."""
        return sum(records for _, records, _ in self._batches), sum(failed for _, _, failed in self._batches)


def _most_frequent(dead_letters: Iterable[bytes]) -> str:
    """The most frequent failure, and the place of the first such record; "" without dead letters."""
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for each in map(DeadLetter.from_json, dead_letters):
        failure = each.code, each.component
        counts[failure] += 1 if each.by_place is None else each.events
        first.setdefault(failure, "/".join(map(str, each.record.place)))
    if not counts:
        return ""
    ((failure, _),) = counts.most_common(1)
    code, component = failure
    return f', most often with {code} in "{component}" (first {first[failure]})'
