"""Senders: one chunk in flight; after an error nothing more of the flush cycle is sent."""

import asyncio
import threading
from collections.abc import Callable, Collection, Sequence

import pytest

from ingest.api import (
    Batch,
    BusyWait,
    FamilySpec,
    Mutation,
    Put,
    Scan,
    SchemaError,
    StoreBusyError,
    StoreRefusedError,
    StoreUnavailableError,
    TableSpec,
    TimestampRefusedError,
    WriteRejectedError,
)
from ingest.api.driver_feature import PreparedFeatures, StoreFeatures
from ingest.api.table_writer import FeatureMessages
from ingest.retry import Retry
from sinks.memory import MemoryStore
from sinks.writing.bisection import Refusal
from sinks.writing.buffer import Chunk
from sinks.writing.cycle_tables import CycleTables
from sinks.writing.messages import Prepared, packed_probe
from sinks.writing.probing_committer import ProbingCommitter
from sinks.writing.retry import store_retry
from sinks.writing.sending import DirectSender, Sender, ThreadSender
from sinks.writing.target import TargetLayer


class Gated(MemoryStore):
    """A memory store whose apply waits for a gate and raises given errors; records calls and threads."""

    def __init__(self) -> None:
        super().__init__()
        self.open()
        self.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
        self.close()
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.errors: list[BaseException] = []
        self.calls: list[str] = []
        self.threads: set[int] = set()

    def _called(self, what: str) -> None:
        self.calls.append(what)
        self.threads.add(threading.get_ident())

    def open(self):
        if hasattr(self, "calls"):
            self._called("open")
        super().open()

    def close(self):
        if hasattr(self, "calls"):
            self._called("close")
        super().close()

    def apply(self, table, mutations):
        self._called(mutations[0].row.decode())
        self.entered.set()
        assert self.gate.wait(30)
        if self.errors:
            raise self.errors.pop(0)
        super().apply(table, mutations)

    def keys(self) -> list[bytes]:
        super().open()
        return [row.key for row in self.scan("t", Scan())]


def chunk(row: str) -> Chunk:
    put = Put(row.encode(), {b"f:q": b"v"}, 1)
    return Chunk("t", [put], cells=1, size_bytes=10)


def submit_and_wait(sender: Sender, row: str) -> None:
    sender.submit(chunk(row))
    sender.wait()


def quick() -> Retry:
    return store_retry(attempts=3, sleep=lambda seconds: None)


@pytest.fixture
def store() -> Gated:
    return Gated()


@pytest.fixture(params=[ThreadSender, DirectSender])
def sender(request, store):
    made = request.param(store, retry=quick())
    yield made
    store.gate.set()
    made.close()


@pytest.fixture
def threaded(store):
    made = ThreadSender(store, retry=quick())
    yield made
    store.gate.set()
    made.close()


def test_all_chunks_are_durable_after_wait(sender, store):
    sender.begin(5)
    for row in ("a", "b", "c"):
        sender.submit(chunk(row))
    sender.wait()
    assert [(sent.rows_sent, sent.retries, sent.stored) for sent in sender.take_results()] == [(1, 0, True)] * 3
    assert sender.take_results() == []
    assert store.calls == ["open", "a", "b", "c"]
    assert store.keys() == [b"a", b"b", b"c"]


def test_error_ends_the_flush_cycle(sender, store):
    store.errors = [SchemaError("differs")]
    sender.begin(5)
    with pytest.raises(SchemaError):
        submit_and_wait(sender, "a")
    for _ in range(2):
        with pytest.raises(SchemaError):
            sender.submit(chunk("b"))
        with pytest.raises(SchemaError):
            sender.call(lambda store: store.tables())
    assert "b" not in store.calls

    sender.begin(5)
    sender.submit(chunk("b"))
    sender.wait()
    assert store.keys() == [b"b"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [(KeyError("unforeseen"), "KeyError: 'unforeseen'"), (asyncio.CancelledError(), "CancelledError")],
)
def test_unexpected_exception_is_a_store_bug(sender, store, error, expected):
    store.errors = [error] * 3
    sender.begin(5)
    with pytest.raises(StoreUnavailableError, match=expected) as caught:
        submit_and_wait(sender, "a")
    assert (caught.value.code, type(caught.value.__cause__)) == ("store_bug", type(error))
    sender.begin(5)
    submit_and_wait(sender, "a")
    assert store.calls == ["open", "a", "close", "open", "a", "close", "open", "a", "close", "open", "a"]
    assert store.keys() == [b"a"]


def test_rejected_row_is_reported_and_the_flush_cycle_continues(sender, store):
    store.errors = [WriteRejectedError("cell too large")]
    sender.begin(5)
    sender.submit(chunk("a"))
    sender.submit(chunk("b"))
    sender.wait()
    first, second = sender.take_results()
    assert [(refusal.mutation.row, refusal.error.message) for refusal in first.refused] == [(b"a", "cell too large")]
    assert (first.stored, first.cells, second.refused) == (True, 0, [])
    assert store.keys() == [b"b"]


def test_call_follows_submitted_chunks(sender, store):
    sender.begin(5)
    sender.submit(chunk("a"))
    assert sender.call(lambda store: [row.key for row in store.scan("t", Scan())]) == [b"a"]


def test_busy_store_is_retried(threaded, store):
    store.errors = [StoreBusyError("busy"), StoreBusyError("busy")]
    threaded.begin(5)
    threaded.submit(chunk("a"))
    threaded.wait()
    assert [(sent.retries, sent.busy, sent.stored) for sent in threaded.take_results()] == [(2, 2, True)]
    assert store.calls == ["open", "a", "a", "a"]


def test_waits_for_a_busy_store_are_counted(threaded, store):
    store.errors = [StoreBusyError("busy")]
    store.take_busy_waits = iter([[], [BusyWait("RpcThrottlingException", 0.5)], [], []]).__next__
    threaded.begin(5)
    threaded.submit(chunk("a"))
    threaded.wait()
    (sent,) = threaded.take_results()
    assert [wait.reason for wait in sent.busy_waits] == ["RpcThrottlingException", "store_busy"]
    assert sent.busy == 2


def test_unavailable_store_is_reopened(threaded, store):
    store.errors = [StoreUnavailableError("gone")]
    threaded.begin(5)
    threaded.submit(chunk("a"))
    threaded.wait()
    assert store.calls == ["open", "a", "close", "open", "a"]


def test_failed_attempts_are_counted(threaded, store):
    store.errors = [StoreUnavailableError("gone"), StoreBusyError("busy"), StoreUnavailableError("gone")]
    threaded.begin(5)
    threaded.submit(chunk("a"))
    with pytest.raises(StoreUnavailableError):
        threaded.wait()
    (sent,) = threaded.take_results()
    assert (sent.rows_sent, sent.retries, sent.busy, sent.stored) == (3, 2, 1, False)


def test_only_one_thread_uses_the_store(threaded, store):
    threaded.begin(5)
    threaded.submit(chunk("a"))
    threaded.call(lambda store: store.tables())
    threaded.close()
    assert store.calls == ["open", "a", "close"]
    assert len(store.threads) == 1
    assert threading.get_ident() not in store.threads


def test_submit_returns_while_the_chunk_is_in_flight(threaded, store):
    store.gate.clear()
    threaded.begin(5)
    threaded.submit(chunk("a"))
    assert store.entered.wait(5)
    store.gate.set()
    threaded.submit(chunk("b"))
    threaded.wait()
    assert store.keys() == [b"a", b"b"]


def test_time_out_ends_the_flush_cycle_and_the_next_waits_for_the_late_chunk(threaded, store):
    store.gate.clear()
    threaded.begin(0.01)
    threaded.submit(chunk("a"))
    with pytest.raises(StoreUnavailableError, match='a chunk of table "t" has been in flight for'):
        threaded.submit(chunk("b"))
    with pytest.raises(StoreUnavailableError):
        threaded.wait()
    with pytest.raises(StoreUnavailableError, match='a chunk of table "t" has been in flight for'):
        threaded.begin(0.01)

    threading.Timer(0.05, store.gate.set).start()
    threaded.begin(30)
    threaded.submit(chunk("c"))
    threaded.wait()
    assert [call for call in store.calls if call != "open"] == ["a", "c"]
    assert [sent.stored for sent in threaded.take_results()] == [False, True]


def test_next_time_out_reports_how_the_late_call_ended(threaded, store):
    """HBase reports a disabled table later than any task waits."""
    store.gate.clear()
    store.errors = [StoreRefusedError('table "t" is disabled', code="disabled")]
    threaded.begin(0.01)
    with pytest.raises(StoreUnavailableError, match=r"for \d+\.\d s$"):
        submit_and_wait(threaded, "a")
    store.gate.set()
    threaded.begin(30)
    store.gate.clear()
    threaded.begin(0.01)
    with pytest.raises(StoreUnavailableError, match='the previous call ended with: table "t" is disabled') as caught:
        submit_and_wait(threaded, "a")
    assert caught.value.code == "disabled"

    store.gate.set()
    threaded.begin(30)
    submit_and_wait(threaded, "a")
    store.gate.clear()
    threaded.begin(0.01)
    with pytest.raises(StoreUnavailableError, match=r"for \d+\.\d s$"):
        submit_and_wait(threaded, "b")


def test_time_out_of_a_call_that_is_repeated_has_the_reason(store):
    store.errors = [StoreUnavailableError("gone", code="hbase_gone")]
    sender = ThreadSender(store, retry=store_retry(attempts=3, sleep=lambda _seconds: store.gate.clear()))
    sender.begin(0.2)
    with pytest.raises(StoreUnavailableError, match="it is repeated after: gone") as caught:
        submit_and_wait(sender, "a")
    assert caught.value.code == "hbase_gone"
    store.gate.set()
    sender.close()


def test_rows_of_a_late_call_count_as_sent(threaded, store):
    store.gate.clear()
    threaded.begin(0.01)
    with pytest.raises(StoreUnavailableError):
        submit_and_wait(threaded, "a")
    store.gate.set()
    threaded.begin(30)
    submit_and_wait(threaded, "a")
    assert [(sent.rows_sent, sent.stored) for sent in threaded.take_results()] == [(1, False), (1, True)]


def test_refused_table_is_not_retried(threaded, store):
    store.errors = [StoreRefusedError("no table")]
    threaded.begin(5)
    with pytest.raises(StoreRefusedError):
        submit_and_wait(threaded, "a")
    assert store.calls == ["open", "a"]


def test_abandoned_chunk_is_not_retried(threaded, store):
    store.gate.clear()
    store.errors = [StoreBusyError("busy")]
    threaded.begin(0.01)
    threaded.submit(chunk("a"))
    with pytest.raises(StoreUnavailableError):
        threaded.wait()
    store.gate.set()
    threaded.begin(30)
    assert [call for call in store.calls if call != "open"] == ["a"]
    threaded.wait()


class Picky(MemoryStore):
    """Refuses rows that begin with x; every call takes a second of its clock and may hang at a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.calls = 0
        self.hangs_at = 0
        self.gate = threading.Event()
        self.open()
        self.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))

    def close(self):
        """Stays open for reads."""

    def apply(self, table, mutations):
        self.calls += 1
        if self.calls == self.hangs_at:
            assert self.gate.wait(30)
        self.now += 1.0
        if any(mutation.row.startswith(b"x") for mutation in mutations):
            raise WriteRejectedError("x is refused")
        super().apply(table, mutations)


def many(*rows: str) -> Chunk:
    mutations = [Put(row.encode(), {b"f:q": b"v"}, 1) for row in rows]
    return Chunk("t", mutations, cells=len(mutations))


def test_bisection_may_take_longer_than_the_call_timeout():
    """Each call takes one second, the timeout is two: it applies to a call, not to the chunk."""
    store = Picky()
    sender = ThreadSender(store, retry=quick(), clock=lambda: store.now)
    sender.begin(2)
    sender.submit(many("a", "b", "xc", "d", "e", "xf", "g", "h"))
    sender.wait()
    (sent,) = sender.take_results()
    assert [refusal.mutation.row for refusal in sent.refused] == [b"xc", b"xf"]
    assert store.calls == 11
    assert [row.key for row in store.scan("t", Scan())] == [b"a", b"b", b"d", b"e", b"g", b"h"]
    sender.close()


def test_abandoned_bisection_makes_no_further_call():
    store = Picky()
    store.hangs_at = 2
    sender = ThreadSender(store, retry=quick())
    sender.begin(0.01)
    sender.submit(many("a", "xb", "c", "d"))
    with pytest.raises(StoreUnavailableError):
        sender.wait()
    store.gate.set()
    sender.begin(30)
    assert store.calls == 2
    sender.close()


class InSteps(TargetLayer):
    """Writes each mutation in a call of its own, and says so."""

    def begin(
        self, messages: FeatureMessages, on_progress: Callable[[], None], new_times_ms: Collection[int] = ()
    ) -> None:
        self.messages, self.on_progress, self.new_times_ms = messages, on_progress, new_times_ms

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        for mutation in mutations:
            self.target.apply(table, [mutation])
            self.on_progress()


def test_layer_that_divides_a_chunk_may_take_longer_than_the_call_timeout():
    """The layer around this one passes on what it is told."""
    store = Picky()
    steps = InSteps(store)
    sender = ThreadSender(TargetLayer(steps), retry=quick(), clock=lambda: store.now)
    sender.begin(2, CycleTables(features={"t": {"x": b"1"}}, new_times_ms=(5,)))
    assert (steps.messages, steps.new_times_ms) == ({"t": {"x": b"1"}}, (5,))
    sender.submit(many("a", "b", "c", "d", "e"))
    sender.wait()
    assert store.calls == 5
    sender.close()


def test_times_of_a_micro_batch_are_new_until_a_row_was_refused():
    """Then an attempt leaves events out that an earlier one has written, so a row has other values at one time."""
    assert set(CycleTables.of(Prepared(), 100).new_times_ms) == {100, 99}
    assert CycleTables.of(Prepared(refused={("t", b"r"): ("write_rejected", "no")}), 100).new_times_ms == ()
    assert CycleTables.of(Prepared(), None).new_times_ms == ()


def test_rows_of_a_probe_are_not_new():
    """The attempt that is blocked may have written them, and a later one other values with the same times."""
    steps = InSteps(Picky())
    committer = ProbingCommitter(lambda: DirectSender(steps))
    committer.prepare(Batch("b", 900, "a"), [])
    committer.probe(packed_probe("t", [Put(b"r", {b"f:q": b"1"}, 900)]), 10.0)
    assert steps.new_times_ms == ()


def test_layer_that_divides_an_abandoned_chunk_makes_no_further_call():
    store = Picky()
    store.hangs_at = 2
    sender = ThreadSender(InSteps(store), retry=quick())
    sender.begin(0.01)
    sender.submit(many("a", "b", "c", "d"))
    with pytest.raises(StoreUnavailableError):
        sender.wait()
    store.gate.set()
    sender.begin(30)
    assert store.calls == 2
    sender.close()


def test_close_does_not_wait_for_a_call_that_hangs(threaded, store):
    store.gate.clear()
    threaded.begin(0.01)
    threaded.submit(chunk("a"))
    threaded.close()
    threaded.close()


def test_close_without_use(sender):
    sender.close()
    sender.close()


class LateClock(MemoryStore):
    """A memory store whose clock refuses timestamps above 1,000."""

    def __init__(self, *, names_rows: bool) -> None:
        super().__init__()
        self.open()
        self.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
        self.calls: list[int] = []
        self._names_rows = names_rows

    def close(self) -> None:
        """Keep the rows."""

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        self.calls.append(len(mutations))
        bad = [index for index, mutation in enumerate(mutations) if mutation.timestamp_ms > 1_000]
        super().apply(table, [mutation for mutation in mutations if mutation.timestamp_ms <= 1_000])
        if bad:
            raise TimestampRefusedError("too late", indexes=bad if self._names_rows else None)


class TestRefusedTimes:
    """The time of a micro-batch is no fault of its events; the time of an event is."""

    @pytest.fixture(params=[True, False], ids=["rows_named", "rows_not_named"])
    def store(self, request: pytest.FixtureRequest) -> LateClock:
        return LateClock(names_rows=request.param)

    def sent(
        self, store: LateClock, batch_time_ms: int | None, *times_ms: int, changes_ms: Sequence[int] = ()
    ) -> list[Refusal]:
        sender = DirectSender(store, retry=store_retry(attempts=3, sleep=lambda _seconds: None))
        sender.begin(10.0, CycleTables(batch_time_ms=batch_time_ms, times_ms=changes_ms))
        sender.submit(Chunk("t", [Put(b"%d" % time_ms, {b"f:q": b"1"}, time_ms) for time_ms in times_ms]))
        (result,) = sender.take_results()
        return list(result.refused)

    @pytest.mark.parametrize("time_ms", [5_000, 4_999], ids=["puts", "deletes"])
    def test_of_a_batch_block(self, store: LateClock, time_ms: int) -> None:
        with pytest.raises(TimestampRefusedError, match="time of the micro-batch, 1970-01-01T00:00:05"):
            self.sent(store, 5_000, time_ms, time_ms)
        assert store.calls == [2]

    def test_of_a_batch_block_among_those_of_events(self, store: LateClock) -> None:
        with pytest.raises(TimestampRefusedError, match="time of the micro-batch"):
            self.sent(store, 5_000, 2_000, 5_000, 3_000)

    def test_of_events_are_their_fault(self, store: LateClock) -> None:
        refused = self.sent(store, 900, 500, 2_000, 900, 3_000)
        assert [(each.mutation.timestamp_ms, each.error.code) for each in refused] == [
            (2_000, "timestamp_refused"),
            (3_000, "timestamp_refused"),
        ]
        assert sorted(row.key for row in store.scan("t", Scan())) == [b"500", b"900"]

    def test_of_replayed_changes_block(self, store: LateClock) -> None:
        """A replay writes rows at the times of their batches, and their changes at a time of its own."""
        with pytest.raises(TimestampRefusedError, match="time of the micro-batch, 1970-01-01T00:00:05"):
            self.sent(store, 900, 900, 5_000, 2_000, changes_ms=[950, 5_000])

    def test_of_replayed_changes_fail_the_probe(self, store: LateClock) -> None:
        class Chosen(StoreFeatures):
            def prepare(self, batch_time_ms: int) -> PreparedFeatures:
                return PreparedFeatures(times_ms=(5_000,))

        committer = ProbingCommitter(lambda: DirectSender(store), features=Chosen())
        committer.prepare(Batch("b", 900, "a"), [])
        with pytest.raises(TimestampRefusedError, match="time of the micro-batch"):
            committer.probe(packed_probe("t", [Put(b"r", {b"f:q": b"1"}, 5_000)]), 10.0)

    def test_without_a_batch_block(self, store: LateClock) -> None:
        with pytest.raises(TimestampRefusedError, match=r"^too late$"):
            self.sent(store, None, 500, 2_000)
