"""
The contract of every sink without a store, as tests that need no Spark.

A sink is checked with a subclass and a fixture that creates it::

    class TestMySink(SinkContract):
        @pytest.fixture
        def kit(self, tmp_path):
            sink = MySink(MySettings(path=str(tmp_path / "data")))
            return SinkKit(sink, tmp_path / "state", visible=read_all, seen=lambda event: event.body)

Each test runs micro-batches as a pipeline does: `prepare`, tasks, `commit`. To simulate a killed process, it discards
the writers and the committer without closing them, and creates others.
"""
# this module is tests: asserts, names that say what they check, and small numbers
# ruff: noqa: S101, D102

import inspect
import itertools
import pickle
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ingest.api import Batch, Event, EventError, Sink, SinkContext, SinkResult, SinkWriter, TaskSpec, WriteCounts
from ingest.plugins.contract import check_component

__all__ = ["SinkContract", "SinkKit"]

_MAX_ATTEMPTS = 5
_SPLITS = tuple(("topic", task, 0) for task in range(10))  # one for each task
_attempts = itertools.count()


def _plain(number: int) -> Event:
    return Event(b"event %d" % number, {"number": b"%d" % number})


def _nothing() -> Collection[object]:
    return ()


@dataclass(frozen=True, slots=True)
class SinkKit:
    """
    A sink to check.

    Attributes:
        sink: constructed; each start creates its writers and committer.
        state_dir: an empty folder.
        visible: what readers see now, an item for each event, in any order.
        seen: event -> its item in `visible`.
        staged: what is staged and not committed.
        event: number -> an event that the sink accepts; different numbers give different events.
        refused: an event that the sink refuses; None if it accepts every event.
        writes_at_once: tasks write directly to the destination: a flush is visible before its commit, and an abort
            removes nothing.
        is_keyed: the destination overwrites events by their key, as a store does: a second run of a batch keeps those
            of the first.
    """

    sink: Sink[Any]
    state_dir: Path
    visible: Callable[[], Iterable[Any]]
    seen: Callable[[Event], Any]
    staged: Callable[[], Collection[object]] = _nothing
    event: Callable[[int], Event] = _plain
    refused: Event | None = None
    writes_at_once: bool = False
    is_keyed: bool = False

    def events(self, *numbers: int) -> list[Event]:
        """Some events."""
        return [self.event(number) for number in numbers]

    def assert_visible(self, *numbers: int) -> None:
        """Assert that readers see exactly these events, each once."""
        assert sorted(self.visible()) == sorted(self.seen(event) for event in self.events(*numbers))


class _Start:
    """The writers and the committer of a sink after one start of its pipeline."""

    def __init__(self, kit: SinkKit) -> None:
        self._context = SinkContext("p", kit.sink.kind, kit.state_dir)
        self._sink = kit.sink
        self._writers: list[SinkWriter] = []
        self.committer = kit.sink.committer(self._context)
        self.committer.recover()

    def flush(self, name: str, *parts: Sequence[Event]) -> tuple[Batch, list[bytes]]:
        """Run a micro-batch, a task for each part of its events, until no task requests another attempt."""
        requests: list[bytes] = []
        for _ in range(_MAX_ATTEMPTS):
            batch = batch_of(name)
            prepared = self.committer.prepare(batch, requests)
            assert type(prepared) is bytes
            results = []
            for number, part in enumerate(parts):
                self.write(number, batch, prepared, part)
                result = self.writer(number).flush()
                assert isinstance(result, SinkResult)
                assert type(result.payload) is bytes
                results.append(result)
            if not any(result.run_again for result in results):
                return batch, [result.payload for result in results]
            self.committer.abort(batch)
            requests += [result.payload for result in results if result.run_again]
        raise AssertionError(f"the sink requests more than {_MAX_ATTEMPTS} attempts at a batch")

    def write(self, number: int, batch: Batch, prepared: bytes, events: Sequence[Event]) -> None:
        """Run a task up to its flush."""
        writer = self.writer(number)
        spec = TaskSpec(batch, task_id=f"{number}-{next(_attempts)}", splits=_SPLITS)
        writer.begin(spec, prepared, WriteCounts())
        writer.split_start(number)
        for event in events:
            assert writer.write(event) is None
        writer.split_end()

    def run(self, name: str, *parts: Sequence[Event]) -> None:
        """Run a micro-batch up to its commit."""
        self.committer.commit(*self.flush(name, *parts))

    def writer(self, number: int) -> SinkWriter:
        """The writer of a worker process."""
        while number >= len(self._writers):
            self._writers.append(self._sink.writer(self._context))
        return self._writers[number]

    def close(self) -> None:
        """Stop in order."""
        for writer in self._writers:
            writer.close()
        self.committer.close()


def batch_of(name: str) -> Batch:
    """A new attempt at the micro-batch of this name."""
    return Batch(name, int(name), f"attempt-{next(_attempts)}")


class SinkContract:
    """Subclass it, name the subclass `Test…`, and define a fixture `kit` that returns a `SinkKit`."""

    def test_class_is_accepted_by_pipelines(self, kit: SinkKit) -> None:
        check_component(type(kit.sink), "sinks", kit.sink.kind)

    def test_settings_survive_pickling(self, kit: SinkKit) -> None:
        settings = kit.sink.settings
        assert isinstance(settings, type(kit.sink).settings_class())
        assert pickle.loads(pickle.dumps(settings)) == settings  # noqa: S301 - our own bytes

    def test_check_changes_nothing(self, kit: SinkKit) -> None:
        context = SinkContext("p", kit.sink.kind, kit.state_dir)
        assert list(inspect.signature(kit.sink.check).parameters) == list(inspect.signature(Sink.check).parameters)[1:]
        assert isinstance(kit.sink.check(context), str)
        assert not kit.staged()
        start = _Start(kit)
        flushed = start.flush("1000", kit.events(1, 2))
        assert isinstance(kit.sink.check(context), str), "the service may be running"
        start.committer.commit(*flushed)
        kit.assert_visible(1, 2)

    def test_events_of_all_tasks_are_visible_after_the_commit(self, kit: SinkKit) -> None:
        start = _Start(kit)
        start.run("1000", kit.events(1, 2), [], kit.events(3))
        kit.assert_visible(1, 2, 3)
        assert not kit.staged()

    def test_several_batches_in_one_run(self, kit: SinkKit) -> None:
        start = _Start(kit)
        start.run("1000", kit.events(1, 2))
        start.run("2000", [])
        start.run("3000")
        start.run("4000", kit.events(3), kit.events(4))
        start.close()
        kit.assert_visible(1, 2, 3, 4)

    def test_nothing_is_visible_before_the_commit(self, kit: SinkKit) -> None:
        start = _Start(kit)
        flushed = start.flush("1000", kit.events(1))
        if not kit.writes_at_once:
            kit.assert_visible()
        start.committer.commit(*flushed)
        kit.assert_visible(1)

    def test_second_commit_of_a_batch_changes_nothing(self, kit: SinkKit) -> None:
        start = _Start(kit)
        for _ in range(2):
            start.run("1000", kit.events(1, 2), kit.events(3))
            kit.assert_visible(1, 2, 3)
        assert not kit.staged()

    def test_second_run_of_a_batch_replaces_its_events(self, kit: SinkKit) -> None:
        """The batch was not acknowledged, and runs again with a corrected configuration."""
        if kit.is_keyed:
            pytest.skip("the destination overwrites events by their key")
        start = _Start(kit)
        start.run("1000", kit.events(1))
        start.run("2000", kit.events(2, 3), kit.events(4))
        again = _Start(kit)
        again.run("2000", kit.events(3, 5))
        kit.assert_visible(1, 3, 5)
        again.run("2000", [])
        kit.assert_visible(1)
        assert not kit.staged()

    def test_aborted_attempt_leaves_nothing(self, kit: SinkKit) -> None:
        if kit.writes_at_once:
            pytest.skip("tasks write directly to the destination")
        start = _Start(kit)
        batch, _ = start.flush("1000", kit.events(1), kit.events(2))
        start.committer.abort(batch)
        kit.assert_visible()
        assert not kit.staged()
        start.run("1000", kit.events(1, 2))
        kit.assert_visible(1, 2)

    def test_abandoned_flush_cycle_is_discarded(self, kit: SinkKit) -> None:
        start = _Start(kit)
        batch = batch_of("1000")
        start.write(0, batch, start.committer.prepare(batch, ()), kit.events(1, 2))
        start.committer.abort(batch)
        start.run("1000", kit.events(3))
        kit.assert_visible(3)

    def test_kill_within_a_task_leaves_nothing_after_recovery(self, kit: SinkKit) -> None:
        killed = _Start(kit)
        batch = batch_of("1000")
        killed.write(0, batch, killed.committer.prepare(batch, ()), kit.events(1, 2))
        start = _Start(kit)
        assert not kit.staged()
        start.run("1000", kit.events(1, 2))
        kit.assert_visible(1, 2)

    def test_kill_between_flush_and_commit_runs_the_batch_again(self, kit: SinkKit) -> None:
        _Start(kit).flush("1000", kit.events(1, 2), kit.events(3))
        start = _Start(kit)
        assert not kit.staged()
        start.run("1000", kit.events(1, 2), kit.events(3))
        kit.assert_visible(1, 2, 3)

    @pytest.mark.parametrize("tasks", [1, 2, 3])
    def test_kill_after_the_commit_writes_no_event_twice(self, kit: SinkKit, tasks: int) -> None:
        """The batch was not acknowledged: it runs again, divided among other tasks."""
        _Start(kit).run("1000", kit.events(1, 2), kit.events(3))
        start = _Start(kit)
        events = kit.events(1, 2, 3)
        start.run("1000", *(events[number::tasks] for number in range(tasks)))
        start.run("2000", kit.events(4))
        kit.assert_visible(1, 2, 3, 4)
        assert not kit.staged()

    def test_recovery_keeps_what_is_committed(self, kit: SinkKit) -> None:
        _Start(kit).run("1000", kit.events(1, 2))
        _Start(kit).close()
        kit.assert_visible(1, 2)

    def test_refused_event_does_not_affect_others(self, kit: SinkKit) -> None:
        if kit.refused is None:
            pytest.skip("the sink accepts every event")
        start = _Start(kit)
        start.run("1000", kit.events(3))
        batch = batch_of("2000")
        start.write(0, batch, start.committer.prepare(batch, ()), kit.events(1))
        writer = start.writer(0)
        with pytest.raises(EventError):
            writer.write(kit.refused)
        assert writer.write(kit.event(2)) is None
        start.committer.commit(batch, [writer.flush().payload])
        kit.assert_visible(1, 2, 3)

    def test_close_without_a_batch_and_again(self, kit: SinkKit) -> None:
        start = _Start(kit)
        start.writer(0)
        start.close()
        start.close()
