"""The calls of a task sink at the start and the end of splits."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from decorators.reservoir_sampler import ReservoirSampler
from ingest.api import (
    Batch,
    Event,
    OnError,
    Record,
    RecordPlace,
    SinkResult,
    TaskSink,
    TaskSpec,
    UnreadError,
    WriteCounts,
)
from ingest.dead_letters.buffer import DeadLetterBuffer
from ingest.masks import Masks
from ingest.pipeline.chain import Chain
from ingest.pipeline.in_process import InProcessHost
from ingest.pipeline.loop import MicroBatch, StoppedError, run_until_durable
from ingest.pipeline.outcomes import BoundDecorator
from ingest.pipeline.task import SinkBinding, Task
from ingest.pipeline.time_limit import TimeLimit
from ingest.receipt import TaskStatus
from ingest.sources.decoding import Decoder
from ingest.sources.unread import unread_record

TWO_RANGES = (("/x", 0, 0), ("/x", 0, 16), ("t", 0, 3))
RECORDS = [("/x", 0, 0), ("/x", 0, 9), ("/x", 0, 16), ("t", 0, 3), ("t", 0, 4)]


class Calls(TaskSink):
    """A task sink that notes its calls."""

    def __init__(self) -> None:
        self.calls: list[object] = []

    @property
    def has_splits(self) -> bool:
        """Splits matter only if they have ranks."""
        return False

    def begin(self, spec: TaskSpec, prepared: bytes, counts: WriteCounts) -> None:
        self.calls = []
        self.begun = spec, prepared, counts

    def split_start(self, rank: int) -> None:
        self.calls.append(f"start {rank}")

    def write(self, event: Event) -> str | None:
        self.calls.append(event.origin.offset)
        return None

    def split_end(self) -> None:
        self.calls.append("end")

    def flush(self) -> SinkResult:
        return SinkResult()

    def close(self) -> None:
        self.calls.append("close")


def task_of(sink: Calls, *decorators: BoundDecorator) -> Task:
    return Task(
        pipeline="p",
        fingerprint="f",
        decode=Decoder(has_unread=True).decode,
        chain=Chain(decorators),
        bindings=[SinkBinding("calls", sink.write, OnError.STOP)],
        destinations={"calls": sink},
        on_error=OnError.STOP,
        dead_letters=DeadLetterBuffer(Masks()),
        time_limit=TimeLimit([]),
    )


def records_at(places: Sequence[RecordPlace]) -> list[Record]:
    return [Record(*place, b"k", b"v", 1_000) for place in places]


def spec_of(splits: tuple[RecordPlace, ...]) -> TaskSpec:
    return TaskSpec(Batch("1", 1_000, "1"), splits=splits)


def test_split_start_and_end_enclose_the_events_of_each_split():
    sink = Calls()
    receipt = task_of(sink).run(records_at(RECORDS), spec_of(TWO_RANGES))
    assert receipt.status is TaskStatus.DURABLE
    assert sink.calls == ["start 0", 0, 9, "end", "start 1", 16, "end", "start 2", 3, 4, "end"]


def test_destination_gets_the_spec_its_own_message_and_the_counts_of_the_receipt():
    sink = Calls()
    spec = replace(spec_of(TWO_RANGES), prepared={"calls": b"own", "other": b"of another"})
    receipt = task_of(sink).run(records_at(RECORDS), spec)
    begun, prepared, counts = sink.begun
    assert (begun, prepared) == (spec, b"own")
    assert counts is receipt.counts
    task_of(sink).run(records_at(RECORDS), spec_of(TWO_RANGES))
    assert sink.begun[1] == b""


def test_without_splits_there_is_no_split_start():
    sink = Calls()
    task_of(sink).run(records_at(RECORDS), spec_of(()))
    assert sink.calls == [0, 9, 16, 3, 4, "end"]


def test_end_of_a_task_closes_its_destinations():
    sink = Calls()
    task_of(sink).close()
    assert sink.calls == ["close"]


def test_buffered_events_are_written_before_their_split_ends():
    sampler = ReservoirSampler(ReservoirSampler.settings_class()(k=9))
    sink = Calls()
    task_of(sink, BoundDecorator(sampler, "sampler")).run(records_at(RECORDS), spec_of(TWO_RANGES))
    assert sink.calls == ["start 0", 0, 9, "end", "start 1", 16, "end", "start 2", 3, 4, "end"]


def test_records_that_were_not_read_together_have_a_rank_each():
    sink = Calls()
    places = [("t", 0, 3), ("t", 0, 9), ("t", 1, 0)]
    task_of(sink).run(records_at(places), replace(spec_of(tuple(places)), split_per_record=True))
    assert sink.calls == ["start 0", 3, "end", "start 1", 9, "end", "start 2", 0, "end"]


def test_record_outside_of_all_splits_stops_the_task():
    receipt = task_of(Calls()).run(records_at([("/x", 0, 0), ("/y", 0, 0)]), spec_of(TWO_RANGES))
    assert (receipt.status, receipt.code) == (TaskStatus.STOP, "split_mismatch")


def test_every_attempt_has_the_splits_of_the_micro_batch():
    sink = Calls()
    host = InProcessHost(task_of(sink), records_at([("/y", 0, 0)]))
    with pytest.raises(StoppedError) as stopped:
        run_until_durable(MicroBatch("1", 1_000, "1", splits=TWO_RANGES), {}, host)
    assert stopped.value.code == "split_mismatch"


@pytest.mark.parametrize("is_certain", [True, False])
def test_records_that_an_earlier_attempt_may_have_read_stop_a_task_with_ranks(is_certain: bool):
    """Its updates would stay, and a replay of a dead letter would count the records a second time."""
    unread = unread_record(("/x", 0, 0), 1_000, UnreadError("it has changed", is_certain=is_certain))
    receipt = task_of(Calls()).run([unread], spec_of(TWO_RANGES))
    # `on_error` of the task is stop: without it the record would be a dead letter
    assert (receipt.status, receipt.code) == (
        TaskStatus.STOP,
        "stopped_by_event" if is_certain else "position_lost",
    )
    if not is_certain:
        assert receipt.message.startswith("it has changed; restore it as it was; or move the checkpoint away")
    without_ranks = task_of(Calls()).run([unread], spec_of(()))
    assert without_ranks.code == "stopped_by_event"
