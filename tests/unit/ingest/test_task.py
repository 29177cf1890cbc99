"""One partition from records to a receipt, into a memory store."""

import asyncio
import errno
import os
import socket
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from decorators.explode import Explode
from decorators.split import Split
from decorators.value import Value
from ingest import build
from ingest.api import (
    Delete,
    Event,
    FamilySpec,
    FanOut,
    Held,
    OnError,
    Record,
    Row,
    Scan,
    Settings,
    StoreUnavailableError,
    TableSpec,
    WriteRejectedError,
)
from ingest.build import DecoratorPart, Plan, SinkPart, StorePart, live_task
from ingest.dead_letters.budget import ErrorBudget
from ingest.dead_letters.envelope import DeadLetter
from ingest.observe.logs import set_up
from ingest.receipt import Receipt, RefusedRows, Verdict, gather_refused, receipts_of
from ingest.sources.decoding import Decoder
from ingest.task import Assignment, Task
from sinks.delivery import deliver
from sinks.handover import FRAME_BYTES
from sinks.hbase.settings import HBaseSettings
from sinks.mapping.attr2hbase import Attr2HBase
from sinks.memory import MemorySettings, MemoryStore


def decorator(component: type, *, on_error: OnError = OnError.DEAD_LETTER, **options: object) -> DecoratorPart:
    settings = component.settings_class().model_validate(options)
    return DecoratorPart(component.kind, f"{component.__module__}:{component.__name__}", settings, on_error)


def sink(name: str = "attr2hbase", *, on_error: OnError = OnError.DEAD_LETTER, **options: object) -> SinkPart:
    settings = Attr2HBase.settings_class().model_validate({"store": "logs", "table": "t"} | options)
    return SinkPart(name, "sinks.mapping.attr2hbase:Attr2HBase", settings, on_error, "logs")


def plan(*sinks: SinkPart, decorators: tuple[DecoratorPart, ...] = (), **changed: object) -> Plan:
    settings = {
        "pipeline": "p",
        "fingerprint": "f",
        "timezone": "UTC",
        "on_error": OnError.DEAD_LETTER,
        "decoding": {},
        "decorators": decorators,
        "sinks": sinks or (sink(),),
        "stores": {"logs": StorePart("logs", "sinks.memory:MemoryStore", MemorySettings())},
    }
    return Plan(**(settings | changed))


TICK = (
    decorator(Split, separator=":", index=0, attribute="2hb_f:ts"),
    decorator(Split, separator=":", index=1, attribute="2hb_f:value"),
    decorator(Value, attribute="2hb_", value="%{key}"),
)


def record(key: str, value: str | None, offset: int = 0) -> Record:
    return Record("ticks", 0, offset, key.encode(), None if value is None else value.encode(), 1_000)


@pytest.fixture
def assignment(tmp_path):
    return Assignment(5_000, incoming={"logs": str(tmp_path)}, families={("logs", "t"): frozenset({b"f"})})


def stored(receipt: Receipt) -> list[Row]:
    """The rows that a driver makes of what was handed over."""
    store = MemoryStore(MemorySettings())
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    deliver(store, receipt.handed)
    return list(store.scan("t", Scan()))


def test_events_become_rows_handed_to_the_driver(assignment):
    receipt = live_task(plan(decorators=TICK)).run([record("a", "1:2"), record("b", "3:4", 1)], assignment)
    assert (receipt.verdict, receipt.counts.read, receipt.counts.stored) == (Verdict.DURABLE, 2, 2)
    rows = stored(receipt)
    assert [row.key for row in rows] == [b"a", b"b"]
    assert {cell.timestamp_ms for row in rows for cell in row.cells} == {5_000}


def test_every_record_is_counted_once(assignment):
    records = [record("a", "1:2"), record("", "1:2", 1), record("b", None, 2), record("c", "x" * 20, 3)]
    small = plan(decorators=TICK, decoding={"max_event_bytes": 10})
    counts = live_task(small).run(records, assignment).counts
    assert counts.read == 4
    assert counts.stored == 1
    assert counts.dropped == Counter(tombstone=1)
    assert counts.dead_lettered == Counter(empty_row_key=1, too_large=1)


def test_dead_letter_holds_the_record_as_it_was_and_where_it_failed(assignment):
    receipt = live_task(plan(decorators=TICK)).run([record("", "1:2", 7)], assignment)
    letter = DeadLetter.from_json(receipt.dead_letters[0])
    assert (letter.record, letter.component, letter.code) == (record("", "1:2", 7), "attr2hbase", "empty_row_key")
    assert letter.batch_time_ms == 5_000
    assert letter.attributes["2hb_f:ts"] == b"1"


def test_two_sinks_count_an_event_once_and_name_the_one_that_refused(assignment):
    two = plan(sink("good"), sink("picky", columns={"max_value_bytes": "1B"}), decorators=TICK)
    receipt = live_task(two).run([record("a", "1:2"), record("b", "12:34", 1)], assignment)
    assert (receipt.counts.stored, receipt.counts.dead_lettered.total()) == (1, 1)
    assert DeadLetter.from_json(receipt.dead_letters[0]).component == "picky"


def test_sink_condition_leaves_events_to_the_others(assignment):
    chosen = plan(sink(when="%{key} == 'a'"), decorators=TICK)
    counts = live_task(chosen).run([record("a", "1:2"), record("b", "1:2", 1)], assignment).counts
    assert (counts.stored, counts.dropped) == (1, Counter(no_sink=1))


def test_sink_condition_that_has_no_value_fails_the_event(assignment):
    chosen = plan(sink(when="%{int(%{key})} > 1"), decorators=TICK)
    receipt = live_task(chosen).run([record("2", "1:2"), record("x", "1:2", 1)], assignment)
    assert (receipt.verdict, receipt.counts.stored) == (Verdict.DURABLE, 1)
    assert receipt.counts.dead_lettered == Counter(not_a_number=1)


def test_on_error_drop_counts_and_keeps_nothing(assignment):
    dropping = plan(sink(on_error=OnError.DROP), decorators=TICK)
    receipt = live_task(dropping).run([record("", "1:2")], assignment)
    assert (receipt.counts.dropped, receipt.dead_letters) == (Counter(on_error=1), [])


def test_on_error_stop_names_the_event_and_the_step(assignment):
    stopping = plan(sink(on_error=OnError.STOP), decorators=TICK)
    receipt = live_task(stopping).run([record("", "1:2", 9)], assignment)
    assert receipt.verdict is Verdict.STOP
    assert '"attr2hbase" refused event ticks/0/9' in receipt.message


def test_unknown_family_is_reported_for_the_driver_to_make(assignment):
    other = (*TICK, decorator(Value, attribute="2hb_new:x", value="1"))
    receipt = live_task(plan(decorators=other)).run([record("a", "1:2")], assignment)
    assert receipt.verdict is Verdict.NEEDS_FAMILIES
    assert receipt.needs_families == {("logs", "t"): {b"new"}}


def test_task_is_run_again_with_the_same_result(assignment, tmp_path):
    task = live_task(plan(decorators=TICK))
    first = task.run([record("a", "1:2")], assignment)
    content = Path(first.handed[0].path).read_bytes()
    second = task.run([record("a", "1:2")], assignment)
    assert (second.counts.read, Path(second.handed[0].path).read_bytes()) == (1, content)


class Buggy(Value):
    """A decorator with a bug."""

    def decorate(self, event):
        raise KeyError("unforeseen")


def test_bug_of_a_decorator_is_logged_once_with_its_traceback(assignment, capsys):
    set_up()
    module = sys.modules[__name__]
    sys.modules["buggy_decorators"] = module
    bug = DecoratorPart("buggy", "buggy_decorators:Buggy", TICK[2].settings, OnError.DEAD_LETTER)
    receipt = live_task(plan(decorators=(bug,))).run([record("a", "1:2"), record("b", "1:2", 1)], assignment)
    assert receipt.counts.dead_lettered == Counter(decorator_bug=2)
    lines = capsys.readouterr().err
    assert lines.count("a component has a bug") == 1
    assert "unforeseen" in lines


class BuggyDecoder(Decoder):
    """A decoder with a bug."""

    def decode(self, record):
        if record.key == b"x":
            raise KeyError("unforeseen")
        return super().decode(record)


@pytest.mark.parametrize("on_error", [OnError.DEAD_LETTER, OnError.DROP])
def test_bug_of_a_decoder_costs_its_record_alone(assignment, monkeypatch, on_error):
    monkeypatch.setattr(build, "live_decoder", lambda plan: BuggyDecoder(**plan.decoding))
    made = replace(plan(decorators=TICK), on_error=on_error)
    receipt = live_task(made).run([record("x", "1:2"), record("a", "1:2", 1)], assignment)
    assert (receipt.verdict, receipt.counts.stored, receipt.counts.read) == (Verdict.DURABLE, 1, 2)
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
def test_bug_of_a_sink_costs_its_event_alone(assignment, monkeypatch, error):
    monkeypatch.setattr(BuggySink, "error", error)
    sys.modules["buggy_sinks"] = sys.modules[__name__]
    made = sink()
    bug = SinkPart("buggy", "buggy_sinks:BuggySink", made.settings, made.on_error, "logs")
    records = [record("x", "1:2"), record("a", "1:2", 1)]
    receipt = live_task(plan(bug, decorators=TICK)).run(records, assignment)
    assert (receipt.verdict, receipt.counts.stored) == (Verdict.DURABLE, 1)
    assert receipt.counts.dead_lettered == Counter(sink_bug=1)


@pytest.mark.parametrize("on_error", OnError)
@pytest.mark.parametrize("size", [10, FRAME_BYTES // 2], ids=["at the end", "on the way"])
def test_full_disk_blocks_and_is_no_events_fault(assignment, monkeypatch, on_error, size):
    def full(*_arguments: object, **_options: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    task = live_task(plan(sink(on_error=on_error), decorators=TICK, on_error=on_error))
    records = [record(key, f"1:{'x' * size}", offset) for offset, key in enumerate("abcd")]
    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", full)
        receipt = task.run(records, assignment)
    assert (receipt.verdict, receipt.code) == (Verdict.BLOCKED, "disk_full")
    assert "No space left" in receipt.message
    again = task.run(records, assignment)
    assert (again.verdict, again.counts.stored) == (Verdict.DURABLE, 4)


class Hungry(Attr2HBase):
    """A sink for which the machine has no memory left."""

    def map(self, event, batch_time_ms):
        raise MemoryError


def test_want_of_memory_is_no_events_fault(assignment):
    sys.modules["hungry_sinks"] = sys.modules[__name__]
    hungry = SinkPart("hungry", "hungry_sinks:Hungry", sink().settings, OnError.DEAD_LETTER, "logs")
    receipt = live_task(plan(hungry, decorators=TICK)).run([record("a", "1:2", 7)], assignment)
    assert (receipt.verdict, receipt.code, receipt.dead_letters) == (Verdict.BLOCKED, "out_of_memory", [])
    assert receipt.message.startswith('"hungry" got no memory for event ticks/0/7: MemoryError')


SHORT = {"max_value_bytes": "2B"}


class TestManyEventsOfARecord:
    """One record of which a step makes many events must not stop a pipeline for good."""

    PARTS = decorator(Explode, form="separated", separator=",", attribute="2hb_f:part")
    ROW = decorator(Value, attribute="2hb_", value="%{key}-%{fan_out()}")

    @pytest.fixture
    def run(self, assignment):
        def runs(*records: Record, sinks: Sequence[SinkPart] = ()) -> Receipt:
            several = plan(*(sinks or [sink(columns=SHORT)]), decorators=(self.PARTS, self.ROW))
            return live_task(several).run(records, assignment)

        return runs

    def test_all_that_fail_alike_have_one_letter(self, run):
        large = record("k", ",".join(["x" * 9_000] * 100))
        receipt = run(large)
        assert (receipt.verdict, receipt.counts.read) == (Verdict.DURABLE, 100)
        assert receipt.counts.dead_lettered == Counter(value_too_large=100)
        (letter,) = map(DeadLetter.from_json, receipt.dead_letters)
        assert (letter.events, letter.fan_out, letter.record) == (100, 0, large)

    @pytest.mark.parametrize(
        ("body", "failed"),
        [("1,2,3", 0), ("1,2,333", 1 / 3), ("1,222,333", 2 / 3), ("111,222,333", 1), (",".join(["333"] * 49), 1)],
    )
    def test_the_record_counts_once_by_the_share_of_them(self, run, body, failed):
        counts = run(record("k", body), record("k", "1", 1)).counts
        assert (counts.records, counts.failed) == (2, failed)

    @pytest.mark.parametrize("on_error", [OnError.DEAD_LETTER, OnError.DROP])
    def test_what_two_sinks_refuse_is_one_failure(self, run, on_error):
        sinks = [sink(name, columns=SHORT, on_error=on_error) for name in ("one", "two")]
        counts = run(record("k", "1,222"), sinks=sinks).counts
        assert (counts.records, counts.failed) == (1, 0.5)

    def test_records_that_are_no_events_count_too(self, run):
        counts = run(record("k", "x" * 2_000_000), record("k", None, 1)).counts
        assert (counts.records, counts.failed) == (2, 1)

    def test_one_bad_record_of_many_events_does_not_spend_the_error_budget(self, run):
        good = [record("k", "1", offset) for offset in range(1_999)]
        counts = run(*good, record("k", ",".join(["333"] * 1_100), 1_999)).counts
        assert counts.dead_lettered == Counter(value_too_large=1_100)
        assert not ErrorBudget(share=0.05, min_events=1_000, window_s=300).spend(0, counts.records, counts.failed)


class PickyStore(MemoryStore):
    """Written by tasks; refuses rows with a value that begins with "bad", without saying which."""

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
        """Open already."""

    def close(self):
        """Stays open, to be read."""

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


def picky(*sinks: SinkPart, settings: MemorySettings | None = None, **changed: object) -> Plan:
    sys.modules["picky_stores"] = sys.modules[__name__]
    store = StorePart("logs", "picky_stores:PickyStore", settings or MemorySettings())
    return plan(*sinks, decorators=TICK, stores={"logs": store}, **changed)


def run_until_settled(task: Task, records: list[Record], assignment: Assignment) -> Receipt:
    """As the driver does: once more with the rows that were refused."""
    refused: dict[str, RefusedRows] = {}
    while (receipt := task.run(records, replace(assignment, refused=refused))).verdict is Verdict.REFUSED:
        (told,) = receipts_of(receipt.rows())
        assert told.refused == receipt.refused
        assert receipt.dead_letters == []
        for sink_name, rows in told.refused.items():
            assert not rows.keys() & refused.get(sink_name, {}).keys(), "no end of it"
        gather_refused(refused, [told])
    return receipt


def written() -> set[bytes]:
    return {row.key for row in PickyStore.written.scan("t", Scan())}


@pytest.mark.parametrize(("settings", "puts"), [(MemorySettings(), [2]), (NarrowSettings(), [1, 1])])
def test_store_says_how_much_of_a_row_it_takes_at_once(assignment, settings, puts):
    live_task(picky(settings=settings)).run([record("a", "1:2"), record("a", "3:4", 1)], assignment)
    assert PickyStore.written.puts == puts


def test_events_whose_rows_the_store_refuses_are_dead_letters(assignment):
    records = [record(f"r{number}", f"{'bad' if number in (3, 40) else 1}:2", number) for number in range(100)]
    receipt = run_until_settled(live_task(picky()), records, assignment)
    assert receipt.verdict is Verdict.DURABLE
    assert (receipt.counts.read, receipt.counts.stored) == (100, 98)
    assert receipt.counts.dead_lettered == Counter(write_rejected=2)
    letters = [DeadLetter.from_json(letter) for letter in receipt.dead_letters]
    assert {letter.record.offset for letter in letters} == {3, 40}
    assert {(letter.component, letter.code) for letter in letters} == {("attr2hbase", "write_rejected")}
    assert letters[0].message == 'store "logs" refused a row of table "t": no bad values here'
    assert written() == {record.key for record in records} - {b"r3", b"r40"}


def test_refused_event_counts_once_for_several_sinks(assignment):
    """Two sinks lose the event to the store, one before that: three letters, one event."""
    sinks = sink("first"), sink("second", table="t"), sink("picky", columns={"max_value_bytes": "2B"})
    records = [record("a", "1:2"), record("b", "bad:2", 1)]
    receipt = run_until_settled(live_task(picky(*sinks)), records, assignment)
    assert (receipt.counts.read, receipt.counts.stored) == (2, 1)
    assert receipt.counts.dead_lettered == Counter(write_rejected=1)
    assert [DeadLetter.from_json(letter).component for letter in receipt.dead_letters] == ["first", "second", "picky"]


def test_event_with_a_letter_counts_as_dead_lettered_though_another_sink_drops_it(assignment):
    sinks = sink("dropping", on_error=OnError.DROP), sink("keeping")
    receipt = live_task(plan(*sinks, decorators=TICK)).run([record("", "1:2")], assignment)
    assert (receipt.counts.dropped, receipt.counts.dead_lettered) == (Counter(), Counter(empty_row_key=1))
    assert [DeadLetter.from_json(letter).component for letter in receipt.dead_letters] == ["keeping"]


@pytest.mark.parametrize(("on_error", "verdict"), [(OnError.DROP, Verdict.DURABLE), (OnError.STOP, Verdict.STOP)])
def test_refused_row_follows_on_error(assignment, on_error, verdict):
    receipt = run_until_settled(live_task(picky(sink(on_error=on_error))), [record("a", "bad:2")], assignment)
    assert (receipt.verdict, receipt.dead_letters) == (verdict, [])
    assert receipt.counts.dropped["on_error"] == (on_error is OnError.DROP)


def test_refused_delete_is_a_dead_letter(assignment):
    records = [record("bad", None), record("a", None, 1), record("b", "1:2", 2)]
    deleting = live_task(picky(decoding={"tombstones": "delete"}))
    receipt = run_until_settled(deleting, records, assignment)
    assert (receipt.counts.stored, receipt.counts.dead_lettered) == (2, Counter(write_rejected=1))
    assert DeadLetter.from_json(receipt.dead_letters[0]).record.offset == 0


def test_attempt_that_is_not_acknowledged_carries_no_dead_letters(assignment):
    other = (*TICK, decorator(Value, attribute="2hb_new:x", value="1"))
    receipt = live_task(plan(decorators=other)).run([record("", "1:2"), record("a", "1:2", 1)], assignment)
    assert (receipt.verdict, receipt.dead_letters) == (Verdict.NEEDS_FAMILIES, [])


def test_tasks_after_a_blocked_one_do_not_wait_again(assignment):
    """Of an attempt with many partitions, each process waits for the store once."""
    cluster = StorePart("logs", "sinks.hbase.store:HBaseStore", HBaseSettings(host="127.0.0.1", port=nobody_listens()))
    task = live_task(plan(decorators=TICK, stores={"logs": cluster}))
    attempt = replace(assignment, incoming={}, families={}, patience_s=0.1, attempt="3-0")
    first = task.run([record("a", "1:2")], attempt)
    taken = iter([record("b", "1:2")])
    second = task.run(taken, attempt)
    assert (first.verdict, first.code) == (second.verdict, second.code) == (Verdict.BLOCKED, "store_unavailable")
    assert len(list(taken)) == 1
    task.run(taken := iter([record("b", "1:2")]), replace(attempt, attempt="3-1"))
    assert list(taken) == []
    task.close()


def nobody_listens() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


class LastTwo(FanOut[Settings]):
    """Holds the last two events of a share."""

    kind = "last_two"

    def begin(self) -> None:
        self._held: list[Event] = []

    def decorate(self, event: Event) -> Held:
        self._held.append(event)
        return Held(self._held.pop(0) if len(self._held) > 2 else None)

    def finish(self) -> list[Event]:
        return self._held


class NoFile(Value):
    """A step that needs a file which is not there."""

    def begin(self) -> None:
        raise StoreUnavailableError("no file", code="disk_busy")


def holding(component: type = LastTwo, *sinks: SinkPart, after: tuple[DecoratorPart, ...] = TICK) -> Task:
    sys.modules["holding_steps"] = sys.modules[__name__]
    settings = TICK[2].settings if component is NoFile else Settings()
    part = DecoratorPart("holding", f"holding_steps:{component.__name__}", settings, OnError.DEAD_LETTER)
    return live_task(plan(*sinks, decorators=(part, *after)))


def test_held_events_are_written_at_the_end_of_the_share(assignment):
    records = [record(key, "1:2", offset) for offset, key in enumerate("abcd")]
    receipt = holding().run(records, assignment)
    assert (receipt.verdict, receipt.counts.read, receipt.counts.stored) == (Verdict.DURABLE, 4, 2)
    assert receipt.counts.dropped == Counter(last_two=2)
    assert [row.key for row in stored(receipt)] == [b"c", b"d"]


def test_a_share_is_one_partition_however_many_a_task_reads(assignment):
    records = [record(key, "1:2", offset) for offset, key in enumerate("abc")]
    others = [each._replace(partition=1, key=each.key + each.key) for each in records]
    elsewhere = [each._replace(topic="other", key=each.key + b"-") for each in records]
    receipt = holding().run([*records, *others, *elsewhere], assignment)
    assert (receipt.counts.read, receipt.counts.stored, receipt.counts.dropped) == (9, 6, Counter(last_two=3))
    assert [row.key for row in stored(receipt)] == [b"b", b"b-", b"bb", b"c", b"c-", b"cc"]


def test_dead_letter_of_a_held_event_has_its_own_record(assignment):
    records = [record("a", "1:2"), record("", "3:4", 1), record("b", "1:2", 2)]
    receipt = holding().run(records, assignment)
    assert (receipt.counts.stored, receipt.counts.dropped) == (1, Counter(last_two=1))
    assert receipt.counts.dead_lettered == Counter(empty_row_key=1)
    assert [DeadLetter.from_json(letter).record for letter in receipt.dead_letters] == [records[1]]


def test_held_event_goes_to_the_sinks_its_record_is_for(assignment):
    records = [record("a", "1:2"), record("b", "1:2", 1), record("c", "1:2", 2)._replace(partition=1)]
    directed = replace(assignment, only={records[0].place: frozenset({"x"}), records[2].place: frozenset({"y"})})
    sinks = sink("x", when="%{key} == 'a'"), sink("y", when="%{key} == 'b'")
    counts = holding(LastTwo, *sinks).run(records, directed).counts
    assert (counts.stored, counts.dropped) == (2, Counter(no_sink=1))


def test_attempt_that_was_given_up_leaves_no_held_events(assignment):
    def torn() -> Iterator[Record]:
        yield record("lost", "1:2")
        raise StoreUnavailableError("gone")

    task = holding()
    assert task.run(torn(), assignment).verdict is Verdict.BLOCKED
    receipt = task.run([record("a", "1:2")], assignment)
    assert (receipt.counts.read, [row.key for row in stored(receipt)]) == (1, [b"a"])


def test_step_that_can_not_begin_blocks_and_is_named(assignment):
    receipt = holding(NoFile).run([record("a", "1:2")], assignment)
    assert (receipt.verdict, receipt.code, receipt.message) == (Verdict.BLOCKED, "disk_busy", '"holding": no file')
    assert receipt.counts.read == 0


def of_several(sink: SinkPart) -> Task:
    """Events of the parts of a body, of which the last two of a share are held."""
    sys.modules["holding_steps"] = sys.modules[__name__]
    last_two = DecoratorPart("holding", "holding_steps:LastTwo", Settings(), OnError.DEAD_LETTER)
    parts = decorator(Explode, form="separated", separator=",")
    cell = decorator(Value, attribute="2hb_f:value", value="%{body}")
    return live_task(plan(sink, decorators=(parts, last_two, cell, TICK[2])))


def test_held_events_of_a_record_that_failed_alike_share_a_letter(assignment):
    receipt = of_several(sink(columns={"max_value_bytes": "1B"})).run([record("a", "1,2,33,44")], assignment)
    assert (receipt.counts.dropped, receipt.counts.dead_lettered) == (Counter(last_two=2), Counter(value_too_large=2))
    (letter,) = map(DeadLetter.from_json, receipt.dead_letters)
    assert (letter.events, letter.fan_out) == (2, 2)


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
def test_held_events_fail_in_the_part_of_their_record_that_they_are(assignment, bodies, failed):
    """Whatever was dropped for them meanwhile, of their own record or of an earlier one."""
    records = [record("a", body, offset) for offset, body in enumerate(bodies)]
    counts = of_several(sink(columns={"max_value_bytes": "1B"})).run(records, assignment).counts
    assert (counts.records, counts.failed) == (len(bodies), failed)
