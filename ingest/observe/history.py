"""What a pipeline did in the last hour, in steps of half a minute, for the plots of the service's page."""

from collections import deque
from dataclasses import dataclass
from typing import Any

STEP_S = 30
STEPS = 120
"""One hour."""


@dataclass(slots=True)
class _Step:
    number: int
    read: int = 0
    batch_s: float | None = None
    lag: int | None = None


class History:
    """
    Rate, lag and duration of the micro-batches of one pipeline in the last hour, in bounded memory.

    Args:
        now_s: monotonic seconds at which it begins.
    """

    def __init__(self, now_s: float) -> None:
        self._first = int(now_s // STEP_S)
        self._steps: deque[_Step] = deque(maxlen=STEPS)

    def batch(self, now_s: float, read: int, seconds: float) -> None:
        """A micro-batch of `read` records is durable after `seconds`."""
        step = self._at(now_s)
        step.read += read
        step.batch_s = max(seconds, step.batch_s or 0.0)

    def lag(self, now_s: float, records: int | None) -> None:
        """The pipeline has this number of unread records; None if that is unknown."""
        self._at(now_s).lag = records

    def to_json(self, now_s: float) -> dict[str, Any]:
        """
        The steps up to now, the oldest first; the last one has not ended.

        Returns:
            `read_per_s`, `batch_s` (of the longest micro-batch) and `lag` (the last number of unread records), each
            with a value for each step; None if the pipeline did not exist yet, or there was no such value, as of the
            rate in the first half of a step.
        """
        last = int(now_s // STEP_S)
        first = last - STEPS + 1
        found = {step.number: step for step in self._steps}
        shown: list[_Step | None] = []
        lag = next((step.lag for step in reversed(self._steps) if step.number < first), None)
        for number in range(first, last + 1):
            step = found.get(number)
            if step is not None:
                lag = step.lag
            elif number >= self._first:
                step = _Step(number, lag=lag)  # nothing happened, so the lag is as it was
            shown.append(step)
        rates = [None if step is None else round(step.read / STEP_S, 2) for step in shown]
        elapsed_s = now_s - last * STEP_S
        if shown[-1] is not None:
            rates[-1] = round(shown[-1].read / elapsed_s, 2) if elapsed_s >= STEP_S / 2 else None
        return {
            "read_per_s": rates,
            "batch_s": [None if step is None or step.batch_s is None else round(step.batch_s, 3) for step in shown],
            "lag": [None if step is None else step.lag for step in shown],
        }

    def _at(self, now_s: float) -> _Step:
        number = int(now_s // STEP_S)
        if not self._steps or self._steps[-1].number < number:
            self._steps.append(_Step(number, lag=self._steps[-1].lag if self._steps else None))
        return self._steps[-1]
