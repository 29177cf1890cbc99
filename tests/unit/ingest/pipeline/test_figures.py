"""Figures of the components of a task."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
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
from ingest.pipeline.dead_lettering import DeadLetterMaker
from ingest.pipeline.figures import DENSITY, SAMPLE, WARM_UP, Sampling, TaskFigures
from ingest.pipeline.outcomes import BoundDecorator
from ingest.pipeline.parts import Parts
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
    def abandon(self) -> None: ...
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
        decode=Decoder(Decoding()).decode,
        chain=Chain(bound),
        bindings=sinks,
        destinations={"logs": destination},
        on_error=OnError.DEAD_LETTER,
        dead_letter_maker=DeadLetterMaker("p", "f"),
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


def places(tasks: Iterable[int]) -> Iterator[list[int]]:
    """The places of the timed records in tasks of so many records, one after the other in a process."""
    sampling, before = Sampling(), 0
    for records in tasks:
        sampling.start(before)
        before = records
        found = []
        for number in range(1, records + 1):
            sampling.until -= 1
            if not sampling.until:
                sampling.timed(number)
                found.append(number)
        yield found


def test_first_records_of_a_process_are_not_timed():
    task = task_of(ByNumber(set(), set()))
    assert of(run(task, [1] * WARM_UP), "d0").times.calls == 0
    assert of(run(task, [1]), "d0").times.calls == 1


def test_one_in_128_records_of_long_tasks_is_timed_at_a_place_that_varies():
    first, *others = places([200_000, 100_000, 100_000])
    assert abs(len(first) - 200_000 // SAMPLE) < 60
    for found in others:
        assert abs(len(found) - 100_000 // SAMPLE) <= 1
        assert len({(place - others[0][0]) % SAMPLE for place in found}) > SAMPLE / 2


@pytest.mark.parametrize(("records", "timed"), [(1, 1), (5, 5), (16, 8), (100, 8), (1_000, 8), (2_000, 15)])
def test_several_records_of_a_short_task_are_timed(records, timed):
    found = [len(each) for each in places([records] * 200)][100:]
    assert abs(sum(found) / len(found) - timed) < 0.2 * timed


def test_long_task_after_a_short_one_has_few_samples_more():
    *_, found = places([5] * 10 + [100_000])
    assert len(found) < 100_000 // SAMPLE + DENSITY * 7


def test_short_tasks_after_a_long_one_have_samples_at_once():
    _, *found = places([100_000] + [16] * 5)
    assert [len(each) > 0 for each in found] == [False, True, True, True, True]


@pytest.mark.parametrize("records", [20, 50_000])
@pytest.mark.parametrize("period", [2, 3, 7, 64, 100, 128, 129, 256])
def test_records_of_a_kind_that_comes_back_periodically_are_timed_in_proportion(period, records):
    tasks = [records] * (4_000_000 // records // (1 if records > 100 else 20))
    numbers = [number * records + place for number, found in enumerate(places(tasks)) for place in found]
    kinds = Counter(place % period for place in numbers)
    share = len(numbers) / period
    assert all(0.6 * share < kinds[kind] < 1.4 * share for kind in range(period))


def test_timed_calls_are_those_of_all_components():
    task = task_of(ByNumber({5}, set()), Copies())
    receipts = [run(task, [1] * 16) for _ in range(4)]
    calls = [[figures.times.calls for figures in receipt.counts.components.values()] for receipt in receipts]
    assert calls == [[0] * 4, [calls[1][0]] * 4, [calls[2][0]] * 4, [calls[3][0]] * 4]
    assert all(each[0] > 0 for each in calls[1:])
    assert of(receipts[3], "d0").times.total_ns > 0


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
    (timed,) = places([300])
    assert {figures.times.calls for figures in receipt.counts.components.values()} == {len(timed)}


def test_task_that_ends_in_a_sample_leaves_the_next_one_untimed():
    def write(event: Event) -> None:
        if event.body == b"bad":
            raise StoreUnavailableError("away")

    task = task_of(Holds(), sinks=(sink("s", write),))
    records = [Record("t", 0, at, b"k", b"1" if at < WARM_UP else b"bad", 1) for at in range(WARM_UP + 1)]
    assert task.run(records, SPEC).status is TaskStatus.BLOCKED
    assert task._figures.is_timed
    task._sampling.until = 10
    receipt = run(task, [1] * 3, replace(SPEC, batch=Batch("1", 1_000, "1-1")))
    assert of(receipt, "s", ComponentType.SINK).times.calls == 0


def test_buffered_event_that_a_plugin_returns_spoiled_is_failed_and_not_sent():
    holds = BoundDecorator(Holds(spoil=1), "holds", on_error=OnError.DROP, provider="plugin")
    receipt = run(task_of(holds, ByNumber(set(), set())), range(3))
    assert of(receipt, "holds") == Figures(received=3, sent=2, failed=1)
    assert of(receipt, "d1").received == 2


def test_time_is_that_of_each_call():
    clock = iter(range(0, 1_000_000, 7))
    chain = Chain([BoundDecorator(ByNumber({2}, set()), "d0")])
    parts = Parts(Decoder(Decoding()).decode, chain, (sink("s"),))
    figures = TaskFigures(parts, lambda: next(clock))
    figures.start()
    event = figures.timed.decode(Record("t", 0, 0, b"k", b"1", 1))
    assert isinstance(event, Event)
    assert figures.timed.chain.run(event) == (event,)
    figures.timed.bindings[0].write(event)
    found = figures.of(1)
    assert [each.times.total_ns for each in found.values()] == [7, 7, 7]
    figures.start()
    assert [each.times.total_ns for each in figures.of(0).values()] == [0, 0, 0]
    assert [each.times.total_ns for each in found.values()] == [7, 7, 7]


def test_failure_in_a_sampled_call_names_its_decorator():
    steps = ByNumber(set(), set()), ByNumber(set(), {1})
    receipt = run(task_of(*steps, on_error=OnError.DEAD_LETTER), [1] * (WARM_UP + 2))
    assert of(receipt, "d1").times.calls > 0
    assert receipt.counts.dead_lettered_by == {("decorate", "d1"): WARM_UP + 2}


def test_events_that_are_not_sampled_run_through_the_chain_itself():
    task = task_of(ByNumber(set(), set()))
    assert task._run_chain == task._chain.run


def test_task_with_selected_sinks_has_no_figures():
    spec = replace(SPEC, sinks_by_record={("t", 0, 0): frozenset()})
    assert run(task_of(), [1], spec).counts.components == {}
