"""An event that failed is freed once it was told of, and does not wait for a collection of garbage."""

import gc
from collections.abc import Iterator

import pytest

from decorators.explode import Explode
from decorators.value import Value
from ingest.api import DecorateError, Event, IngestError, OnError, Put, Record, WriteRejectedError
from ingest.build import DecoratorPart, SinkPart, live_task
from ingest.receipt import Verdict
from ingest.task import Assignment, Task
from sinks.bisection import apply_all_but_refused
from sinks.mapping.attr2hbase import Attr2HBase
from tests.unit.ingest.test_task import decorator, plan, record, sink

ROW = decorator(Value, attribute="2hb_", value="%{key}")
CELL = decorator(Value, attribute="2hb_f:q", value="too large")


class Refusing(Value):
    """Refuses with an error that has another one behind it."""

    def decorate(self, event: Event) -> bool:
        try:
            return bool(event.attributes["missing"])
        except KeyError as error:
            raise DecorateError("no") from error


class Buggy(Value):
    """Has a bug."""

    def decorate(self, event: Event) -> bool:
        return bool(event.attributes["missing"])


class BuggySink(Attr2HBase):
    """A sink with a bug."""

    def map(self, event, batch_time_ms):
        raise KeyError(event.key)


def step(component: type) -> DecoratorPart:
    return DecoratorPart(component.kind, f"{__name__}:{component.__name__}", ROW.settings, OnError.DROP)


LINES = decorator(Explode, form="lines", source="x", attribute="y")
TWO_LINES = decorator(Value, attribute="x", value="a\nb")
TOO_LARGE = sink(on_error=OnError.DROP, columns={"max_value_bytes": "1B"})
BUG = SinkPart("buggy", f"{__name__}:BuggySink", sink().settings, OnError.DROP, "logs")


@pytest.fixture(autouse=True)
def without_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def assignment(tmp_path):
    return Assignment(5_000, incoming={"logs": str(tmp_path)}, families={("logs", "t"): frozenset({b"f"})})


def kept(task: Task, records: list[Record], assignment: Assignment) -> int:
    """How many events more there are after a micro-batch that failed whole."""
    before = count()
    receipt = task.run(records, assignment)
    assert (receipt.verdict, receipt.counts.stored) == (Verdict.DURABLE, 0)
    assert sum(receipt.counts.dropped.values()) >= len(records)
    return count() - before


def count(kind: type = Event) -> int:
    return sum(type(each) is kind for each in gc.get_objects())


@pytest.mark.parametrize(
    ("decorators", "sinks"),
    [
        pytest.param((step(Refusing),), (), id="plain"),
        pytest.param((step(Buggy),), (), id="plain-bug"),
        pytest.param((TWO_LINES, LINES, step(Refusing)), (), id="fan-out"),
        pytest.param((TWO_LINES, LINES, step(Buggy)), (), id="fan-out-bug"),
        pytest.param((ROW, CELL), (TOO_LARGE,), id="sink"),
        pytest.param((ROW, CELL), (BUG,), id="sink-bug"),
        pytest.param((ROW, CELL), (TOO_LARGE, BUG), id="two-sinks"),
    ],
)
def test_nothing_stays_of_events_that_were_refused(assignment, decorators, sinks):
    task = live_task(plan(*sinks, decorators=decorators))
    records = [record("a", "x", offset) for offset in range(20)]
    kept(task, records, assignment)
    assert kept(task, records, assignment) == 0


def test_nothing_stays_of_mutations_that_a_store_refused():
    def refuse(_: object) -> None:
        raise WriteRejectedError("no")

    def refused() -> int:
        return len(apply_all_but_refused([Put(b"r", {b"f:q": b"v"}, number) for number in range(4)], refuse))

    before = count(Put)
    assert refused() == 4
    assert count(Put) == before


def test_frames_go_of_an_error_and_of_those_behind_it():
    def behind() -> None:
        try:
            b"".index(b"x")
        except ValueError:
            dict[str, str]().pop("x")

    try:
        behind()
    except KeyError as caught:
        error = IngestError("no")
        error.__cause__ = cause = caught
    context = cause.__context__
    assert isinstance(context, ValueError)
    assert cause.__traceback__ is not None
    assert error.without_frames() is error
    assert (cause.__traceback__, context.__traceback__) == (None, None)
