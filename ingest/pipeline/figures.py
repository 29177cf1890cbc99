"""
The figures of the components of a task: how many events each received, sent, dropped and failed, and its time.

Nothing is counted for an event that passes: what a component received follows from what the one before it has sent, and
what it sent from what it dropped and failed. Time is sampled: one in 128 records runs through copies of the calls that
measure themselves, also after a decorator has buffered it.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import ParamSpec, TypeVar

from ingest.api import FanOut
from ingest.pipeline.chain import Chain
from ingest.pipeline.sink_binding import SinkBinding
from ingest.receipt import SOURCE, ComponentKey, ComponentType, Counts, Figures

SAMPLE = 128
"""Of so many records one is timed, across the tasks of a process."""
FIRST_SAMPLE = 2
"""Record of a process that is timed first: the very first one loads and compiles."""

_MODULUS, _MULTIPLIER, _INCREMENT = 1 << 16, 25_173, 13_849  # of a linear congruential generator with the full period

P = ParamSpec("P")
T = TypeVar("T")


def sample_gaps() -> Iterator[int]:
    """
    The number of the first record that is timed, then how many records later each following one is, without end.

    One of each `SAMPLE` is timed, at a place that varies: with equal gaps all of the timed records would be of one kind
    where kinds alternate, as in the lines of a producer that repeat. The places are the same in each process.
    """
    place, state = FIRST_SAMPLE, 0
    yield place
    while True:
        state = (state * _MULTIPLIER + _INCREMENT) % _MODULUS
        following = 1 + state * SAMPLE // _MODULUS
        yield SAMPLE - place + following
        place = following


class TaskFigures:
    """
    Counts what cannot be derived, and measures samples.

    Args:
        chain: of the task.
        bindings: the sinks of the task.
        clock_ns: monotonic nanoseconds.

    Attributes:
        chain: a copy whose decorators are timed; it shares the buffered events.
        bindings: the same sinks, timed.
        dropped: name of a decorator -> events that it dropped.
        failed: events that failed in a component.
        refused: name of a sink -> events that it dropped.
        undecoded: records that the decoder dropped.
        gaps: as `sample_gaps`, of the process.
        is_timed: whether the outcomes that are settled now are of a sample.
    """

    def __init__(
        self, chain: Chain, bindings: Sequence[SinkBinding], clock_ns: Callable[[], int] = time.perf_counter_ns
    ) -> None:
        self._chain = chain
        self._clock_ns = clock_ns
        self._times: dict[ComponentKey, list[int]] = {}
        self.chain = chain.with_calls(lambda name, call: self.timed((ComponentType.DECORATOR, name), call))
        self.bindings = tuple(
            replace(binding, write=self.timed((ComponentType.SINK, binding.name), binding.write))
            for binding in bindings
        )
        self.dropped: Counter[str] = Counter()
        self.failed: Counter[ComponentKey] = Counter()
        self._bindings = tuple(bindings)
        self._excluded: list[int] = []
        self.refused: Counter[str] = Counter()
        self.undecoded = 0
        self.gaps = sample_gaps()
        self.is_timed = False

    def start(self) -> None:
        """Start at 0, for the next task."""
        for counter in (self.dropped, self.failed, self.refused, self._chain.made):
            counter.clear()
        self._excluded = [binding.count_excluded() + 1 for binding in self._bindings]
        self.undecoded = 0
        self.is_timed = False
        for times in self._times.values():
            times[:] = 0, 0

    def timed(self, component: ComponentKey, call: Callable[P, T]) -> Callable[P, T]:
        """The call, which adds itself and its time to the calls and the time of the component."""
        clock_ns, times = self._clock_ns, self._times.setdefault(component, [0, 0])

        def timed_call(*arguments: P.args, **options: P.kwargs) -> T:
            start_ns = clock_ns()
            try:
                return call(*arguments, **options)
            finally:
                times[1] += clock_ns() - start_ns
                times[0] += 1

        return timed_call

    def of(self, records: int) -> dict[ComponentKey, Figures]:
        """The figures of all components, in the order of the pipeline, after so many records."""
        found: dict[ComponentKey, Figures] = {}

        def add(component: ComponentKey, received: int, dropped: int, made: int | None = None) -> int:
            failed = self.failed[component]
            sent = received - dropped - failed if made is None else made
            found[component] = Figures(received, sent, dropped, failed, *self._times.get(component, (0, 0)))
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
