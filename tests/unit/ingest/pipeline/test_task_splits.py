"""The calls of a task sink at the start and the end of splits."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from decorators.reservoir_sampler import ReservoirSampler
from ingest import failpoint
from ingest.api import (
    Batch,
    Decoding,
    Event,
    IngestError,
    OnError,
    Record,
    RecordPlace,
    SinkResult,
    StoreUnavailableError,
    TaskSink,
    TaskSpec,
    UnreadError,
    WriteCounts,
)
from ingest.dead_letters.buffer import DeadLetterBuffer
from ingest.masks import Masks
from ingest.pipeline.chain import Chain
from ingest.pipeline.dead_lettering import DeadLetterMaker
from ingest.pipeline.in_process import InProcessHost
from ingest.pipeline.loop import MicroBatch, StoppedError, run_until_durable
from ingest.pipeline.outcomes import BoundDecorator
from ingest.pipeline.sink_binding import SinkBinding
from ingest.pipeline.task import Task
from ingest.pipeline.time_limit import TimeLimit
from ingest.receipt import TaskStatus
from ingest.sources.decoding import Decoder
from ingest.sources.unread import unread_record

TWO_RANGES = (("/x", 0, 0), ("/x", 0, 16), ("t", 0, 3))
RECORDS = [("/x", 0, 0), ("/x", 0, 9), ("/x", 0, 16), ("t", 0, 3), ("t", 0, 4)]


class Calls(TaskSink):
    """
    A task sink that notes its calls; without `has_splits` splits matter to it only if they have ranks.

    Args:
        probed_by: what it can be probed with.
        failure: of `flush`.
    """

    def __init__(self, *, has_splits: bool = False, probed_by: bytes = b"", failure: IngestError | None = None) -> None:
        self.calls: list[object] = []
        self.abandoned = 0
        self._has_splits = has_splits
        self._probed_by = probed_by
        self._failure = failure

    @property
    def has_splits(self) -> bool:
        return self._has_splits

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
        if self._failure is not None:
            raise self._failure
        return SinkResult()

    def probe(self) -> bytes:
        return self._probed_by

    def abandon(self) -> None:
        self.abandoned += 1

    def close(self) -> None:
        self.calls.append("close")


def task_of(sink: Calls, *decorators: BoundDecorator, **changed: Any) -> Task:
    """A task that writes to a sink; `changed` are arguments of `Task`."""
    arguments = {
        "decode": Decoder(Decoding(has_unread=True)).decode,
        "chain": Chain(decorators),
        "bindings": [SinkBinding("calls", sink.write, OnError.STOP)],
        "destinations": {"calls": sink},
        "on_error": OnError.STOP,
        "dead_letter_maker": DeadLetterMaker("p", "f"),
        "dead_letters": DeadLetterBuffer(Masks()),
        "time_limit": TimeLimit([]),
    }
    return Task(**(arguments | changed))


def sampler_of(k: int) -> BoundDecorator:
    """A decorator that keeps so many events of a split."""
    return BoundDecorator(ReservoirSampler(ReservoirSampler.settings_class()(k=k)), "sampler")


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


def test_destination_with_splits_has_one_for_each_partition():
    sink = Calls(has_splits=True)
    task_of(sink).run(records_at(RECORDS), spec_of(()))
    assert sink.calls == [0, 9, 16, "end", 3, 4, "end"]


def test_decorator_with_splits_has_one_for_each_partition():
    """Two partitions: the sampler would keep one event of both if they were one split."""
    sink = Calls()
    task_of(sink, sampler_of(1)).run(records_at([("t", 0, 3), ("t", 1, 8)]), spec_of(()))
    assert sink.calls == [3, "end", 8, "end"]


def test_end_of_a_task_closes_its_destinations():
    sink = Calls()
    task_of(sink).close()
    assert sink.calls == ["close"]


def test_buffered_events_are_written_before_their_split_ends():
    sink = Calls()
    task_of(sink, sampler_of(9)).run(records_at(RECORDS), spec_of(TWO_RANGES))
    assert sink.calls == ["start 0", 0, 9, "end", "start 1", 16, "end", "start 2", 3, 4, "end"]


def test_records_that_were_not_read_together_have_a_rank_each():
    sink = Calls()
    places = [("t", 0, 3), ("t", 0, 9), ("t", 1, 0)]
    task_of(sink).run(records_at(places), replace(spec_of(tuple(places)), split_per_record=True))
    assert sink.calls == ["start 0", 3, "end", "start 1", 9, "end", "start 2", 0, "end"]


def test_decorator_does_not_compare_records_that_were_not_read_together():
    sink = Calls()
    spec = replace(spec_of(()), split_per_record=True)
    task_of(sink, sampler_of(1)).run(records_at([("t", 0, 3), ("t", 0, 9)]), spec)
    assert sink.calls == [3, "end", 9, "end"]


def test_records_that_no_decorator_compares_may_be_one_split():
    """The end of a split costs a destination more than an event."""
    sink = Calls()
    task_of(sink).run(records_at([("t", 0, 3), ("t", 0, 9)]), replace(spec_of(()), split_per_record=True))
    assert sink.calls == [3, 9, "end"]


def test_task_writes_to_all_sinks_after_a_batch_with_selected_ones():
    """A worker process uses it for a replay and for the batches after it."""
    sink = Calls()
    task = task_of(sink)
    records = records_at([("t", 0, 3), ("t", 0, 4)])
    task.run(records, replace(spec_of(()), sinks_by_record={("t", 0, 4): frozenset({"other"})}))
    assert sink.calls == [3, "end"]
    task.run(records, spec_of(()))
    assert sink.calls == [3, 4, "end"]


def test_record_that_cannot_be_decoded_fails_alone_in_a_task_with_ranks():
    sink = Calls()
    records = records_at([("t", 0, 3), ("t", 0, 4)])
    records[0] = records[0]._replace(value=bytes(2_000_000))
    receipt = task_of(sink, on_error=OnError.DROP).run(records, spec_of(TWO_RANGES))
    assert (receipt.status, receipt.counts.failed, sink.calls) == (TaskStatus.DURABLE, 1, ["start 2", 4, "end"])


def test_error_of_a_decoder_that_is_of_no_record_blocks_the_task():
    def unavailable(record: Record) -> str:
        raise StoreUnavailableError("no descriptor", code="disk_busy")

    sink = Calls()
    receipt = task_of(sink, decode=unavailable).run(records_at(RECORDS), spec_of(()))
    assert (receipt.status, receipt.code, receipt.counts.read) == (TaskStatus.BLOCKED, "disk_busy", 0)


class Flushed(Calls):
    """Notes `flush`, too."""

    def flush(self) -> SinkResult:
        self.calls.append("flush")
        return super().flush()


def test_failpoints_of_a_task_enclose_its_events(monkeypatch: pytest.MonkeyPatch):
    """`after_last_send` is reached once the rows are durable."""
    sink = Flushed()
    points = ("after_poll", "mid_decorate", "after_last_send")
    monkeypatch.setattr(failpoint, "_armed", {name: lambda name=name: sink.calls.append(name) for name in points})
    task_of(sink).run(records_at([("t", 0, 3), ("t", 0, 4)]), spec_of(()))
    assert sink.calls == ["after_poll", "mid_decorate", 3, "mid_decorate", 4, "end", "flush", "after_last_send"]


def test_blocked_task_has_the_probe_of_the_first_destination_with_one():
    away = StoreUnavailableError("away")
    sinks = {"idle": Calls(failure=away), "blocked": Calls(probed_by=b"row"), "later": Calls(probed_by=b"rows")}
    receipt = task_of(sinks["idle"], destinations=sinks).run(records_at(RECORDS), spec_of(()))
    assert (receipt.status, receipt.probe) == (TaskStatus.BLOCKED, ("blocked", b"row"))


def test_every_sink_of_an_attempt_that_does_not_flush_abandons_it():
    """The next attempt may run in another process, so what is under way may not go on."""
    away = StoreUnavailableError("away")
    sinks = {"blocked": Calls(failure=away), "other": Calls()}
    task = task_of(sinks["blocked"], destinations=sinks)
    task.run(records_at(RECORDS), spec_of(()))
    assert [sink.abandoned for sink in sinks.values()] == [1, 1]
    sink = Calls()
    task_of(sink).run(records_at([("/x", 0, 0), ("/y", 0, 0)]), spec_of(TWO_RANGES))
    assert sink.abandoned == 1
    task_of(sink).run(records_at(RECORDS), spec_of(()))
    assert sink.abandoned == 1


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
