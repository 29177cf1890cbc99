"""An event that failed is freed once it is reported, without a garbage collection."""

import gc
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from decorators.explode import Explode
from decorators.template import Value
from ingest.api import DecorateError, Event, IngestError, Mutation, OnError, Put, Record, TaskSpec, WriteRejectedError
from ingest.config.model import Component
from ingest.pipeline.task import Task
from ingest.plan.assemble import live_task
from ingest.receipt import TaskStatus
from sinks.mapping.attr2hbase import Attr2HBase
from sinks.memory import MemoryStore
from sinks.writing.bisection import apply_all_but_refused
from tests.support.parts import planned
from tests.support.plans import decorator, plan, record, sink

ROW = decorator(Value, attribute="2hb_", value="%{key}")
CELL = decorator(Value, attribute="2hb_f:q", value="too large")


class Refusing(Value):
    """Refuses with an error that has a cause."""

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


def decorator_of(component: type) -> Component[Any]:
    return planned(component.kind, f"{__name__}:{component.__name__}", ROW.settings, OnError.DROP)


LINES = decorator(Explode, form="lines", source="x", attribute="y")
TWO_LINES = decorator(Value, attribute="x", value="a\nb")
TOO_LARGE = sink(on_error=OnError.DROP, columns={"max_value_bytes": "1B"})
BUG = planned("buggy", f"{__name__}:BuggySink", sink().settings, OnError.DROP)


@pytest.fixture(autouse=True)
def without_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaked(task: Task, records: list[Record], spec: TaskSpec) -> int:
    """Number of events that a micro-batch without a stored event leaves in memory."""
    before = count()
    receipt = task.run(records, spec)
    assert (receipt.status, receipt.counts.stored) == (TaskStatus.DURABLE, 0)
    assert sum(receipt.counts.dropped.values()) >= len(records)
    return count() - before


def count(kind: type = Event) -> int:
    return sum(type(each) is kind for each in gc.get_objects())


@pytest.mark.parametrize(
    ("decorators", "sinks"),
    [
        pytest.param((decorator_of(Refusing),), (), id="plain"),
        pytest.param((decorator_of(Buggy),), (), id="plain-bug"),
        pytest.param((TWO_LINES, LINES, decorator_of(Refusing)), (), id="fan-out"),
        pytest.param((TWO_LINES, LINES, decorator_of(Buggy)), (), id="fan-out-bug"),
        pytest.param((ROW, CELL), (TOO_LARGE,), id="sink"),
        pytest.param((ROW, CELL), (BUG,), id="sink-bug"),
        pytest.param((ROW, CELL), (TOO_LARGE, BUG), id="two-sinks"),
    ],
)
def test_refused_events_are_freed(spec, decorators, sinks):
    task = live_task(plan(*sinks, decorators=decorators))
    records = [record("a", "x", offset) for offset in range(20)]
    leaked(task, records, spec)
    assert leaked(task, records, spec) == 0


def test_mutations_that_a_store_refused_are_freed():
    class Refusing(MemoryStore):
        def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
            raise WriteRejectedError("no")

    def refused() -> int:
        puts = [Put(b"r", {b"f:q": b"v"}, number) for number in range(4)]
        return len(apply_all_but_refused(Refusing(), "t", puts))

    before = count(Put)
    assert refused() == 4
    assert count(Put) == before


def test_without_frames_clears_an_error_and_its_causes():
    def fail() -> None:
        try:
            b"".index(b"x")
        except ValueError:
            dict[str, str]().pop("x")

    try:
        fail()
    except KeyError as caught:
        error = IngestError("no")
        error.__cause__ = cause = caught
    context = cause.__context__
    assert isinstance(context, ValueError)
    assert cause.__traceback__ is not None
    assert error.without_frames() is error
    assert (cause.__traceback__, context.__traceback__) == (None, None)
