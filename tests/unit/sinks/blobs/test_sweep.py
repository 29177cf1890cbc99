"""A sweep deletes what nothing refers to, and nothing else, however it is interrupted."""

import hashlib
import random
import threading

import pytest

from ingest.api import ConfigError, Put, Scan
from ingest.api.blobs import MIN_SWEEP_AFTER_S
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.errors import BlobCorruptError, BlobGoneError
from sinks.blobs.pointers import cell_reference
from sinks.blobs.status import BlobState
from sinks.blobs.sweep import SweepCounts
from sinks.blobs.tables import BlobTables, block_key
from sinks.memory import MemoryStore
from tests.support.blob_findings import findings
from tests.support.killed_stores import KilledError, KilledStore

TABLES = BlobTables("events_blobs")
DAY_S = 24 * 3600
BLOB = random.Random(5).randbytes(3_500)
ID = hashlib.sha256(BLOB).digest()


def rows_of(store, table: str) -> list[bytes]:
    return [row.key for row in store.scan(table, Scan())]


def is_absent(store) -> bool:
    return not rows_of(store, TABLES.value) and not rows_of(store, TABLES.refs)


def test_sweep_after_has_a_minimum():
    with pytest.raises(ValueError, match="at least 60"):
        BlobOptions(sweep_after_s=59)


class TestWhatIsSwept:
    def test_2c7_writer_that_was_killed(self, store, open_blobs, clock):
        killed = KilledStore(store, 10**9)
        blobs = open_blobs(killed, block_bytes=1000)
        killed.calls = 3  # STORING and two blocks
        with pytest.raises(KilledError):
            blobs.put_bytes(BLOB)
        blobs = open_blobs(block_bytes=1000)
        clock.advance(DAY_S - 1)
        assert blobs.sweep() == SweepCounts(blobs=1, storing=1)
        assert len(rows_of(store, TABLES.value)) == 2
        clock.advance(1)
        assert blobs.sweep() == SweepCounts(blobs=1, purged=1)
        assert is_absent(store)

    def test_2c7_slow_writer_is_never_swept(self, store, open_blobs, clock):
        sweeper = open_blobs(block_bytes=100)
        swept = []

        class Slow(KilledStore):
            def apply(self, table, mutations):
                clock.advance(DAY_S / 3)
                store.apply(table, mutations)
                swept.append(sweeper.sweep())

        stored = open_blobs(Slow(store, 10**9), block_bytes=100).put_bytes(BLOB)
        assert len(swept) == 35
        assert {(counts.storing, counts.purged) for counts in swept} == {(1, 0)}
        assert sweeper.open(stored.id).read() == BLOB

    def test_slow_writer_with_a_longer_sweep_after_than_the_sweep_has(self, store, open_blobs, clock):
        sweeper = open_blobs(block_bytes=100, sweep_after_s=MIN_SWEEP_AFTER_S)
        swept = []

        class Slow(KilledStore):
            def apply(self, table, mutations):
                clock.advance(MIN_SWEEP_AFTER_S / 3)
                store.apply(table, mutations)
                swept.append(sweeper.sweep().storing)
                assert swept[-1] == 1

        stored = open_blobs(Slow(store, 10**9), block_bytes=100, sweep_after_s=DAY_S).put_bytes(BLOB)
        assert len(swept) == 35
        assert sweeper.open(stored.id).read() == BLOB

    def test_2c8_unreferenced_blob(self, store, blobs, clock):
        stored = blobs.put_bytes(BLOB)
        clock.advance(DAY_S - 1)
        assert blobs.sweep() == SweepCounts(blobs=1, unreferenced=1)
        assert blobs.open(stored.id).read() == BLOB
        clock.advance(1)
        purged = []
        assert blobs.sweep(is_dry_run=True, on_purge=purged.append) == SweepCounts(1, purged=1, purged_bytes=3_500)
        assert blobs.open(stored.id).read() == BLOB
        assert blobs.sweep(on_purge=purged.append) == SweepCounts(blobs=1, purged=1, purged_bytes=3_500)
        assert purged == [stored.id] * 2
        assert is_absent(store)
        assert blobs.stat(stored.id).state is BlobState.PURGED
        clock.advance(DAY_S)
        assert blobs.sweep(is_dry_run=True) == SweepCounts(blobs=1, forgotten=1)
        assert blobs.sweep() == SweepCounts(blobs=1, forgotten=1)
        assert rows_of(store, TABLES.meta) == []
        assert blobs.put_bytes(BLOB).is_new
        assert blobs.open(stored.id).read() == BLOB

    def test_2c9_referenced_blob(self, store, blobs, clock):
        stored = blobs.put_bytes(BLOB, references=[b"a", b"b", b"c"])
        for _ in range(3):
            clock.advance(DAY_S)
            assert blobs.sweep() == SweepCounts(blobs=1, referenced=1)
        for reference in (b"a", b"b"):
            blobs.unpin(stored.id, reference)
            clock.advance(2 * DAY_S)
            assert blobs.sweep() == SweepCounts(blobs=1, referenced=1)
        blobs.unpin(stored.id, b"c")
        assert blobs.sweep() == SweepCounts(blobs=1, unreferenced=1)
        clock.advance(DAY_S)
        assert blobs.sweep().purged == 1
        assert is_absent(store)

    def test_blob_that_is_stored_again_stays_for_another_time(self, blobs, clock):
        blobs.put_bytes(BLOB)
        clock.advance(DAY_S - 1)
        assert not blobs.put_bytes(BLOB).is_new
        clock.advance(DAY_S - 1)
        assert blobs.sweep() == SweepCounts(blobs=1, unreferenced=1)

    def test_reference_whose_removal_was_interrupted(self, store, open_blobs, clock):
        """Between the status and the reference, the sweep sees the reference: the time starts at the next sweep."""
        blobs = open_blobs()
        stored = blobs.put_bytes(BLOB, references=[b"a"])
        killed = KilledStore(store, 10**9)
        interrupted = open_blobs(killed)
        killed.calls = 1
        with pytest.raises(KilledError):
            interrupted.unpin(stored.id, b"a")
        assert blobs.sweep() == SweepCounts(blobs=1, referenced=1)
        blobs.unpin(stored.id, b"a")
        clock.advance(DAY_S)
        assert blobs.sweep().purged == 1

    def test_unpin_does_not_remove_the_reference_of_a_cell(self, blobs, clock):
        reference = cell_reference(b"row", b"f:v")
        stored = blobs.put_value(BLOB, reference)
        with pytest.raises(ConfigError, match="is of a cell"):
            blobs.unpin(stored.id, reference)
        clock.advance(2 * DAY_S)
        assert blobs.sweep() == SweepCounts(blobs=1, referenced=1)

    def test_reference_of_an_earlier_time_is_not_hidden_by_unpin(self, blobs, clock):
        stored = blobs.put_bytes(BLOB, references=[b"a"])
        clock.advance(10)
        blobs.pin(stored.id, b"a")
        blobs.unpin(stored.id, b"a")
        clock.advance(-10)
        blobs.pin(stored.id, b"a")
        assert blobs.references(stored.id) == [b"a"]

    def test_older_cells_of_a_reference_are_removed(self, store, blobs, clock):
        def times() -> list[int]:
            (row,) = store.scan(TABLES.refs, Scan())
            return sorted(cell.timestamp_ms for cell in row.cells)

        stored = blobs.put_bytes(BLOB, references=[b"a"])
        for _ in range(2):
            clock.advance(1)
            blobs.pin(stored.id, b"a")
        first_ms = times()[0]
        assert blobs.sweep(is_dry_run=True) == SweepCounts(blobs=1, referenced=1)
        assert times() == [first_ms, first_ms + 1_000, first_ms + 2_000]
        assert blobs.sweep() == SweepCounts(blobs=1, referenced=1)
        assert times() == [first_ms + 2_000]
        blobs.unpin(stored.id, b"a")
        assert blobs.references(stored.id) == []


class TestInterrupted:
    def test_2c10_sweep_that_is_killed_at_each_write(self, clock):
        for calls in range(8):
            store = MemoryStore(clock_ms=clock)
            store.open()
            blobs = BlobStore(store, "events_blobs", BlobOptions(block_bytes=1000), clock_ms=clock)
            blobs.prepare()
            blobs.put_bytes(BLOB)
            clock.advance(DAY_S)
            killed = BlobStore(KilledStore(store, calls), "events_blobs", BlobOptions(block_bytes=1000), clock_ms=clock)
            was_killed = False
            try:
                killed.sweep()
            except KilledError:
                was_killed = True
            assert was_killed is (calls < 4)  # DELETING, PURGING, blocks, PURGED
            if blobs.stat(ID).is_readable:
                assert blobs.open(ID).read() == BLOB
            blobs.sweep()
            assert is_absent(store)
            assert blobs.stat(ID).state is BlobState.PURGED
            assert findings(blobs) == []

    def test_2c10_blob_that_is_stored_again_while_a_sweep_deletes_it(self, store, open_blobs, clock):
        blobs = open_blobs(block_bytes=1000)
        blobs.put_bytes(BLOB)
        clock.advance(DAY_S)
        killed = KilledStore(store, 10**9)
        sweeper = open_blobs(killed, block_bytes=1000)
        killed.calls = 2  # DELETING and PURGING
        with pytest.raises(KilledError):
            sweeper.sweep()
        with pytest.raises(BlobGoneError):
            blobs.pin(ID, b"a")
        assert blobs.put_bytes(BLOB, references=[b"a"]).is_new
        assert len(rows_of(store, TABLES.value)) == 8
        assert blobs.stat(ID).has_leftovers
        assert blobs.sweep().referenced == 1  # clears the time since which nothing refers to it
        assert blobs.sweep().referenced == 1
        assert len(rows_of(store, TABLES.value)) == 4
        assert not blobs.stat(ID).has_leftovers
        assert blobs.open(ID).read() == BLOB

    def test_block_that_a_stopped_writer_writes_after_the_sweep(self, store, open_blobs, clock):
        blobs = open_blobs(block_bytes=1000)
        blobs.put_bytes(BLOB)
        generation = blobs.stat(ID).generation
        clock.advance(DAY_S)
        blobs.sweep()
        late = Put(block_key(ID, generation, 2), {b"b:d": b"late", b"b:c": b"1234"}, generation + 1)
        store.apply(TABLES.value, [late])
        assert findings(blobs) == []  # the sweep deletes it when it deletes the status
        blobs.put_bytes(BLOB, references=[b"a"])
        (finding,) = findings(blobs, is_repair=True)
        assert (finding.kind.value, finding.kind.is_damage) == ("orphaned_blocks", False)

    def test_orphaned_blocks_are_counted_by_blob_and_generation(self, store, open_blobs):
        blobs = open_blobs(block_bytes=1000)
        blobs.put_bytes(BLOB, references=[b"a"])
        first, last = bytes(32), b"\xff" * 32
        for blob, generation, blocks in ((first, 5, 3), (first, 6, 1), (ID, 7, 2), (last, 6, 2)):
            store.apply(
                TABLES.value,
                [Put(block_key(blob, generation, block), {b"b:d": b"", b"b:c": b""}, 1) for block in range(blocks)],
            )
        found = [(finding.blob, finding.detail) for finding in findings(blobs)]
        assert found == [
            (first, "3 blocks of generation 5"),
            (first, "1 blocks of generation 6"),
            (ID, "2 blocks of generation 7"),
            (last, "2 blocks of generation 6"),
        ]
        assert len([each for each in blobs.checked() if each is None]) == 4 + 12 + 1  # a block each, a reference
        assert [(finding.blob, finding.detail) for finding in findings(blobs, is_repair=True)] == found
        assert findings(blobs) == []
        assert len(rows_of(store, TABLES.value)) == 4

    def test_reference_to_a_blob_that_was_swept_is_found(self, store, blobs):
        store.apply(TABLES.refs, [Put(ID + b"a", {b"r:1": b""}, 5)])
        (finding,) = findings(blobs)
        assert (finding.kind.value, finding.kind.is_damage) == ("dangling_reference", False)


class TestReaders:
    def test_2c12_reader_of_a_blob_that_is_swept(self, open_blobs, clock):
        blobs = open_blobs(block_bytes=1000, read_ahead_bytes=1000)
        blobs.put_bytes(BLOB)
        reader = blobs.open(ID)
        assert reader.read(1000) == BLOB[:1000]
        clock.advance(DAY_S)
        blobs.sweep()
        with pytest.raises(BlobGoneError, match=rf"{ID.hex()} was swept before its block 1 was read"):
            reader.read(1)
        blobs.put_bytes(BLOB)
        assert reader.read() == BLOB[1000:]

    def test_2c12_reader_that_has_fetched_all_blocks(self, open_blobs, clock):
        blobs = open_blobs(block_bytes=1000)
        blobs.put_bytes(BLOB)
        reader = blobs.open(ID)
        assert reader.read(1) == BLOB[:1]
        clock.advance(DAY_S)
        blobs.sweep()
        assert reader.read() == BLOB[1:]


class Turns:
    """Runs calls to a store one at a time, in an order that a random number generator chooses."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Condition()
        self._waiting: set[str] = set()
        self._running: set[str] = set()
        self._turn = ""

    def start(self, *names: str) -> None:
        self._running = set(names)

    def end(self, name: str) -> None:
        with self._lock:
            self._running.discard(name)
            self._choose()

    def wait(self, name: str) -> None:
        with self._lock:
            self._waiting.add(name)
            self._choose()
            assert self._lock.wait_for(lambda: self._turn == name, timeout=30)
            self._turn = ""
            self._waiting.discard(name)

    def _choose(self) -> None:
        if not self._turn and self._running and self._waiting == self._running:
            self._turn = self._random.choice(sorted(self._waiting))
            self._lock.notify_all()


class InTurns:
    """A store whose calls wait for their turn."""

    def __init__(self, store, turns: Turns, name: str) -> None:
        self._store = store
        self._turns = turns
        self._name = name

    def __getattr__(self, name):
        found = getattr(self._store, name)
        if name not in {"apply", "remove_rows", "replace_cell", "get", "scan"}:
            return found

        def call(*args, **options):
            self._turns.wait(self._name)
            result = found(*args, **options)
            return iter_closed(result) if name == "scan" else result

        return call


def iter_closed(rows):
    """The rows of one moment; a generator that reads later would read outside of its turn."""
    found = list(rows)

    def again():
        yield from found

    return again()


def run_in_turns(seed: int, clock, **works) -> None:
    """Run functions in threads of their own; the value of each takes a blob store."""
    turns = Turns(seed)
    turns.start(*works)
    errors = []

    def run(name: str, work) -> None:
        try:
            work(name, turns)
        except BaseException as error:  # noqa: BLE001 - reported by the caller
            errors.append(error)
        finally:
            turns.end(name)

    threads = [threading.Thread(target=run, args=(name, work)) for name, work in works.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.parametrize("start", range(0, 1000, 250))
def test_2c11_pin_and_two_sweeps_in_any_order(clock, start):
    options = BlobOptions(block_bytes=1000)
    outcomes = {True: 0, False: 0}
    for seed in range(start, start + 250):
        store = MemoryStore(clock_ms=clock)
        store.open()
        blobs = BlobStore(store, "events_blobs", options, clock_ms=clock)
        blobs.prepare()
        blobs.put_bytes(BLOB)
        clock.advance(DAY_S)
        pinned = []

        def pin(name, turns, store=store, pinned=pinned):
            opened = BlobStore(InTurns(store, turns, name), "events_blobs", options, clock_ms=clock)
            try:
                opened.pin(ID, b"a")
                pinned.append(True)
            except BlobGoneError:
                pinned.append(False)

        def sweep(name, turns, store=store):
            BlobStore(InTurns(store, turns, name), "events_blobs", options, clock_ms=clock).sweep()

        run_in_turns(seed, clock, pin=pin, first=sweep, second=sweep)
        outcomes[pinned[0]] += 1
        clock.advance(DAY_S)
        blobs.sweep()
        assert blobs.references(ID) == ([b"a"] if pinned[0] else [])
        if pinned[0]:
            assert blobs.open(ID).read() == BLOB
            assert blobs.stat(ID).state is BlobState.STORED
        else:
            assert is_absent(store)
        assert findings(blobs) == []
    assert min(outcomes.values()) > 10, outcomes


def test_two_writers_and_a_sweep_in_any_order(clock):
    options = BlobOptions(block_bytes=1000)
    for seed in range(200):
        store = MemoryStore(clock_ms=clock)
        store.open()
        blobs = BlobStore(store, "events_blobs", options, clock_ms=clock)
        blobs.prepare()
        blobs.put_bytes(BLOB)
        clock.advance(DAY_S)

        def write(name, turns, store=store):
            opened = BlobStore(InTurns(store, turns, name), "events_blobs", options, clock_ms=clock)
            opened.put_bytes(BLOB, references=[name.encode()])

        def sweep(name, turns, store=store):
            BlobStore(InTurns(store, turns, name), "events_blobs", options, clock_ms=clock).sweep()

        run_in_turns(seed, clock, one=write, sweep=sweep, two=write)
        assert blobs.references(ID) == [b"one", b"two"]
        assert blobs.open(ID).read() == BLOB
        blobs.sweep()
        blobs.sweep()
        assert len(rows_of(store, TABLES.value)) == 4
        assert findings(blobs) == []


def test_corrupt_error_is_not_raised_for_a_blob_that_is_swept_in_any_order(clock):
    options = BlobOptions(block_bytes=1000, read_ahead_bytes=1000)
    for seed in range(100):
        store = MemoryStore(clock_ms=clock)
        store.open()
        blobs = BlobStore(store, "events_blobs", options, clock_ms=clock)
        blobs.prepare()
        blobs.put_bytes(BLOB)
        clock.advance(DAY_S)
        read = []

        def reads(name, turns, store=store, read=read):
            opened = BlobStore(InTurns(store, turns, name), "events_blobs", options, clock_ms=clock)
            try:
                read.append(opened.open(ID).read())
            except BlobGoneError:
                read.append(BLOB)
            except BlobCorruptError:
                read.append(b"")

        def sweep(name, turns, store=store):
            BlobStore(InTurns(store, turns, name), "events_blobs", options, clock_ms=clock).sweep()

        run_in_turns(seed, clock, read=reads, sweep=sweep)
        assert read == [BLOB]
