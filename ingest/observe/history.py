"""What a pipeline did in the last hour, in steps of half a minute, for the plots of the service's page."""

from dataclasses import dataclass
from typing import Any

STEP_S = 30
STEPS = 120
"""One hour."""


@dataclass(slots=True)
class _Step:
    read: float = 0.0
    batch_s: float | None = None
    lag: int | None = None
    has_lag: bool = False


class History:
    """
    Rate, lag and duration of the micro-batches of one pipeline in the last hour, in bounded memory.

    Args:
        now_s: monotonic seconds at which it begins.
    """

    def __init__(self, now_s: float) -> None:
        self._first = int(now_s // STEP_S)
        self._steps: dict[int, _Step] = {}
        self._lag_before: int | None = None  # at the end of the steps that are gone

    def batch(self, now_s: float, read: int, seconds: float) -> None:
        """A micro-batch of `read` records is durable after `seconds`, over which its records are spread."""
        last = self._at(now_s)
        last.batch_s = max(seconds, last.batch_s or 0.0)
        number = int(now_s // STEP_S)
        begin_s = max(now_s - seconds, self._first * STEP_S, (number - STEPS + 1) * STEP_S)
        if begin_s >= now_s:
            last.read += read
            return
        for each in range(int(begin_s // STEP_S), number + 1):
            part_s = min(now_s, (each + 1) * STEP_S) - max(begin_s, each * STEP_S)
            self._steps.setdefault(each, _Step()).read += read * part_s / (now_s - begin_s)

    def lag(self, now_s: float, records: int | None) -> None:
        """The pipeline has this number of unread records; None if that is unknown."""
        step = self._at(now_s)
        step.lag, step.has_lag = records, True

    def to_json(self, now_s: float) -> dict[str, Any]:
        """
        The steps up to now, the oldest first; the last one has not ended.

        Returns:
            `read_per_s`, `batch_s` (of the longest micro-batch) and `lag` (the last number of unread records), each
            with a value for each step; None if the pipeline did not exist yet, or there was no such value, as of the
            rate in the first half of a step.
        """
        last = int(now_s // STEP_S)
        self._forget(last)
        rates: list[float | None] = []
        batches: list[float | None] = []
        lags: list[int | None] = []
        lag = self._lag_before
        for number in range(last - STEPS + 1, last + 1):
            step = self._steps.get(number, _Step())
            if step.has_lag:
                lag = step.lag  # else it is as it was
            rates.append(None if number < self._first else round(step.read / STEP_S, 2))
            batches.append(None if step.batch_s is None else round(step.batch_s, 3))
            lags.append(lag)
        elapsed_s = now_s - last * STEP_S
        now = self._steps.get(last, _Step())
        rates[-1] = round(now.read / elapsed_s, 2) if elapsed_s >= STEP_S / 2 else None
        return {"read_per_s": rates, "batch_s": batches, "lag": lags}

    def _at(self, now_s: float) -> _Step:
        number = int(now_s // STEP_S)
        self._forget(number)
        return self._steps.setdefault(number, _Step())

    def _forget(self, last: int) -> None:
        """Remove the steps that are more than an hour older than the last one."""
        for number in sorted(each for each in self._steps if each <= last - STEPS):
            step = self._steps.pop(number)
            if step.has_lag:
                self._lag_before = step.lag
