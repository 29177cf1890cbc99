"""
The figures of the components of a task: how many events each received, sent, dropped and failed, and its time.

Nothing is counted for an event that passes: what a component received follows from what the one before it has sent, and
what it sent from what it dropped and failed. Time is sampled: one in 128 records, and more of a task with few, runs
through copies of the calls that measure themselves, also after a decorator has buffered it.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import ParamSpec, TypeVar

from ingest.api import FanOut
from ingest.call_times import CallTimes
from ingest.pipeline.parts import Parts
from ingest.receipt import SOURCE, ComponentKey, ComponentType, Counts, Figures

SAMPLE = 128
"""Of so many records of long tasks one is timed, across the tasks of a process."""
DENSITY = 8
"""About so many records of a short task are timed, however few it has."""
WARM_UP = 16
"""First records of a process, of which none is timed: they load and compile."""

_MODULUS, _MULTIPLIER, _INCREMENT = 1 << 16, 25_173, 13_849  # of a linear congruential generator with the full period

P = ParamSpec("P")
T = TypeVar("T")


class Sampling:
    """
    Which records of a process are timed.

    One of each interval is timed, at a place that varies: with equal gaps all of the timed records would be of one kind
    where kinds alternate, as in the lines of a producer that repeat. The places are the same in each process. The
    interval is a fraction of the records of a task, so that a slow pipeline has samples; a task that is longer than the
    one before it has four dozen more than others, however long it is.

    Attributes:
        until: how many records later the next one is timed; counted down by the task.
    """

    def __init__(self) -> None:
        self._state = 0
        self._rest = 0
        self._interval = self._task_records = SAMPLE
        self._is_warm = False
        self.until = WARM_UP + 1

    def start(self, records: int) -> None:
        """
        A task starts.

        Args:
            records: of the task before it.
        """
        self._task_records = records
        interval = _interval(records)
        if self._is_warm and interval < self._interval:
            self._interval = interval
            self.until = min(self.until, self._place())

    def timed(self, records: int) -> None:
        """Choose the next record; this one, the last of so many in its task, is timed."""
        self._is_warm = True
        self._interval = _interval(max(records, self._task_records))
        self.until = self._rest + self._place()

    def _place(self) -> int:
        """A place in an interval, from 1 on."""
        self._state = (self._state * _MULTIPLIER + _INCREMENT) % _MODULUS
        place = 1 + self._state * self._interval // _MODULUS
        self._rest = self._interval - place
        return place


def _interval(records: int) -> int:
    return min(max(records // DENSITY, 1), SAMPLE)


class TaskFigures:
    """
    Counts what cannot be derived, and measures samples.

    Args:
        parts: of the task.
        clock_ns: monotonic nanoseconds.

    Attributes:
        timed: a copy of the parts that measures itself; the chains share the buffered events.
        dropped: name of a decorator -> events that it dropped.
        failed: events that failed in a component.
        refused: name of a sink -> events that it dropped.
        undecoded: records that the decoder dropped.
        sampling: of the process.
        is_timed: whether the outcomes that are settled now are of a sample.
    """

    def __init__(self, parts: Parts, clock_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        self._chain = parts.chain
        self._clock_ns = clock_ns
        self._times: dict[ComponentKey, CallTimes] = {}
        self.timed = Parts(
            self._timed(SOURCE, parts.decode),
            parts.chain.with_calls(lambda name, call: self._timed((ComponentType.DECORATOR, name), call)),
            tuple(
                replace(binding, write=self._timed((ComponentType.SINK, binding.name), binding.write))
                for binding in parts.bindings
            ),
        )
        self.dropped: Counter[str] = Counter()
        self.failed: Counter[ComponentKey] = Counter()
        self._bindings = parts.bindings
        self._excluded: list[int] = []
        self.refused: Counter[str] = Counter()
        self.undecoded = 0
        self.sampling = Sampling()
        self.is_timed = False

    def start(self) -> None:
        """Start at 0, for the next task."""
        for counter in (self.dropped, self.failed, self.refused, self._chain.made):
            counter.clear()
        self._excluded = [binding.count_excluded() + 1 for binding in self._bindings]
        self.undecoded = 0
        self.is_timed = False
        for times in self._times.values():
            times.clear()

    def _timed(self, component: ComponentKey, call: Callable[P, T]) -> Callable[P, T]:
        """The call, which adds its time to the times of the component."""
        clock_ns, times = self._clock_ns, self._times.setdefault(component, CallTimes())

        def timed_call(*arguments: P.args, **options: P.kwargs) -> T:
            start_ns = clock_ns()
            try:
                return call(*arguments, **options)
            finally:
                times.add(clock_ns() - start_ns)

        return timed_call

    def of(self, records: int) -> dict[ComponentKey, Figures]:
        """The figures of all components, in the order of the pipeline, after so many records."""
        found: dict[ComponentKey, Figures] = {}

        def add(component: ComponentKey, received: int, dropped: int, made: int | None = None) -> int:
            failed = self.failed[component]
            sent = received - dropped - failed if made is None else made
            times = CallTimes()
            if component in self._times:
                times.include(self._times[component])  # a copy, since the next task clears them
            found[component] = Figures(received, sent, dropped, failed, times)
            return sent

        events = add(SOURCE, records, self.undecoded)
        for bound in self._chain.decorators:
            made = self._chain.made[bound.name] if isinstance(bound.decorator, FanOut) else None
            events = add((ComponentType.DECORATOR, bound.name), events, self.dropped[bound.name], made)
        for binding, before in zip(self._bindings, self._excluded, strict=True):
            received = events - (binding.count_excluded() - before)
            add((ComponentType.SINK, binding.name), received, self.refused[binding.name])
        return found

    def add_drops(self, counts: Counts) -> None:
        """Add the events that decorators have dropped, by their reasons, which are the same for all events."""
        for bound in self._chain.decorators:
            if dropped := self.dropped[bound.name]:
                counts.dropped[bound.decorator.drop_reason] += dropped
