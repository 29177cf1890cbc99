"""One task, from records to a receipt, into a memory store."""

import asyncio
import errno
import os
import socket
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from decorators.explode import Explode
from decorators.filter import Filter
from decorators.json import Json
from decorators.regex import Regex
from decorators.split import Split
from decorators.template import Value
from ingest.api import (
    Buffered,
    Decoding,
    Delete,
    Event,
    FamilySpec,
    FanOut,
    OffsetUnit,
    OnError,
    Record,
    Row,
    Scan,
    Settings,
    StoreUnavailableError,
    TableSpec,
    TaskSpec,
    Tombstones,
    UnreadError,
    WriteRejectedError,
)
from ingest.config.model import Component
from ingest.dead_letters.budget import ErrorBudget
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.observe.logs import set_up
from ingest.pipeline.in_process import InProcessHost
from ingest.pipeline.loop import MicroBatch, StoppedError, run_until_durable
from ingest.pipeline.task import Task
from ingest.plan import assemble
from ingest.plan.assemble import live_task
from ingest.plan.plan import Plan
from ingest.receipt import Counts, Receipt, TaskStatus
from ingest.sources.decoding import Decoder
from ingest.sources.unread import unread_record
from sinks.hbase.settings import HBaseSettings
from sinks.mapping.attr2hbase import Attr2HBase
from sinks.mapping.mapper import Skipped
from sinks.memory import MemorySettings, MemoryStore
from sinks.writing import staging
from sinks.writing.messages import StoreResult
from sinks.writing.sections import SECTION_BYTES
from sinks.writing.store_committer import StoreCommitter
from tests.support.parts import planned
from tests.support.plans import decorator, plan, record, sink
from tests.support.without_spark import apply_results, spec_of

TICK = (
    decorator(Split, separator=":", index=0, attribute="2hb_f:ts"),
    decorator(Split, separator=":", index=1, attribute="2hb_f:value"),
    decorator(Value, attribute="2hb_", value="%{key}"),
)


def staged_by(receipt: Receipt) -> str:
    """The file that a task staged."""
    file = StoreResult.unpacked(receipt.results["logs"].payload).staged
    assert file is not None
    return file.path


def stored(receipt: Receipt) -> list[Row]:
    """The rows that the driver applies from the staged files."""
    store = MemoryStore(MemorySettings())
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    apply_results(store, receipt)
    return list(store.scan("t", Scan()))


def next_attempt(spec: TaskSpec) -> TaskSpec:
    return replace(spec, batch=replace(spec.batch, attempt="1-1"))


def test_events_become_rows_staged_for_the_driver(spec):
    receipt = live_task(plan(decorators=TICK)).run([record("a", "1:2"), record("b", "3:4", 1)], spec)
    assert (receipt.status, receipt.counts.read, receipt.counts.stored) == (TaskStatus.DURABLE, 2, 2)
    rows = stored(receipt)
    assert [row.key for row in rows] == [b"a", b"b"]
    assert {cell.timestamp_ms for row in rows for cell in row.cells} == {5_000}


def test_every_record_is_counted_once(spec):
    records = [record("a", "1:2"), record("", "1:2", 1), record("b", None, 2), record("c", "x" * 20, 3)]
    small = plan(decorators=TICK, decoding=Decoding(max_event_bytes=10))
    counts = live_task(small).run(records, spec).counts
    assert counts.read == 4
    assert counts.stored == 1
    assert counts.dropped == Counter(tombstone=1)
    assert counts.dead_lettered == Counter(empty_row_key=1, too_large=1)


def test_dead_letter_has_the_record_and_the_component(spec):
    receipt = live_task(plan(decorators=TICK)).run([record("", "1:2", 7)], spec)
    dead_letter = DeadLetter.from_json(receipt.dead_letters[0])
    assert (dead_letter.record, dead_letter.component, dead_letter.code) == (
        record("", "1:2", 7),
        "attr2hbase",
        "empty_row_key",
    )
    assert dead_letter.batch_time_ms == 5_000
    assert dead_letter.attributes["2hb_f:ts"] == b"1"


def test_two_sinks_count_an_event_once_and_name_the_one_that_refused(spec):
    two = plan(sink("good"), sink("picky", columns={"max_value_bytes": "1B"}), decorators=TICK)
    receipt = live_task(two).run([record("a", "1:2"), record("b", "12:34", 1)], spec)
    assert (receipt.counts.stored, receipt.counts.dead_lettered.total()) == (1, 1)
    assert DeadLetter.from_json(receipt.dead_letters[0]).component == "picky"


def test_sink_writes_only_the_events_that_meet_its_condition(spec):
    chosen = plan(sink(when="%{key} == 'a'"), decorators=TICK)
    counts = live_task(chosen).run([record("a", "1:2"), record("b", "1:2", 1)], spec).counts
    assert (counts.stored, counts.dropped) == (1, Counter(no_sink=1))


def test_sink_condition_that_has_no_value_fails_the_event(spec):
    chosen = plan(sink(when="%{int(%{key})} > 1"), decorators=TICK)
    receipt = live_task(chosen).run([record("2", "1:2"), record("x", "1:2", 1)], spec)
    assert (receipt.status, receipt.counts.stored) == (TaskStatus.DURABLE, 1)
    assert receipt.counts.dead_lettered == Counter(not_a_number=1)


def test_on_error_drop_counts_the_event_without_a_dead_letter(spec):
    dropping = plan(sink(on_error=OnError.DROP), decorators=TICK)
    receipt = live_task(dropping).run([record("", "1:2")], spec)
    assert (receipt.counts.dropped, receipt.dead_letters) == (Counter(on_error=1), [])


def test_on_error_stop_names_the_event_and_the_component(spec):
    stopping = plan(sink(on_error=OnError.STOP), decorators=TICK)
    receipt = live_task(stopping).run([record("", "1:2", 9)], spec)
    assert receipt.status is TaskStatus.STOP
    assert '"attr2hbase" refused event ticks/0/9' in receipt.message


def test_unknown_family_is_reported_to_the_driver(spec):
    other = (*TICK, decorator(Value, attribute="2hb_new:x", value="1"))
    receipt = live_task(plan(decorators=other)).run([record("a", "1:2")], spec)
    assert receipt.status is TaskStatus.RUN_AGAIN
    assert StoreResult.unpacked(receipt.results["logs"].payload).needs_families == {"t": {b"new"}}


def test_repeated_task_has_the_same_result(spec, tmp_path):
    task = live_task(plan(decorators=TICK))
    first = task.run([record("a", "1:2")], spec)
    content = Path(staged_by(first)).read_bytes()
    second = task.run([record("a", "1:2")], spec)
    assert (second.counts.read, Path(staged_by(second)).read_bytes()) == (1, content)


class Buggy(Value):
    """A decorator with a bug."""

    def decorate(self, event):
        raise KeyError("unforeseen")


def test_bug_of_a_decorator_is_logged_once_with_its_traceback(spec, capsys):
    set_up()
    module = sys.modules[__name__]
    sys.modules["buggy_decorators"] = module
    bug = planned("buggy", "buggy_decorators:Buggy", TICK[2].settings, OnError.DEAD_LETTER)
    receipt = live_task(plan(decorators=(bug,))).run([record("a", "1:2"), record("b", "1:2", 1)], spec)
    assert receipt.counts.dead_lettered == Counter(decorator_bug=2)
    lines = capsys.readouterr().err
    assert lines.count("a component has a bug") == 1
    assert "unforeseen" in lines


@pytest.mark.parametrize("read_before", [True, False])
def test_records_that_could_not_be_read_are_a_dead_letter_by_place(spec, read_before):
    error = UnreadError("it is truncated", end=90, read_before=read_before, code="damaged_file")
    unread = unread_record(("/b.gz", 0, 20), 500, error)
    receipt = live_task(plan(decorators=TICK, decoding=Decoding(has_unread=True))).run(
        [record("a", "1:2"), unread], spec
    )
    (line,) = receipt.dead_letters
    letter = DeadLetter.from_json(line)
    assert letter.record == Record("/b.gz", 0, 20, b"", None, 500, ())
    assert letter.by_place == PlaceRange(90, read_before=read_before)
    assert (letter.code, letter.message) == ("damaged_file", "it is truncated")
    assert (letter.component, letter.attributes) == ("source", {})
    assert (receipt.counts.records, receipt.counts.failed, receipt.counts.stored) == (2, 1, 1)
    assert receipt.counts.dead_lettered == Counter(damaged_file=1)


class BuggyDecoder(Decoder):
    """A decoder with a bug."""

    def decode(self, record):
        if record.key == b"x":
            raise KeyError("unforeseen")
        return super().decode(record)


@pytest.mark.parametrize("on_error", [OnError.DEAD_LETTER, OnError.DROP])
def test_bug_of_a_decoder_fails_only_its_record(spec, monkeypatch, on_error):
    monkeypatch.setattr(assemble, "live_decoder", lambda plan: BuggyDecoder())
    made = replace(plan(decorators=TICK), on_error=on_error)
    receipt = live_task(made).run([record("x", "1:2"), record("a", "1:2", 1)], spec)
    assert (receipt.status, receipt.counts.stored, receipt.counts.read) == (TaskStatus.DURABLE, 1, 2)
    failed = receipt.counts.dead_lettered or receipt.counts.dropped
    assert failed == Counter({"source_bug" if on_error is OnError.DEAD_LETTER else "on_error": 1})


class BuggySink(Attr2HBase):
    """A sink with a bug."""

    error: BaseException = KeyError("unforeseen")

    def map(self, event, batch_time_ms):
        if event.key == b"x":
            raise self.error
        return super().map(event, batch_time_ms)


@pytest.mark.parametrize("error", [KeyError("unforeseen"), asyncio.CancelledError()], ids=repr)
def test_bug_of_a_sink_fails_only_its_event(spec, monkeypatch, error):
    monkeypatch.setattr(BuggySink, "error", error)
    sys.modules["buggy_sinks"] = sys.modules[__name__]
    made = sink()
    bug = planned("buggy", "buggy_sinks:BuggySink", made.settings, made.on_error)
    records = [record("x", "1:2"), record("a", "1:2", 1)]
    receipt = live_task(plan(bug, decorators=TICK)).run(records, spec)
    assert (receipt.status, receipt.counts.stored) == (TaskStatus.DURABLE, 1)
    assert receipt.counts.dead_lettered == Counter(sink_bug=1)


class SkippingSink(Attr2HBase):
    """A sink that gives a reason of the wrong type."""

    def map(self, event, batch_time_ms):
        return Skipped(5)


def test_reason_of_a_drop_that_is_no_text_is_a_bug_of_the_sink(spec):
    sys.modules["buggy_sinks"] = sys.modules[__name__]
    made = sink()
    skipping = replace(planned("skipping", "buggy_sinks:SkippingSink", made.settings, made.on_error), provider="mine")
    receipt = live_task(plan(skipping, decorators=TICK)).run([record("x", "1:2")], spec)
    assert receipt.counts.dead_lettered == Counter(sink_bug=1)
    (dead_letter,) = map(DeadLetter.from_json, receipt.dead_letters)
    assert dead_letter.message.startswith("TypeError: write returned 5; it must return None")


@pytest.mark.parametrize("on_error", OnError)
@pytest.mark.parametrize("size", [10, SECTION_BYTES // 2], ids=["at the end", "on the way"])
def test_full_disk_blocks_and_fails_no_event(spec, monkeypatch, on_error, size):
    def full(*_arguments: object, **_options: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    task = live_task(plan(sink(on_error=on_error), decorators=TICK, on_error=on_error))
    records = [record(key, f"1:{'x' * size}", offset) for offset, key in enumerate("abcd")]
    with monkeypatch.context() as patched:
        patched.setattr(staging, "open_private", full)
        receipt = task.run(records, spec)
    assert (receipt.status, receipt.code) == (TaskStatus.BLOCKED, "disk_full")
    assert "No space left" in receipt.message
    again = task.run(records, next_attempt(spec))
    assert (again.status, again.counts.stored) == (TaskStatus.DURABLE, 4)


class Hungry(Attr2HBase):
    """A sink that runs out of memory."""

    def map(self, event, batch_time_ms):
        raise MemoryError


def test_out_of_memory_blocks_and_fails_no_event(spec):
    sys.modules["hungry_sinks"] = sys.modules[__name__]
    hungry = planned("hungry", "hungry_sinks:Hungry", sink().settings, OnError.DEAD_LETTER)
    receipt = live_task(plan(hungry, decorators=TICK)).run([record("a", "1:2", 7)], spec)
    assert (receipt.status, receipt.code, receipt.dead_letters) == (TaskStatus.BLOCKED, "out_of_memory", [])
    assert receipt.message.startswith('"hungry" ran out of memory for event ticks/0/7: MemoryError')


SHORT = {"max_value_bytes": "2B"}


class TestManyEventsOfARecord:
    """A record that a fan-out turns into many failing events does not stop the pipeline."""

    PARTS = decorator(Explode, form="separated", separator=",", attribute="2hb_f:part")
    ROW = decorator(Value, attribute="2hb_", value="%{key}-%{fan_out()}")

    @pytest.fixture
    def run(self, spec):
        def runs(*records: Record, sinks: Sequence[Component[Any]] = ()) -> Receipt:
            several = plan(*(sinks or [sink(columns=SHORT)]), decorators=(self.PARTS, self.ROW))
            return live_task(several).run(records, spec)

        return runs

    def test_events_with_the_same_error_have_one_dead_letter(self, run):
        large = record("k", ",".join(["x" * 9_000] * 100))
        receipt = run(large)
        assert (receipt.status, receipt.counts.read) == (TaskStatus.DURABLE, 100)
        assert receipt.counts.dead_lettered == Counter(value_too_large=100)
        (dead_letter,) = map(DeadLetter.from_json, receipt.dead_letters)
        assert (dead_letter.events, dead_letter.fan_out, dead_letter.record) == (100, 0, large)

    @pytest.mark.parametrize(
        ("body", "failed"),
        [("1,2,3", 0), ("1,2,333", 1 / 3), ("1,222,333", 2 / 3), ("111,222,333", 1), (",".join(["333"] * 49), 1)],
    )
    def test_record_counts_by_the_fraction_of_its_failed_events(self, run, body, failed):
        counts = run(record("k", body), record("k", "1", 1)).counts
        assert (counts.records, counts.failed) == (2, failed)

    @pytest.mark.parametrize("on_error", [OnError.DEAD_LETTER, OnError.DROP])
    def test_event_that_two_sinks_refuse_is_one_failure(self, run, on_error):
        sinks = [sink(name, columns=SHORT, on_error=on_error) for name in ("one", "two")]
        counts = run(record("k", "1,222"), sinks=sinks).counts
        assert (counts.records, counts.failed) == (1, 0.5)

    def test_records_that_cannot_be_decoded_count_as_failed(self, run):
        counts = run(record("k", "x" * 2_000_000), record("k", None, 1)).counts
        assert (counts.records, counts.failed) == (2, 1)

    def test_one_record_of_many_failed_events_does_not_spend_the_error_budget(self, run):
        good = [record("k", "1", offset) for offset in range(1_999)]
        counts = run(*good, record("k", ",".join(["333"] * 1_100), 1_999)).counts
        assert counts.dead_lettered == Counter(value_too_large=1_100)
        assert not ErrorBudget(share=0.05, min_events=1_000, window_s=300).spend(0, counts.records, counts.failed)


class PickyStore(MemoryStore):
    """A store that tasks write to; rejects calls with a value that starts with "bad", without naming the row."""

    kind = "picky"
    written: "PickyStore"

    def __init__(self, settings):
        super().__init__(settings)
        self.capabilities = replace(self.capabilities, written_by_driver=False)
        PickyStore.written = self
        self.puts: list[int] = []
        super().open()
        self.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))

    def open(self):
        """Opened by the constructor."""

    def close(self):
        """Stays open, so that the test can read it."""

    def apply(self, table, mutations):
        for mutation in mutations:
            if isinstance(mutation, Delete):
                if mutation.row.startswith(b"bad"):
                    raise WriteRejectedError("no deletes here")
            elif any(value.startswith(b"bad") for value in mutation.columns.values()):
                raise WriteRejectedError("no bad values here")
            else:
                self.puts.append(len(mutation.columns))
        super().apply(table, mutations)


class NarrowSettings(MemorySettings):
    @property
    def max_put_bytes(self) -> int | None:
        return 1


def picky(*sinks: Component[Any], settings: MemorySettings | None = None, **changed: object) -> Plan:
    sys.modules["picky_stores"] = sys.modules[__name__]
    store = planned("logs", "picky_stores:PickyStore", settings or MemorySettings())
    return plan(*sinks, decorators=TICK, stores={"logs": store}, **changed)


def run_until_done(task: Task, *records: Record) -> tuple[Counts, list[DeadLetter]]:
    """Run a batch until it is durable; at most one attempt finds rejected rows."""
    attempts: list[Counts] = []
    counts, dead_letters = run_until_durable(
        MicroBatch("5000", 5_000, "1"),
        {"logs": StoreCommitter()},
        InProcessHost(task, records),
        on_attempt=attempts.append,
    )
    assert len(attempts) <= 2
    return counts, [DeadLetter.from_json(line) for line in dead_letters]


def written() -> set[bytes]:
    return {row.key for row in PickyStore.written.scan("t", Scan())}


@pytest.mark.parametrize(("settings", "puts"), [(MemorySettings(), [2]), (NarrowSettings(), [1, 1])])
def test_put_is_split_at_the_maximum_of_the_store(spec, settings, puts):
    live_task(picky(settings=settings)).run([record("a", "1:2"), record("a", "3:4", 1)], spec)
    assert PickyStore.written.puts == puts


def test_events_whose_rows_the_store_refuses_are_dead_letters():
    records = [record(f"r{number}", f"{'bad' if number in (3, 40) else 1}:2", number) for number in range(100)]
    counts, dead_letters = run_until_done(live_task(picky()), *records)
    assert (counts.read, counts.stored, counts.dead_lettered) == (100, 98, Counter(write_rejected=2))
    assert {each.record.offset for each in dead_letters} == {3, 40}
    assert {(each.component, each.code) for each in dead_letters} == {("attr2hbase", "write_rejected")}
    assert dead_letters[0].message == 'store "logs" refused a row of table "t": no bad values here'
    assert written() == {record.key for record in records} - {b"r3", b"r40"}


def test_refused_event_counts_once_for_several_sinks():
    """The store rejects the event of two sinks, and a third sink fails: three dead letters, one event."""
    sinks = sink("first"), sink("second", table="t"), sink("picky", columns={"max_value_bytes": "2B"})
    counts, dead_letters = run_until_done(live_task(picky(*sinks)), record("a", "1:2"), record("b", "bad:2", 1))
    assert (counts.read, counts.stored, counts.dead_lettered) == (2, 1, Counter(write_rejected=1))
    assert [each.component for each in dead_letters] == ["first", "second", "picky"]


def test_event_with_a_dead_letter_of_one_sink_and_a_drop_of_another_is_dead_lettered(spec):
    sinks = sink("dropping", on_error=OnError.DROP), sink("keeping")
    receipt = live_task(plan(*sinks, decorators=TICK)).run([record("", "1:2")], spec)
    assert (receipt.counts.dropped, receipt.counts.dead_lettered) == (Counter(), Counter(empty_row_key=1))
    assert [DeadLetter.from_json(line).component for line in receipt.dead_letters] == ["keeping"]


def test_rejected_row_is_dropped_if_on_error_says_so():
    counts, dead_letters = run_until_done(live_task(picky(sink(on_error=OnError.DROP))), record("a", "bad:2"))
    assert (counts.dropped, dead_letters) == (Counter(on_error=1), [])


def test_rejected_row_stops_the_pipeline_if_on_error_says_so():
    with pytest.raises(StoppedError) as caught:
        run_until_done(live_task(picky(sink(on_error=OnError.STOP))), record("a", "bad:2"))
    assert caught.value.code == "stopped_by_event"


def test_refused_delete_is_a_dead_letter():
    deleting = live_task(picky(decoding=Decoding(tombstones=Tombstones.DELETE)))
    counts, (dead_letter,) = run_until_done(deleting, record("bad", None), record("a", None, 1), record("b", "1:2", 2))
    assert (counts.stored, counts.dead_lettered) == (2, Counter(write_rejected=1))
    assert dead_letter.record.offset == 0


def test_unacknowledged_attempt_has_no_dead_letters(spec):
    other = (*TICK, decorator(Value, attribute="2hb_new:x", value="1"))
    receipt = live_task(plan(decorators=other)).run([record("", "1:2"), record("a", "1:2", 1)], spec)
    assert (receipt.status, receipt.dead_letters) == (TaskStatus.RUN_AGAIN, [])


def test_tasks_after_a_blocked_one_do_not_wait_again(spec):
    """Each process waits for the store once in an attempt with many partitions."""
    cluster = planned("logs", "sinks.hbase.store:HBaseStore", HBaseSettings(host="127.0.0.1", port=closed_port()))
    task = live_task(plan(decorators=TICK, stores={"logs": cluster}))
    attempt = replace(spec_of(5_000, attempt="3-0"), call_timeout_s=0.1)
    first = task.run([record("a", "1:2")], attempt)
    unread = iter([record("b", "1:2")])
    second = task.run(unread, attempt)
    assert (first.status, first.code) == (second.status, second.code) == (TaskStatus.BLOCKED, "store_unavailable")
    assert len(list(unread)) == 1
    task.run(unread := iter([record("b", "1:2")]), spec_of(5_000, attempt="3-1"))  # time for the abandoned call to end
    assert list(unread) == []
    task.close()


def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class LastTwo(FanOut[Settings]):
    """Buffers the last two events of a split."""

    kind = "last_two"

    def split_start(self) -> None:
        self._buffered: list[Event] = []

    def decorate(self, event: Event) -> Buffered:
        self._buffered.append(event)
        return Buffered(self._buffered.pop(0) if len(self._buffered) > 2 else None)

    def split_end(self) -> list[Event]:
        return self._buffered


class NoFile(Value):
    """A decorator that needs a file which does not exist."""

    def split_start(self) -> None:
        raise StoreUnavailableError("no file", code="disk_busy")


def buffering(component: type = LastTwo, *sinks: Component[Any], after: tuple[Component[Any], ...] = TICK) -> Task:
    sys.modules["buffering_decorators"] = sys.modules[__name__]
    settings = TICK[2].settings if component is NoFile else Settings()
    part = planned("buffering", f"buffering_decorators:{component.__name__}", settings, OnError.DEAD_LETTER)
    return live_task(plan(*sinks, decorators=(part, *after)))


def test_buffered_events_are_written_at_the_end_of_the_split(spec):
    records = [record(key, "1:2", offset) for offset, key in enumerate("abcd")]
    receipt = buffering().run(records, spec)
    assert (receipt.status, receipt.counts.read, receipt.counts.stored) == (TaskStatus.DURABLE, 4, 2)
    assert receipt.counts.dropped == Counter(last_two=2)
    assert [row.key for row in stored(receipt)] == [b"c", b"d"]


def test_each_partition_that_a_task_reads_is_one_split(spec):
    records = [record(key, "1:2", offset) for offset, key in enumerate("abc")]
    others = [each._replace(partition=1, key=each.key + each.key) for each in records]
    elsewhere = [each._replace(topic="other", key=each.key + b"-") for each in records]
    receipt = buffering().run([*records, *others, *elsewhere], spec)
    assert (receipt.counts.read, receipt.counts.stored, receipt.counts.dropped) == (9, 6, Counter(last_two=3))
    assert [row.key for row in stored(receipt)] == [b"b", b"b-", b"bb", b"c", b"c-", b"cc"]


def test_dead_letter_of_a_buffered_event_has_its_own_record(spec):
    records = [record("a", "1:2"), record("", "3:4", 1), record("b", "1:2", 2)]
    receipt = buffering().run(records, spec)
    assert (receipt.counts.stored, receipt.counts.dropped) == (1, Counter(last_two=1))
    assert receipt.counts.dead_lettered == Counter(empty_row_key=1)
    assert [DeadLetter.from_json(line).record for line in receipt.dead_letters] == [records[1]]


def test_buffered_event_is_written_to_the_selected_sinks_of_its_record(spec):
    records = [record("a", "1:2"), record("b", "1:2", 1), record("c", "1:2", 2)._replace(partition=1)]
    selected = replace(spec, sinks_by_record={records[0].place: frozenset({"x"}), records[2].place: frozenset({"y"})})
    sinks = sink("x", when="%{key} == 'a'"), sink("y", when="%{key} == 'b'")
    counts = buffering(LastTwo, *sinks).run(records, selected).counts
    assert (counts.stored, counts.dropped) == (2, Counter(no_sink=1))


def test_selected_sinks_of_the_last_record_take_no_buffered_event_of_another(spec):
    """The sink of the second record would refuse the value of the first one."""
    records = [record("a", "1:22"), record("b", "1:2", 1)]
    selected = replace(spec, sinks_by_record={records[0].place: frozenset({"x"}), records[1].place: frozenset({"y"})})
    task = buffering(LastTwo, sink("x"), sink("y", columns={"max_value_bytes": "1B"}))
    receipt = task.run(records, selected)
    assert (receipt.counts.stored, receipt.counts.dead_lettered.total()) == (2, 0)
    assert [row.key for row in stored(receipt)] == [b"a", b"b"]


CHECKED = (decorator(Regex, pattern="(?P<all>.*:.*)", on_no_match="error"), *TICK)
"""Fails without a second part of the body."""


class TestDeadLettersByPlace:
    """What the dead letters of a task without any bytes stand for."""

    def ranges(self, *sinks: Component[Any], spec: TaskSpec, keys: Sequence[str], by: Any = None) -> list[Any]:
        """First offset, end, component and number of records of each dead letter of records with these keys."""
        task = by or live_task(replace(plan(*sinks, decorators=CHECKED), read_again_by=OffsetUnit.RECORDS))
        given = [record(key, "bad" if key == "bad" else "1:2", offset) for offset, key in enumerate(keys)]
        receipt = task.run(given, replace(spec, max_dead_letter_bytes=0))
        assert receipt.counts.dead_lettered.total() + receipt.counts.stored == len(keys)
        letters = [DeadLetter.from_json(line) for line in receipt.dead_letters]
        return [
            (each.record.offset, each.by_place and each.by_place.end, each.component, each.events) for each in letters
        ]

    def test_into_the_only_sink_a_replay_runs_all_that_failed(self, spec):
        assert self.ranges(spec=spec, keys=["", "bad", "", "a", "bad"]) == [
            (0, 3, "attr2hbase", 3),
            (4, 5, "regex", 1),
        ]

    def test_failures_of_a_sink_are_apart_from_those_before_the_sinks(self, spec):
        sinks = sink("x", when="%{key} != 'b'"), sink("y", columns={"max_value_bytes": "1B"})
        assert self.ranges(*sinks, spec=spec, keys=["bad", "", "", "a", "bad"]) == [
            (0, 1, "regex", 1),
            (1, 3, "x", 2),
            (1, 3, "y", 2),
            (4, 5, "regex", 1),
        ]

    def test_records_of_other_selected_sinks_are_apart(self, spec):
        """In a replay."""
        selected = {("ticks", 0, 1): frozenset({"x"}), ("ticks", 0, 2): frozenset({"x"})}
        found = self.ranges(
            sink("x"), sink("y"), spec=replace(spec, sinks_by_record=selected), keys=["bad", "bad", "bad", "bad"]
        )
        assert found == [(0, 1, "regex", 1), (1, 3, "regex", 2), (3, 4, "regex", 1)]

    def test_numbers_of_buffered_events_are_those_of_their_records(self, spec):
        sys.modules["buffering_decorators"] = sys.modules[__name__]
        part = planned("buffering", "buffering_decorators:LastTwo", Settings(), OnError.DEAD_LETTER)
        task = live_task(replace(plan(decorators=(part, *CHECKED)), read_again_by=OffsetUnit.RECORDS))
        given = [record("", "1:2", offset) for offset in range(4)]
        receipt = task.run(given, replace(spec, max_dead_letter_bytes=0))
        letters = [DeadLetter.from_json(line) for line in receipt.dead_letters]
        assert [(each.record.offset, each.by_place) for each in letters] == [(2, PlaceRange(4, was_read=True))]

    def test_counts_are_those_of_all_records(self, spec):
        task = live_task(replace(plan(decorators=CHECKED), read_again_by=OffsetUnit.RECORDS))
        given = [record(key, "bad" if key == "bad" else "1:2", offset) for offset, key in enumerate(["", "bad", "bad"])]
        whole = task.run(given, spec).counts
        counts = task.run(given, replace(spec, max_dead_letter_bytes=0)).counts
        assert (counts.by_place, whole.by_place, counts.dead_letter_bytes) == (3, 0, whole.dead_letter_bytes)
        assert replace(counts, by_place=0) == whole
        assert (counts.failed, counts.dead_lettered.total()) == (3, 3)


def test_each_record_of_a_ranked_split_can_be_a_split_of_the_decorators(spec):
    """As in a replay of a place: its records were not read together."""
    given = [record(key, "1:2", offset) for offset, key in enumerate("abcd")]
    ranked = replace(spec, splits=(given[0].place,))
    assert buffering().run(given, ranked).counts.stored == 2
    assert buffering().run(given, replace(ranked, split_per_record=True)).counts.stored == 4


def test_abandoned_attempt_leaves_no_buffered_events(spec):
    def interrupted() -> Iterator[Record]:
        yield record("lost", "1:2")
        raise StoreUnavailableError("no answer")

    task = buffering()
    assert task.run(interrupted(), spec).status is TaskStatus.BLOCKED
    receipt = task.run([record("a", "1:2")], next_attempt(spec))
    assert (receipt.counts.read, [row.key for row in stored(receipt)]) == (1, [b"a"])


def test_abandoned_attempt_leaves_no_count_of_buffered_events(spec):
    """An event of the next attempt may have the address of one that was buffered."""

    def interrupted() -> Iterator[Record]:
        yield record("a", "1:2")
        raise StoreUnavailableError("no answer")

    task = buffering()
    assert task.run(interrupted(), spec).status is TaskStatus.BLOCKED
    assert task._buffered != {}
    task.run([], next_attempt(spec))
    assert task._buffered == {}


def test_every_event_is_read_whatever_its_outcome(spec):
    """One is stored, a decorator fails for another, the sink for a third, and a decorator drops the last."""
    bodies = {"a": '{"v": 1}', "b": "no JSON", "": '{"v": 1}', "d": '{"v": "drop"}'}
    records = [record(key, body, offset) for offset, (key, body) in enumerate(bodies.items())]
    parsed = (decorator(Json), decorator(Filter, drop="%{v} == 'drop'"), *TICK[1:])
    counts = live_task(plan(decorators=parsed)).run(records, spec).counts
    assert (counts.read, counts.stored, counts.failed, counts.dropped) == (4, 1, 2, Counter(filter=1))


def test_decorator_that_fails_at_split_start_blocks_and_is_named(spec):
    receipt = buffering(NoFile).run([record("a", "1:2")], spec)
    assert (receipt.status, receipt.code, receipt.message) == (TaskStatus.BLOCKED, "disk_busy", '"buffering": no file')
    assert receipt.counts.read == 0


NO_DROP = decorator(Filter, drop="%{body} == 'drop'")


def with_fan_out(sink: Component[Any], *before: Component[Any]) -> Task:
    """One event for each part of a body; the last two of a split are buffered."""
    sys.modules["buffering_decorators"] = sys.modules[__name__]
    last_two = planned("buffering", "buffering_decorators:LastTwo", Settings(), OnError.DEAD_LETTER)
    parts = decorator(Explode, form="separated", separator=",")
    cell = decorator(Value, attribute="2hb_f:value", value="%{body}")
    return live_task(plan(sink, decorators=(parts, *before, last_two, cell, TICK[2])))


def test_buffered_events_of_a_record_with_the_same_error_have_one_dead_letter(spec):
    receipt = with_fan_out(sink(columns={"max_value_bytes": "1B"})).run([record("a", "1,2,33,44")], spec)
    assert (receipt.counts.dropped, receipt.counts.dead_lettered) == (Counter(last_two=2), Counter(value_too_large=2))
    (dead_letter,) = map(DeadLetter.from_json, receipt.dead_letters)
    assert (dead_letter.events, dead_letter.fan_out) == (2, 2)


@pytest.mark.parametrize(
    ("bodies", "failed"),
    [
        (["1,2,33,44"], 0.5),
        (["1,2,3,4", "5"], 0),
        (["1,2,3,44", "5"], 0.25),
        (["1,2,3,4", "55"], 1),
        (["11", "22", "33", "44"], 2),
        (["11,22,33", "4,5"], 0),
    ],
)
def test_buffered_events_count_as_their_fraction_of_the_record(spec, bodies, failed):
    """Events that are dropped from the buffer, of the same record or an earlier one, do not change the fraction."""
    records = [record("a", body, offset) for offset, body in enumerate(bodies)]
    counts = with_fan_out(sink(columns={"max_value_bytes": "1B"})).run(records, spec).counts
    assert (counts.records, counts.failed) == (len(bodies), failed)


def test_event_that_another_decorator_drops_is_none_of_the_buffered_ones(spec):
    """It counts among the events of its record, though events of others are in the buffer."""
    records = [record("a", body, offset) for offset, body in enumerate(["1,2", "drop,55"])]
    counts = with_fan_out(sink(columns={"max_value_bytes": "1B"}), NO_DROP).run(records, spec).counts
    assert (counts.dropped, counts.failed) == (Counter(filter=1, last_two=1), 0.5)


@pytest.mark.parametrize(("max_failures", "status"), [(2, TaskStatus.STOP), (5, TaskStatus.DURABLE)])
def test_task_stops_once_its_failures_spend_the_error_budget(spec, max_failures, status):
    bad = [record("", "1:2", number) for number in range(5)]
    receipt = live_task(plan(decorators=CHECKED)).run(bad, replace(spec, max_failures=max_failures))
    assert (receipt.status, receipt.code == "error_budget") == (status, status is TaskStatus.STOP)


@pytest.mark.parametrize(("failures", "status"), [(2, TaskStatus.DURABLE), (3, TaskStatus.STOP)])
def test_as_many_failures_as_the_error_budget_allows_stop_no_task(spec, failures, status):
    places = [("/b.gz", number, 20) for number in range(failures)]
    unread = [unread_record(place, 500, UnreadError("cut", end=90, code="damaged_file")) for place in places]
    task = live_task(plan(decorators=TICK, decoding=Decoding(has_unread=True)))
    receipt = task.run([record("a", "1:2"), *unread], replace(spec, max_failures=2))
    assert (receipt.status, receipt.counts.failed) == (status, failures)
