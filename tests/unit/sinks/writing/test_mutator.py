"""Writer and mutator: mutations are checked, folded, buffered and sent, and durable after flush."""

import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import (
    MAX_ROW_KEY_BYTES,
    Capabilities,
    Cell,
    Delete,
    Durability,
    Event,
    FamilySpec,
    LifecycleError,
    MappingError,
    Mutation,
    Put,
    Scan,
    StoreBusyError,
    StoreRefusedError,
    StoreUnavailableError,
    TableSpec,
    UnclearRefusalError,
    WriteCounts,
    WriteRejectedError,
)
from ingest.api.store_errors import UnknownFamilyError
from sinks.folding.sizes import size_of
from sinks.mapping.attr2hbase import Attr2HBase, Attr2HBaseSettings
from sinks.mapping.mapper import FamilyOptions, Mapped, Mapper, MapperSettings, Skipped
from sinks.memory import MemoryStore
from sinks.writing.buffer import MAX_ROWS
from sinks.writing.messages import Prepared
from sinks.writing.mutator import STAGED_BYTES, BufferedMutator
from sinks.writing.plain_writer import BUFFERED_BYTES
from sinks.writing.sending import DirectSender, Sender, ThreadSender
from sinks.writing.staging import MIN_FILE_BYTES
from tests.support.clock import Clock
from tests.support.way import Way, sink_of
from tests.support.without_spark import spec_of

BATCH_MS = 1_000
NO_WAL = b"no-wal"


class Scripted(Mapper[MapperSettings]):
    """The body is the row key, attributes are columns."""

    kind = "scripted"

    def map(self, event: Event, batch_time_ms: int) -> Sequence[Mapped] | Skipped:
        if event.tombstone:
            return [("t", Delete(event.body, batch_time_ms))]
        if not event.attributes:
            return Skipped("no_cells")
        at = event.timestamp_ms or batch_time_ms
        columns = {name.encode(): value for name, value in event.attributes.items()}
        durability = Durability.SKIP if event.key == NO_WAL else Durability.SYNC
        return [(event.host or "t", Put(event.body, columns, at, durability))]


class ToOneTable(MapperSettings):
    """Options with a constant table."""

    @property
    def fixed_table(self) -> str | None:
        return "absent"


class Recording(MemoryStore):
    """Records calls, and fails on request."""

    def __init__(self) -> None:
        super().__init__()
        self.applied: list[list[bytes]] = []
        self.families_read: list[str] = []
        self.errors: list[Exception] = []

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        self.applied.append([mutation.row for mutation in mutations])
        if self.errors:
            raise self.errors.pop(0)
        super().apply(table, mutations)

    def families(self, table: str) -> frozenset[bytes] | None:
        self.families_read.append(table)
        return super().families(table)


def event(row: bytes, at: int = 0, table: str = "", **columns: bytes) -> Event:
    return Event(
        row, {name.replace("_", ":", 1): value for name, value in columns.items()}, timestamp_ms=at, host=table
    )


@pytest.fixture
def store() -> Recording:
    made = Recording()
    made.open()
    made.ensure_table(TableSpec("t", (FamilySpec(b"f"), FamilySpec(b"g"))))
    return made


@pytest.fixture
def clock() -> Clock:
    return Clock(100.0)


@pytest.fixture
def make(store, clock):
    def way(
        *,
        deletes: bool = False,
        senders: int = 1,
        capabilities: Capabilities | None = None,
        folded_bytes: int = BUFFERED_BYTES,
        staged_bytes: int = STAGED_BYTES,
        **options: object,
    ) -> Way:
        settings = MapperSettings.model_validate(options)
        sink = sink_of(
            [DirectSender(store) for _ in range(senders)],
            "logs",
            capabilities=capabilities or store.capabilities,
            buffer_bytes=settings.write_buffer_size,
            deletes=deletes,
            folded_bytes=folded_bytes,
            staged_bytes=staged_bytes,
            clock=clock,
        )
        made = Way(Scripted(settings), sink)
        made.begin(spec_of(BATCH_MS), Prepared(), WriteCounts())
        return made

    return way


def for_puts(senders: Sequence[Sender], size: int, folded_bytes: int = BUFFERED_BYTES) -> Way:
    sink = sink_of(
        senders, "logs", capabilities=hbase_like(), buffer_bytes=size, deletes=False, folded_bytes=folded_bytes
    )
    return Way(Scripted(MapperSettings()), sink)


def hbase_like(*, creates_families: bool = False) -> Capabilities:
    return Capabilities(written_by_driver=False, creates_families=creates_families, creates_tables=False)


def rows(store: MemoryStore, table: str = "t") -> dict[bytes, tuple[Cell, ...]]:
    return {row.key: row.cells for row in store.scan(table, Scan(versions=10))}


def test_mutations_are_durable_after_flush(make, store):
    writer = make()
    assert writer.write(event(b"r1", f_a=b"1")) is None
    assert store.applied == []
    writer.flush()
    assert rows(store) == {b"r1": (Cell(b"f", b"a", BATCH_MS, b"1"),)}


def test_dropped_event_has_a_reason(make, store):
    writer = make()
    assert writer.write(event(b"r1")) == "no_cells"
    writer.flush()
    assert store.applied == []


def test_writes_are_counted(make):
    writer = make(capabilities=hbase_like(), write_buffer_size="300B")
    counts = WriteCounts()
    writer.begin(spec_of(BATCH_MS), Prepared(), counts)
    for number in range(4):
        writer.write(event(b"r%d" % number, f_a=b"1", f_b=b"2"))
    writer.flush()
    assert (counts.rows_sent, counts.cells, counts.write_calls, counts.retries) == (4, 8, 2, 0)
    assert len(counts.flush_s) == 2
    assert counts.bytes == 4 * (48 + 2 + 2 * 32 + 2 * 3 + 2)


def test_rows_with_columns_of_several_events_are_counted(make):
    writer = make(capabilities=hbase_like())
    counts = WriteCounts()
    writer.begin(spec_of(BATCH_MS), Prepared(), counts)
    for row, columns in ((b"a", {"f_a": b"1"}), (b"a", {"f_a": b"2"}), (b"b", {"f_a": b"3"}), (b"a", {"f_b": b"4"})):
        writer.write(event(row, **columns))
    writer.flush()
    # the second event replaces the first one; the last one leaves a row that no event has
    assert (counts.joined_puts, counts.rows_sent, counts.cells) == (1, 2, 3)


@given(
    written=st.lists(st.tuples(st.sampled_from([b"a", b"b", b"c", b"d"]), st.booleans()), max_size=60),
    senders=st.integers(1, 3),
    size=st.sampled_from([1, 300, 2 << 20]),
    folded_bytes=st.sampled_from([1, 700, 2 << 20]),
)
def test_order_of_a_row_is_kept_with_several_connections_and_both_wal_flags(written, senders, size, folded_bytes):
    """All cells of a batch have one timestamp, so the last call wins."""
    store = Recording()
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    writer = for_puts([ThreadSender(store) for _ in range(senders)], size, folded_bytes)
    # the senders share one store here, which is not thread-safe
    lock = threading.Lock()
    apply = store.apply

    def applied(table: str, mutations: Sequence[Mutation]) -> None:
        with lock:
            apply(table, mutations)

    store.apply = applied
    store.close = lambda: None
    writer.begin(spec_of(BATCH_MS), Prepared(), WriteCounts())
    for number, (row, wal) in enumerate(written):
        writer.write(Event(row, {"f:q": b"%d" % number}, key=b"" if wal else NO_WAL))
    writer.flush()
    writer.close()
    last = {row: b"%d" % number for number, (row, _) in enumerate(written)}
    assert {row.key: row.cells[0].value for row in store.scan("t", Scan())} == last


def test_row_key_always_uses_the_same_connection(make, store):
    writer = make(senders=3, capabilities=hbase_like())
    for turn in range(2):
        for number in range(30):
            writer.write(event(b"r%d" % number, f_a=b"%d" % turn))
    writer.flush()
    assert [len(chunk) for chunk in store.applied] == [len(set(chunk)) for chunk in store.applied]
    assert len(store.applied) == 3
    assert sorted(row for chunk in store.applied for row in chunk) == sorted(b"r%d" % number for number in range(30))


def test_longest_row_key_is_written(make, store):
    writer = make()
    writer.write(event(b"x" * MAX_ROW_KEY_BYTES, f_a=b"1"))
    writer.flush()
    assert len(rows(store)) == 1


class TestFold:
    def test_tombstone_and_new_value_in_one_batch(self, make, store):
        store.apply("t", [Put(b"r", {b"f:old": b"0"}, BATCH_MS - 2)])
        writer = make(deletes=True)
        for _ in range(2):
            writer.begin(spec_of(BATCH_MS), Prepared(), WriteCounts())
            writer.write(event(b"r", f_a=b"1"))
            writer.write(Event(b"r", tombstone=True))
            writer.write(event(b"r", f_b=b"2"))
            writer.flush()
            assert rows(store) == {b"r": (Cell(b"f", b"b", BATCH_MS, b"2"),)}

    def test_abandoned_flush_cycle_writes_nothing(self, make, store):
        writer = make(deletes=True)
        writer.write(event(b"a", f_a=b"1"))
        writer.begin(spec_of(BATCH_MS), Prepared(), WriteCounts())
        writer.flush()
        assert store.applied == []

    def test_delete_from_a_writer_for_puts_is_a_bug(self, make):
        with pytest.raises(TypeError):
            make().write(Event(b"r", tombstone=True))


class TestEndOfSplit:
    def test_large_buffer_is_sent_at_the_end_of_a_split(self, make, store):
        writer = make()
        writer.write(event(b"r1", f_a=b"x" * MIN_FILE_BYTES))
        writer.split_end()
        writer.write(event(b"r2", f_a=b"1"))
        writer.split_end()
        assert store.applied == [[b"r1"]]
        writer.flush()
        assert store.applied == [[b"r1"], [b"r2"]]


class TestFamilies:
    def test_families_are_read_once(self, make, store):
        writer = make()
        for number in range(100):
            writer.write(event(b"r", **{f"f_{number}": b"1"}))
        assert store.families_read == ["t"]

    def test_families_that_the_driver_knows_are_not_read(self, make, store):
        writer = make()
        writer.begin(spec_of(BATCH_MS), Prepared(families={"t": frozenset([b"f"])}), WriteCounts())
        writer.write(event(b"r", f_a=b"1"))
        assert store.families_read == []

    def test_missing_family_is_requested_and_nothing_more_is_sent(self, make, store):
        writer = make(write_buffer_size="1B", staged_bytes=1)
        writer.write(event(b"r1", f_a=b"1"))
        assert writer.write(event(b"r2", new_a=b"1", f_a=b"1")) is None
        assert writer.write(event(b"r3", other_a=b"1")) is None
        assert writer.write(event(b"r4", f_a=b"1")) is None
        writer.flush()
        assert writer.needs_families == {"t": {b"new", b"other"}}
        assert store.applied == [[b"r1"]]

        store.ensure_table(TableSpec("t", (FamilySpec(b"new"), FamilySpec(b"other"))))
        writer.begin(spec_of(BATCH_MS), Prepared(), WriteCounts())
        for one in (event(b"r1", f_a=b"1"), event(b"r2", new_a=b"1"), event(b"r3", other_a=b"1")):
            writer.write(one)
        writer.flush()
        assert writer.needs_families == {}
        assert list(rows(store)) == [b"r1", b"r2", b"r3"]

    def test_missing_table_is_requested_if_the_store_can_create_it(self, make):
        writer = make()
        writer.write(event(b"r", table="absent", f_a=b"1"))
        assert writer.needs_families == {"absent": {b"f"}}

    def test_missing_table_of_a_sink_blocks_if_the_store_cannot_create_it(self, store):
        sink = sink_of([DirectSender(store)], "logs", capabilities=hbase_like(), buffer_bytes=1_000, deletes=False)
        writer = Way(Scripted(ToOneTable()), sink)
        writer.begin(spec_of(BATCH_MS), Prepared(), WriteCounts())
        with pytest.raises(StoreRefusedError, match='there is no table "absent" in store "logs"'):
            writer.write(event(b"r", table="absent", f_a=b"1"))

    def test_missing_table_that_an_event_names_fails_the_event(self, make, store):
        writer = make(capabilities=hbase_like())
        with pytest.raises(MappingError, match='there is no table "absent" in store "logs"') as caught:
            writer.write(event(b"r", table="absent", f_a=b"1"))
        assert caught.value.code == "unknown_table"
        writer.write(event(b"r", f_a=b"1"))
        writer.flush()
        assert list(rows(store)) == [b"r"]

    def test_table_at_its_limit_gets_no_family(self, make):
        writer = make()
        writer.begin(spec_of(BATCH_MS), Prepared(at_limit=frozenset(["t"])), WriteCounts())
        with pytest.raises(MappingError, match='no family "new" in table "t"') as caught:
            writer.write(event(b"r", new_a=b"1"))
        assert caught.value.code == "unknown_family"
        assert "max_created" in str(caught.value)
        assert writer.needs_families == {}

    def test_table_at_its_limit_gets_the_families_of_the_options(self, store):
        sink = sink_of(
            [DirectSender(store)],
            "logs",
            capabilities=hbase_like(creates_families=True),
            buffer_bytes=1_000,
            deletes=False,
        )
        settings = Attr2HBaseSettings.model_validate({"table": "t", "write_body": "raw:line"})
        writer = Way(Attr2HBase(settings), sink)
        writer.begin(spec_of(BATCH_MS), Prepared(at_limit=frozenset(["t"])), WriteCounts())
        row = {"2hb_": b"r", "2hb_f:q": b"1"}
        assert writer.write(Event(b"line", row)) is None
        assert sink.families.needed == {"t": {b"raw"}}
        assert writer.write(Event(b"line", row | {"2hb_new:q": b"1"})) is None
        assert sink.families.needed == {"t": {b"raw"}}
        with pytest.raises(MappingError, match='no family "new"'):
            writer.write(Event(b"", row | {"2hb_new:q": b"1"}))

    def test_families_of_a_table_at_its_limit_are_read_again(self, make, store):
        writer = make(capabilities=hbase_like(creates_families=True))
        # another worker requests the family; this one knows only the earlier ones
        writer.write(event(b"r", f_a=b"1"))
        store.ensure_table(TableSpec("t", (FamilySpec(b"last"),)))
        at_limit = frozenset(["t"])
        for _ in range(2):
            writer.begin(spec_of(BATCH_MS), Prepared(at_limit=at_limit), WriteCounts())
            assert writer.write(event(b"r", last_a=b"1")) is None
            with pytest.raises(MappingError, match='no family "new"'):
                writer.write(event(b"r", new_a=b"1"))
        assert store.families_read == ["t"] * 3

    def test_create_is_an_error_if_the_store_cannot(self, make):
        writer = make(capabilities=hbase_like(), families={"on_unknown": "create"})
        with pytest.raises(MappingError, match="attr2hbase table apply") as caught:
            writer.write(event(b"r", new_a=b"1"))
        assert caught.value.code == "unknown_family"
        assert writer.needs_families == {}

    def test_error_names_families_table_and_hint(self, make):
        writer = make(capabilities=hbase_like())
        with pytest.raises(MappingError) as caught:
            writer.write(event(b"r", n2_a=b"1", n1_a=b"1", f_a=b"1"))
        assert caught.value.code == "unknown_family"
        assert caught.value.message == 'no families "n1", "n2" in table "t"'
        assert "attr2hbase table apply" in str(caught.value)
        assert "`thrift2`" in str(caught.value)

    def test_event_with_missing_family_is_dropped_with_reason(self, make, store):
        writer = make(families=FamilyOptions(on_unknown="drop").model_dump())
        assert writer.write(event(b"r", new_a=b"1")) == "unknown_family"
        writer.flush()
        assert store.applied == []

    def test_missing_family_is_read_again_in_the_next_flush_cycle(self, make, store):
        """An operator may have added it."""
        writer = make(capabilities=hbase_like())
        with pytest.raises(MappingError):
            writer.write(event(b"r", new_a=b"1"))
        store.ensure_table(TableSpec("t", (FamilySpec(b"new"),)))
        writer.begin(spec_of(BATCH_MS), Prepared(), WriteCounts())
        assert writer.write(event(b"r", new_a=b"1")) is None

    def test_missing_family_is_read_again_after_a_minute(self, make, store, clock):
        writer = make(families={"on_unknown": "drop"})
        for _ in range(3):
            assert writer.write(event(b"r", new_a=b"1")) == "unknown_family"
        store.ensure_table(TableSpec("t", (FamilySpec(b"new"),)))
        clock.now += 59
        assert writer.write(event(b"r", new_a=b"1")) == "unknown_family"
        clock.now += 1
        assert writer.write(event(b"r", new_a=b"1")) is None
        assert store.families_read == ["t", "t"]

    def test_families_are_read_again_after_an_error(self, make, store):
        writer = make()
        store.errors = [StoreBusyError("busy")]
        writer.write(event(b"r", f_a=b"1"))
        with pytest.raises(StoreBusyError):
            writer.flush()
        writer.begin(spec_of(BATCH_MS), Prepared(), WriteCounts())
        writer.write(event(b"r", f_a=b"1"))
        assert store.families_read == ["t", "t"]


class TestErrors:
    def test_error_ends_the_flush_cycle_and_the_next_one_writes_all(self, make, store):
        writer = make(write_buffer_size="1B", staged_bytes=1)
        store.errors = [StoreBusyError("busy")]
        with pytest.raises(StoreBusyError):
            writer.write(event(b"r1", f_a=b"1"))
        with pytest.raises(StoreBusyError):
            writer.flush()
        counts = WriteCounts()
        writer.begin(spec_of(BATCH_MS), Prepared(), counts)
        writer.write(event(b"r1", f_a=b"1"))
        writer.flush()
        assert list(rows(store)) == [b"r1"]
        assert counts.write_calls == 1

    def test_failed_attempt_counts_only_as_sent(self, make, store):
        writer = make()
        counts = WriteCounts()
        writer.begin(spec_of(BATCH_MS), Prepared(), counts)
        store.errors = [StoreBusyError("busy")]
        writer.write(event(b"r1", f_a=b"1"))
        with pytest.raises(StoreBusyError):
            writer.flush()
        assert (counts.rows_sent, counts.write_calls, counts.cells) == (1, 0, 0)

    def test_close_closes_the_store(self, make, store):
        writer = make()
        writer.write(event(b"r1", f_a=b"1"))
        writer.flush()
        for _ in range(2):
            writer.close()
            with pytest.raises(LifecycleError):
                store.tables()


def test_rejected_rows_are_reported_and_all_others_are_durable(make, store):
    writer = make(capabilities=hbase_like())
    writer.write(event(b"a", f_q=b"1"))
    writer.write(event(b"b", f_q=b"2"))
    store.errors = [WriteRejectedError("no"), WriteRejectedError("not a")]
    writer.flush()
    assert writer.refused == {("t", b"a"): ("write_rejected", "not a")}
    assert [row.key for row in store.scan("t", Scan())] == [b"b"]
    writer.begin(spec_of(BATCH_MS), Prepared(), WriteCounts())
    assert writer.refused == {}


class Picky(Recording):
    """
    Refuses calls with a value that begins with "bad".

    Attributes:
        error: of the refusal; set on the class, since a store that exists gets this class.
    """

    error = WriteRejectedError

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        for mutation in mutations:
            if isinstance(mutation, Put) and any(value.startswith(b"bad") for value in mutation.columns.values()):
                raise self.error("bad value")
        super().apply(table, mutations)


@pytest.mark.parametrize(
    ("senders", "refusal"), [(1, WriteRejectedError), (3, WriteRejectedError), (1, UnclearRefusalError)]
)
def test_events_of_a_rejected_row_are_written_one_by_one_in_order(make, store, senders, refusal, monkeypatch):
    store.__class__ = Picky
    monkeypatch.setattr(Picky, "error", refusal)
    writer = make(capabilities=hbase_like(), senders=senders)
    events = [event(b"a", f_q=b"old"), event(b"a", f_x=b"bad"), event(b"b", f_q=b"other"), event(b"a", f_q=b"new")]
    for one in events:
        writer.write(one)
    writer.flush()
    assert writer.refused == {("t", b"a"): ("write_rejected", "bad value")}

    counts = WriteCounts()
    writer.begin(spec_of(BATCH_MS), Prepared(refused=writer.refused), counts)
    failed = []
    for number, one in enumerate(events):
        try:
            writer.write(one)
        except MappingError as error:
            failed.append((number, error.code, error.message))
    writer.flush()
    rows = [(b"a", b"old"), (b"a", b"new"), (b"b", b"other")]
    assert counts.bytes == sum(size_of(Put(row, {b"f:q": value}, 1)) for row, value in rows)
    assert failed == [(1, "write_rejected", 'store "logs" refused a row of table "t": bad value')]
    assert writer.refused == {}
    rows = {row.key: [(cell.qualifier, cell.value) for cell in row.cells] for row in store.scan("t", Scan())}
    assert rows == {b"a": [(b"q", b"new")], b"b": [(b"q", b"other")]}


def test_folded_events_of_a_rejected_row_all_fail(make, store):
    store.__class__ = Picky
    writer = make(capabilities=hbase_like(), deletes=True)
    events = [event(b"a", f_q=b"old"), event(b"a", f_x=b"bad"), event(b"b", f_q=b"other")]
    for one in events:
        writer.write(one)
    writer.flush()
    writer.begin(spec_of(BATCH_MS), Prepared(refused=writer.refused), WriteCounts())
    for one in events[:2]:
        with pytest.raises(MappingError, match="bad value"):
            writer.write(one)
    assert writer.write(events[2]) is None
    writer.flush()
    assert [row.key for row in store.scan("t", Scan())] == [b"b"]


@pytest.mark.parametrize("there", [{b"f"}, {b"f", b"g"}], ids=["gone", "known to the master only"])
def test_family_that_regions_do_not_know_blocks(make, store, there):
    """The next attempt checks the events against the current families."""
    writer = make(capabilities=hbase_like())
    writer.write(event(b"a", g_q=b"1"))
    store.families = lambda table: frozenset(there)
    store.errors = [UnknownFamilyError("no g")]
    with pytest.raises(StoreUnavailableError, match='table "t" lost a family during the write') as caught:
        writer.flush()
    assert caught.value.code == "families_changed"
    writer.begin(spec_of(BATCH_MS), Prepared(), WriteCounts())
    if b"g" in there:
        writer.write(event(b"a", g_q=b"1"))
        writer.flush()
        assert list(rows(store)) == [b"a"]
    else:
        with pytest.raises(MappingError, match='no family "g"'):
            writer.write(event(b"a", g_q=b"1"))


@given(
    written=st.lists(st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.booleans(), st.integers(0, 1)), max_size=40),
    senders=st.integers(1, 3),
    size=st.sampled_from([1, 300, 2 << 20]),
)
def test_row_is_sent_once_in_its_final_state(written, senders, size):
    """A timed-out call may execute after the batch was acknowledged: it must write the same values."""
    store = Recording()
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    sent: list[Put] = []
    apply = store.apply
    store.apply = lambda table, mutations: (sent.extend(mutations), apply(table, mutations))
    writer = for_puts([DirectSender(store) for _ in range(senders)], size)
    writer.begin(spec_of(BATCH_MS), Prepared(), WriteCounts())
    last: dict[tuple[bytes, int], dict[bytes, bytes]] = {}
    logged: dict[bytes, bool] = {}
    for number, (row, wal, later) in enumerate(written):
        columns = {"f:q": b"%d" % number, f"f:{number % 3}": b"x"}
        writer.write(Event(row, columns, key=b"" if wal else NO_WAL, timestamp_ms=BATCH_MS + later))
        last.setdefault((row, BATCH_MS + later), {}).update({name.encode(): value for name, value in columns.items()})
        logged[row] = logged.get(row, False) or wal
    writer.flush()
    assert {(put.row, put.timestamp_ms): put.columns for put in sent} == last
    assert len(sent) == len(last)
    assert all((put.durability is Durability.SYNC) is logged[put.row] for put in sent)


def test_buffer_of_a_task_is_bounded(make, store):
    writer = make(capabilities=hbase_like(), write_buffer_size="300B", folded_bytes=1_000)
    for number in range(30):
        writer.write(event(b"r%d" % number, f_q=b"x" * 50))
    assert len(rows(store)) > 20
    writer.flush()
    assert len(rows(store)) == 30


def test_connections_that_divide_chunks_get_large_ones_of_any_times_puts_and_deletes(store):
    mutator = BufferedMutator(
        [DirectSender(store)], "logs", capabilities=hbase_like(), buffer_bytes=1, large_chunks=True
    )
    mutator.start(spec_of(BATCH_MS), Prepared(), WriteCounts())
    for number in range(MAX_ROWS + 1):
        mutator.add("t", Put(b"%d" % number, {b"f:q": b"v"}, number))
    mutator.add("t", Delete(b"1", 1))
    assert store.applied == []
    mutator.flush()
    assert [len(rows) for rows in store.applied] == [MAX_ROWS + 2]
