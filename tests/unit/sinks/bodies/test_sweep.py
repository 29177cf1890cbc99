"""A sweep deletes what nothing refers to, and nothing else, however it is interrupted."""

import hashlib
import random
import threading

import pytest

from ingest.api import ConfigError, Put, Scan
from ingest.api.bodies import MIN_SWEEP_AFTER_S
from sinks.bodies.body_store import BodyStore
from sinks.bodies.errors import BodyCorruptError, BodyGoneError
from sinks.bodies.options import BodyOptions
from sinks.bodies.pointers import cell_reference
from sinks.bodies.status import BodyState
from sinks.bodies.sweep import SweepCounts
from sinks.bodies.tables import BodyTables, block_key
from sinks.memory import MemoryStore
from tests.support.body_findings import findings
from tests.support.killed_stores import KilledError, KilledStore

TABLES = BodyTables("events_bodies")
DAY_S = 24 * 3600
BODY = random.Random(5).randbytes(3_500)
ID = hashlib.sha256(BODY).digest()


def rows_of(store, table: str) -> list[bytes]:
    return [row.key for row in store.scan(table, Scan())]


def is_absent(store) -> bool:
    return not rows_of(store, TABLES.value) and not rows_of(store, TABLES.refs)


def test_sweep_after_has_a_minimum():
    with pytest.raises(ValueError, match="at least 60"):
        BodyOptions(sweep_after_s=59)


class TestWhatIsSwept:
    def test_2c7_writer_that_was_killed(self, store, open_bodies, clock):
        killed = KilledStore(store, 10**9)
        bodies = open_bodies(killed, block_bytes=1000)
        killed.calls = 3  # STORING and two blocks
        with pytest.raises(KilledError):
            bodies.put_bytes(BODY)
        bodies = open_bodies(block_bytes=1000)
        clock.advance(DAY_S - 1)
        assert bodies.sweep() == SweepCounts(bodies=1, storing=1)
        assert len(rows_of(store, TABLES.value)) == 2
        clock.advance(1)
        assert bodies.sweep() == SweepCounts(bodies=1, purged=1)
        assert is_absent(store)

    def test_2c7_slow_writer_is_never_swept(self, store, open_bodies, clock):
        sweeper = open_bodies(block_bytes=100)
        swept = []

        class Slow(KilledStore):
            def apply(self, table, mutations):
                clock.advance(DAY_S / 3)
                store.apply(table, mutations)
                swept.append(sweeper.sweep())

        stored = open_bodies(Slow(store, 10**9), block_bytes=100).put_bytes(BODY)
        assert len(swept) == 35
        assert {(counts.storing, counts.purged) for counts in swept} == {(1, 0)}
        assert sweeper.open(stored.id).read() == BODY

    def test_slow_writer_with_a_longer_sweep_after_than_the_sweep_has(self, store, open_bodies, clock):
        sweeper = open_bodies(block_bytes=100, sweep_after_s=MIN_SWEEP_AFTER_S)
        swept = []

        class Slow(KilledStore):
            def apply(self, table, mutations):
                clock.advance(MIN_SWEEP_AFTER_S / 3)
                store.apply(table, mutations)
                swept.append(sweeper.sweep().storing)
                assert swept[-1] == 1

        stored = open_bodies(Slow(store, 10**9), block_bytes=100, sweep_after_s=DAY_S).put_bytes(BODY)
        assert len(swept) == 35
        assert sweeper.open(stored.id).read() == BODY

    def test_2c8_unreferenced_body(self, store, bodies, clock):
        stored = bodies.put_bytes(BODY)
        clock.advance(DAY_S - 1)
        assert bodies.sweep() == SweepCounts(bodies=1, unreferenced=1)
        assert bodies.open(stored.id).read() == BODY
        clock.advance(1)
        purged = []
        assert bodies.sweep(is_dry_run=True, on_purge=purged.append) == SweepCounts(1, purged=1, purged_bytes=3_500)
        assert bodies.open(stored.id).read() == BODY
        assert bodies.sweep(on_purge=purged.append) == SweepCounts(bodies=1, purged=1, purged_bytes=3_500)
        assert purged == [stored.id] * 2
        assert is_absent(store)
        assert bodies.stat(stored.id).state is BodyState.PURGED
        clock.advance(DAY_S)
        assert bodies.sweep(is_dry_run=True) == SweepCounts(bodies=1, forgotten=1)
        assert bodies.sweep() == SweepCounts(bodies=1, forgotten=1)
        assert rows_of(store, TABLES.meta) == []
        assert bodies.put_bytes(BODY).is_new
        assert bodies.open(stored.id).read() == BODY

    def test_2c9_referenced_body(self, store, bodies, clock):
        stored = bodies.put_bytes(BODY, references=[b"a", b"b", b"c"])
        for _ in range(3):
            clock.advance(DAY_S)
            assert bodies.sweep() == SweepCounts(bodies=1, referenced=1)
        for reference in (b"a", b"b"):
            bodies.unmark(stored.id, reference)
            clock.advance(2 * DAY_S)
            assert bodies.sweep() == SweepCounts(bodies=1, referenced=1)
        bodies.unmark(stored.id, b"c")
        assert bodies.sweep() == SweepCounts(bodies=1, unreferenced=1)
        clock.advance(DAY_S)
        assert bodies.sweep().purged == 1
        assert is_absent(store)

    def test_body_that_is_stored_again_stays_for_another_time(self, bodies, clock):
        bodies.put_bytes(BODY)
        clock.advance(DAY_S - 1)
        assert not bodies.put_bytes(BODY).is_new
        clock.advance(DAY_S - 1)
        assert bodies.sweep() == SweepCounts(bodies=1, unreferenced=1)

    def test_reference_whose_removal_was_interrupted(self, store, open_bodies, clock):
        """Between the status and the reference, the sweep sees the reference: the time starts at the next sweep."""
        bodies = open_bodies()
        stored = bodies.put_bytes(BODY, references=[b"a"])
        killed = KilledStore(store, 10**9)
        interrupted = open_bodies(killed)
        killed.calls = 1
        with pytest.raises(KilledError):
            interrupted.unmark(stored.id, b"a")
        assert bodies.sweep() == SweepCounts(bodies=1, referenced=1)
        bodies.unmark(stored.id, b"a")
        clock.advance(DAY_S)
        assert bodies.sweep().purged == 1

    def test_unmark_does_not_remove_the_reference_of_a_cell(self, bodies, clock):
        reference = cell_reference(b"row", b"f:v")
        stored = bodies.put_value(BODY, reference)
        with pytest.raises(ConfigError, match="is of a cell"):
            bodies.unmark(stored.id, reference)
        clock.advance(2 * DAY_S)
        assert bodies.sweep() == SweepCounts(bodies=1, referenced=1)

    def test_reference_of_an_earlier_time_is_not_hidden_by_unmark(self, bodies, clock):
        stored = bodies.put_bytes(BODY, references=[b"a"])
        clock.advance(10)
        bodies.mark(stored.id, b"a")
        bodies.unmark(stored.id, b"a")
        clock.advance(-10)
        bodies.mark(stored.id, b"a")
        assert bodies.references(stored.id) == [b"a"]

    def test_older_cells_of_a_reference_are_removed(self, store, bodies, clock):
        def times() -> list[int]:
            (row,) = store.scan(TABLES.refs, Scan())
            return sorted(cell.timestamp_ms for cell in row.cells)

        stored = bodies.put_bytes(BODY, references=[b"a"])
        for _ in range(2):
            clock.advance(1)
            bodies.mark(stored.id, b"a")
        first_ms = times()[0]
        assert bodies.sweep(is_dry_run=True) == SweepCounts(bodies=1, referenced=1)
        assert times() == [first_ms, first_ms + 1_000, first_ms + 2_000]
        assert bodies.sweep() == SweepCounts(bodies=1, referenced=1)
        assert times() == [first_ms + 2_000]
        bodies.unmark(stored.id, b"a")
        assert bodies.references(stored.id) == []


class TestInterrupted:
    def test_2c10_sweep_that_is_killed_at_each_write(self, clock):
        for calls in range(8):
            store = MemoryStore(clock_ms=clock)
            store.open()
            bodies = BodyStore(store, "events_bodies", BodyOptions(block_bytes=1000), clock_ms=clock)
            bodies.prepare()
            bodies.put_bytes(BODY)
            clock.advance(DAY_S)
            killed = BodyStore(
                KilledStore(store, calls), "events_bodies", BodyOptions(block_bytes=1000), clock_ms=clock
            )
            was_killed = False
            try:
                killed.sweep()
            except KilledError:
                was_killed = True
            assert was_killed is (calls < 4)  # DELETING, PURGING, blocks, PURGED
            if bodies.stat(ID).is_readable:
                assert bodies.open(ID).read() == BODY
            bodies.sweep()
            assert is_absent(store)
            assert bodies.stat(ID).state is BodyState.PURGED
            assert findings(bodies) == []

    def test_2c10_body_that_is_stored_again_while_a_sweep_deletes_it(self, store, open_bodies, clock):
        bodies = open_bodies(block_bytes=1000)
        bodies.put_bytes(BODY)
        clock.advance(DAY_S)
        killed = KilledStore(store, 10**9)
        sweeper = open_bodies(killed, block_bytes=1000)
        killed.calls = 2  # DELETING and PURGING
        with pytest.raises(KilledError):
            sweeper.sweep()
        with pytest.raises(BodyGoneError):
            bodies.mark(ID, b"a")
        assert bodies.put_bytes(BODY, references=[b"a"]).is_new
        assert len(rows_of(store, TABLES.value)) == 8
        assert bodies.stat(ID).has_leftovers
        assert bodies.sweep().referenced == 1  # clears the time since which nothing refers to it
        assert bodies.sweep().referenced == 1
        assert len(rows_of(store, TABLES.value)) == 4
        assert not bodies.stat(ID).has_leftovers
        assert bodies.open(ID).read() == BODY

    def test_block_that_a_stopped_writer_writes_after_the_sweep(self, store, open_bodies, clock):
        bodies = open_bodies(block_bytes=1000)
        bodies.put_bytes(BODY)
        generation = bodies.stat(ID).generation
        clock.advance(DAY_S)
        bodies.sweep()
        late = Put(block_key(ID, generation, 2), {b"b:d": b"late", b"b:c": b"1234"}, generation + 1)
        store.apply(TABLES.value, [late])
        assert findings(bodies) == []  # the sweep deletes it when it deletes the status
        bodies.put_bytes(BODY, references=[b"a"])
        (finding,) = findings(bodies, is_repair=True)
        assert (finding.kind.value, finding.kind.is_damage) == ("orphaned_blocks", False)

    def test_orphaned_blocks_are_counted_by_body_and_generation(self, store, open_bodies):
        bodies = open_bodies(block_bytes=1000)
        bodies.put_bytes(BODY, references=[b"a"])
        first, last = bytes(32), b"\xff" * 32
        for body, generation, blocks in ((first, 5, 3), (first, 6, 1), (ID, 7, 2), (last, 6, 2)):
            store.apply(
                TABLES.value,
                [Put(block_key(body, generation, block), {b"b:d": b"", b"b:c": b""}, 1) for block in range(blocks)],
            )
        found = [(finding.body, finding.detail) for finding in findings(bodies)]
        assert found == [
            (first, "3 blocks of generation 5"),
            (first, "1 blocks of generation 6"),
            (ID, "2 blocks of generation 7"),
            (last, "2 blocks of generation 6"),
        ]
        assert len([each for each in bodies.checked() if each is None]) == 4 + 12 + 1  # a block each, a reference
        assert [(finding.body, finding.detail) for finding in findings(bodies, is_repair=True)] == found
        assert findings(bodies) == []
        assert len(rows_of(store, TABLES.value)) == 4

    def test_reference_to_a_body_that_was_swept_is_found(self, store, bodies):
        store.apply(TABLES.refs, [Put(ID + b"a", {b"r:1": b""}, 5)])
        (finding,) = findings(bodies)
        assert (finding.kind.value, finding.kind.is_damage) == ("dangling_reference", False)


class TestReaders:
    def test_2c12_reader_of_a_body_that_is_swept(self, open_bodies, clock):
        bodies = open_bodies(block_bytes=1000, read_ahead_bytes=1000)
        bodies.put_bytes(BODY)
        reader = bodies.open(ID)
        assert reader.read(1000) == BODY[:1000]
        clock.advance(DAY_S)
        bodies.sweep()
        with pytest.raises(BodyGoneError, match=rf"{ID.hex()} was swept before its block 1 was read"):
            reader.read(1)
        bodies.put_bytes(BODY)
        assert reader.read() == BODY[1000:]

    def test_2c12_reader_that_has_fetched_all_blocks(self, open_bodies, clock):
        bodies = open_bodies(block_bytes=1000)
        bodies.put_bytes(BODY)
        reader = bodies.open(ID)
        assert reader.read(1) == BODY[:1]
        clock.advance(DAY_S)
        bodies.sweep()
        assert reader.read() == BODY[1:]


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
    """Run functions in threads of their own; the value of each takes a body store."""
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
def test_2c11_mark_and_two_sweeps_in_any_order(clock, start):
    options = BodyOptions(block_bytes=1000)
    outcomes = {True: 0, False: 0}
    for seed in range(start, start + 250):
        store = MemoryStore(clock_ms=clock)
        store.open()
        bodies = BodyStore(store, "events_bodies", options, clock_ms=clock)
        bodies.prepare()
        bodies.put_bytes(BODY)
        clock.advance(DAY_S)
        marked = []

        def mark(name, turns, store=store, marked=marked):
            opened = BodyStore(InTurns(store, turns, name), "events_bodies", options, clock_ms=clock)
            try:
                opened.mark(ID, b"a")
                marked.append(True)
            except BodyGoneError:
                marked.append(False)

        def sweep(name, turns, store=store):
            BodyStore(InTurns(store, turns, name), "events_bodies", options, clock_ms=clock).sweep()

        run_in_turns(seed, clock, mark=mark, first=sweep, second=sweep)
        outcomes[marked[0]] += 1
        clock.advance(DAY_S)
        bodies.sweep()
        assert bodies.references(ID) == ([b"a"] if marked[0] else [])
        if marked[0]:
            assert bodies.open(ID).read() == BODY
            assert bodies.stat(ID).state is BodyState.STORED
        else:
            assert is_absent(store)
        assert findings(bodies) == []
    assert min(outcomes.values()) > 10, outcomes


def test_two_writers_and_a_sweep_in_any_order(clock):
    options = BodyOptions(block_bytes=1000)
    for seed in range(200):
        store = MemoryStore(clock_ms=clock)
        store.open()
        bodies = BodyStore(store, "events_bodies", options, clock_ms=clock)
        bodies.prepare()
        bodies.put_bytes(BODY)
        clock.advance(DAY_S)

        def write(name, turns, store=store):
            opened = BodyStore(InTurns(store, turns, name), "events_bodies", options, clock_ms=clock)
            opened.put_bytes(BODY, references=[name.encode()])

        def sweep(name, turns, store=store):
            BodyStore(InTurns(store, turns, name), "events_bodies", options, clock_ms=clock).sweep()

        run_in_turns(seed, clock, one=write, sweep=sweep, two=write)
        assert bodies.references(ID) == [b"one", b"two"]
        assert bodies.open(ID).read() == BODY
        bodies.sweep()
        bodies.sweep()
        assert len(rows_of(store, TABLES.value)) == 4
        assert findings(bodies) == []


def test_corrupt_error_is_not_raised_for_a_body_that_is_swept_in_any_order(clock):
    options = BodyOptions(block_bytes=1000, read_ahead_bytes=1000)
    for seed in range(100):
        store = MemoryStore(clock_ms=clock)
        store.open()
        bodies = BodyStore(store, "events_bodies", options, clock_ms=clock)
        bodies.prepare()
        bodies.put_bytes(BODY)
        clock.advance(DAY_S)
        read = []

        def reads(name, turns, store=store, read=read):
            opened = BodyStore(InTurns(store, turns, name), "events_bodies", options, clock_ms=clock)
            try:
                read.append(opened.open(ID).read())
            except BodyGoneError:
                read.append(BODY)
            except BodyCorruptError:
                read.append(b"")

        def sweep(name, turns, store=store):
            BodyStore(InTurns(store, turns, name), "events_bodies", options, clock_ms=clock).sweep()

        run_in_turns(seed, clock, read=reads, sweep=sweep)
        assert read == [BODY]
