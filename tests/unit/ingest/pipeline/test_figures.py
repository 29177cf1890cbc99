"""Figures of the components of a task."""

from collections import Counter
from dataclasses import replace
from itertools import accumulate, islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.reservoir_sampler import ReservoirSampler
from ingest.api import (
    Batch,
    Buffered,
    Decoding,
    DecorateError,
    Decorator,
    Event,
    FanOut,
    MappingError,
    OnError,
    Record,
    Settings,
    SinkResult,
    StoreUnavailableError,
    TaskSpec,
)
from ingest.dead_letters.buffer import DeadLetterBuffer
from ingest.expressions import Condition
from ingest.masks import Masks
from ingest.pipeline.chain import Chain
from ingest.pipeline.figures import FIRST_SAMPLE, SAMPLE, TaskFigures, sample_gaps
from ingest.pipeline.outcomes import BoundDecorator
from ingest.pipeline.sink_binding import SinkBinding
from ingest.pipeline.task import Task
from ingest.pipeline.time_limit import TimeLimit
from ingest.receipt import SOURCE, ComponentType, Figures, Receipt, TaskStatus
from ingest.sources.decoding import Decoder

SPEC = TaskSpec(batch=Batch("1", 1_000, "1-0"), call_timeout_s=10.0)


class ByNumber(Decorator[Settings]):
    """Drops and fails the events whose numbers say so; counts what it sees."""

    kind = "by_number"

    def __init__(self, drops: set[int], fails: set[int]) -> None:
        self._drops, self._fails = drops, fails
        self.seen: Counter[str] = Counter()

    def decorate(self, event: Event) -> bool:
        number = int(event.body)
        self.seen["received"] += 1
        if number in self._fails:
            self.seen["failed"] += 1
            raise DecorateError("no")
        if number in self._drops:
            self.seen["dropped"] += 1
            return False
        self.seen["sent"] += 1
        return True


class Copies(FanOut[Settings]):
    """Makes as many events as the last digit says."""

    kind = "copies"

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def decorate(self, event: Event) -> list[Event]:
        made = [replace(event, attributes=dict(event.attributes)) for _ in range(int(event.body) % 3)]
        self.seen["received"] += 1
        self.seen["sent"] += len(made)
        self.seen["dropped"] += not made
        return made


class Null:
    """A destination that keeps nothing."""

    has_splits = False

    def begin(self, *_arguments: object) -> None: ...
    def split_start(self, rank: int) -> None: ...
    def split_end(self) -> None: ...
    def close(self) -> None: ...

    def flush(self) -> SinkResult:
        return SinkResult()

    def probe(self) -> bytes:
        return b""


def sink(name: str, write: Any = lambda _event: None, **options: Any) -> SinkBinding:
    return SinkBinding(name, write, options.pop("on_error", OnError.DEAD_LETTER), **options)


def task_of(*decorators: Any, sinks: tuple[SinkBinding, ...] = (sink("s"),), on_error: OnError = OnError.DROP) -> Task:
    bound = [
        each if isinstance(each, BoundDecorator) else BoundDecorator(each, f"d{number}", on_error=on_error)
        for number, each in enumerate(decorators)
    ]
    destination: Any = Null()
    return Task(
        pipeline="p",
        fingerprint="f",
        decode=Decoder(Decoding()).decode,
        chain=Chain(bound),
        bindings=sinks,
        destinations={"logs": destination},
        on_error=OnError.DEAD_LETTER,
        dead_letters=DeadLetterBuffer(Masks()),
        time_limit=TimeLimit([]),
    )


def run(task: Task, numbers: Any, spec: TaskSpec = SPEC) -> Receipt:
    records = [Record("t", 0, at, b"k", f"{number}".encode(), 1) for at, number in enumerate(numbers)]
    receipt = task.run(records, spec)
    assert receipt.status is TaskStatus.DURABLE, receipt.message
    return receipt


def of(receipt: Receipt, name: str, kind: ComponentType = ComponentType.DECORATOR) -> Figures:
    return receipt.counts.components[kind, name]


_SETS = st.sets(st.integers(0, 9), max_size=4)
_STEPS = st.lists(st.one_of(st.builds(ByNumber, drops=_SETS, fails=_SETS), st.builds(Copies)), min_size=1, max_size=5)


@given(_STEPS, st.lists(st.integers(0, 9), max_size=150))
def test_figures_are_what_each_decorator_saw(steps, numbers):
    for step in steps:
        step.seen.clear()
    receipt = run(task_of(*steps), numbers)
    for number, step in enumerate(steps):
        found = of(receipt, f"d{number}")
        assert +step.seen == {
            name: value for name in ("received", "sent", "dropped", "failed") if (value := getattr(found, name))
        }, receipt.counts.components
    assert of(receipt, "s", ComponentType.SINK).received == receipt.counts.stored


def test_order_is_that_of_the_pipeline():
    receipt = run(task_of(ByNumber(set(), set()), Copies(), sinks=(sink("z"), sink("a"))), [1])
    assert list(receipt.counts.components) == [
        SOURCE,
        (ComponentType.DECORATOR, "d0"),
        (ComponentType.DECORATOR, "d1"),
        (ComponentType.SINK, "z"),
        (ComponentType.SINK, "a"),
    ]


def test_event_that_a_condition_excludes_is_sent_by_a_decorator_and_not_received_by_a_sink():
    decorator = BoundDecorator(ByNumber({1}, set()), "d0", Condition.parse("%{body} == '1'"))
    sinks = (sink("all"), sink("two", condition=Condition.parse("%{body} == '2'")))
    receipt = run(task_of(decorator, sinks=sinks), [1, 2, 3])
    assert of(receipt, "d0") == Figures(received=3, sent=2, dropped=1)
    assert of(receipt, "all", ComponentType.SINK) == Figures(received=2, sent=2)
    assert of(receipt, "two", ComponentType.SINK) == Figures(received=1, sent=1)


def test_what_a_sink_drops_and_fails():
    def write(event: Event) -> str | None:
        if event.body == b"1":
            raise MappingError("no")
        return "no_row_key" if event.body == b"2" else None

    receipt = run(task_of(sinks=(sink("a", write), sink("b"))), [1, 2, 3])
    assert of(receipt, "a", ComponentType.SINK) == Figures(received=3, sent=1, dropped=1, failed=1)
    assert of(receipt, "b", ComponentType.SINK) == Figures(received=3, sent=3)


def test_event_whose_condition_fails_is_received_and_failed():
    sinks = (sink("s", condition=Condition.parse("%{add(body, 0)} > 1")),)
    receipt = run(task_of(sinks=sinks), ["x", 2])
    assert of(receipt, "s", ComponentType.SINK) == Figures(received=2, sent=1, failed=1)


def test_records_that_are_not_decoded_are_those_of_the_source():
    task = task_of(ByNumber(set(), set()))
    headers = (("h", b"x"),)
    records = [Record("t", 0, 0, b"k", None, 1), Record("t", 0, 1, b"k", b"1" * (2 << 20), 1, headers)]
    receipt = task.run([*records, Record("t", 0, 2, b"k", b"1", 1)], SPEC)
    source = receipt.counts.components[SOURCE]
    assert (source.received, source.sent + source.dropped + source.failed) == (3, 3)
    assert source.sent == of(receipt, "d0").received < 3


@pytest.mark.parametrize("count", [1, 7])
def test_buffered_events_are_sent_at_the_end_of_a_split(count):
    sampler = BoundDecorator(ReservoirSampler(ReservoirSampler.settings_class()(k=3)), "sampler")
    receipt = run(task_of(sampler, ByNumber(set(), set())), range(count))
    kept = min(count, 3)
    assert of(receipt, "sampler") == Figures(received=count, sent=kept, dropped=count - kept)
    assert of(receipt, "d1").received == kept


def test_one_in_128_records_is_timed_across_tasks():
    task = task_of(ByNumber({5}, set()), Copies())
    receipts = [run(task, [1] * 16) for _ in range(40)]
    sampled = [of(receipt, "d0").sampled for receipt in receipts]
    assert sum(sampled) == 5
    assert (sampled[0], of(receipts[0], "d1").sampled, of(receipts[0], "s", ComponentType.SINK).sampled) == (1, 1, 1)
    assert receipts[0].counts.components[SOURCE].sampled == 1
    assert of(receipts[0], "d0").sampled_ns > 0


def test_one_record_of_each_128_is_timed_at_a_place_that_varies():
    places = list(islice(accumulate(sample_gaps()), 20_000))
    assert places[0] == FIRST_SAMPLE
    assert [(place - 1) // SAMPLE for place in places] == list(range(len(places)))


@pytest.mark.parametrize("period", [2, 3, 7, 64, 100, 128, 129, 256])
def test_records_of_a_kind_that_comes_back_periodically_are_timed_in_proportion(period):
    kinds = Counter(place % period for place in islice(accumulate(sample_gaps()), 50_000))
    share = 50_000 / period
    assert all(0.7 * share < kinds[kind] < 1.3 * share for kind in range(period))


class Holds(FanOut[Settings]):
    """Buffers all events, and returns them at the end of the split."""

    kind = "holds"

    def __init__(self, spoil: int = -1) -> None:
        self._spoil = spoil
        self._held: list[Event] = []

    def split_start(self) -> None:
        self._held = []

    def decorate(self, event: Event) -> Buffered:
        self._held.append(event)
        return Buffered()

    def split_end(self) -> list[Event]:
        for event in self._held:
            if event.body == str(self._spoil).encode():
                event.attributes["x"] = "no bytes"  # type: ignore[assignment] # the mistake
        return self._held


def test_event_that_was_buffered_is_timed_in_what_comes_after_if_its_record_is_a_sample():
    receipt = run(task_of(Holds(), ByNumber(set(), set()), Holds(), ByNumber(set(), set())), range(300))
    sampled = {component: figures.sampled for component, figures in receipt.counts.components.items()}
    assert set(sampled.values()) == {sum(place <= 300 for place in islice(accumulate(sample_gaps()), 9))}


def test_task_that_ends_in_a_sample_leaves_the_next_one_untimed():
    def write(event: Event) -> None:
        if event.body == b"bad":
            raise StoreUnavailableError("away")

    task = task_of(Holds(), sinks=(sink("s", write),))
    records = [Record("t", 0, at, b"k", b"bad" if at else b"1", 1) for at in range(FIRST_SAMPLE)]
    assert task.run(records, SPEC).status is TaskStatus.BLOCKED
    receipt = run(task, [1] * 3, replace(SPEC, batch=Batch("1", 1_000, "1-1")))
    assert of(receipt, "s", ComponentType.SINK).sampled == 0


def test_buffered_event_that_a_plugin_returns_spoiled_is_failed_and_not_sent():
    holds = BoundDecorator(Holds(spoil=1), "holds", on_error=OnError.DROP, provider="plugin")
    receipt = run(task_of(holds, ByNumber(set(), set())), range(3))
    assert of(receipt, "holds") == Figures(received=3, sent=2, failed=1)
    assert of(receipt, "d1").received == 2


def test_time_is_that_of_each_call():
    clock = iter(range(0, 1_000_000, 7))
    figures = TaskFigures(Chain([BoundDecorator(ByNumber({2}, set()), "d0")]), [sink("s")], lambda: next(clock))
    figures.start()
    event = Event(b"1")
    assert figures.chain.run(event) == (event,)
    figures.bindings[0].write(event)
    found = figures.of(1)
    assert [each.sampled_ns for each in found.values()] == [0, 7, 7]
    figures.start()
    assert [each.sampled_ns for each in figures.of(0).values()] == [0, 0, 0]


def test_failure_in_a_sampled_call_names_its_decorator():
    steps = ByNumber(set(), set()), ByNumber(set(), {1})
    receipt = run(task_of(*steps, on_error=OnError.DEAD_LETTER), [1] * 3)
    assert receipt.counts.dead_lettered_by == {("decorate", "d1"): 3}


def test_events_that_are_not_sampled_run_through_the_chain_itself():
    task = task_of(ByNumber(set(), set()))
    assert task._run_chain == task._chain.run


def test_task_with_selected_sinks_has_no_figures():
    spec = replace(SPEC, sinks_by_record={("t", 0, 0): frozenset()})
    assert run(task_of(), [1], spec).counts.components == {}
