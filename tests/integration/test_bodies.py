"""Large bodies in HBase: stored once, swept, and safe while several processes store and sweep."""

import hashlib
import random
import threading
from collections.abc import Iterator

import pytest

from ingest.api import Delete, Scan
from sinks.bodies.body_store import BODY_STORE, BodyStore
from sinks.bodies.errors import BodiesElsewhereError, BodiesOfOtherTableError, BodyCorruptError, BodyGoneError
from sinks.bodies.options import BodyCompression, BodyOptions
from sinks.bodies.status import BodyState
from sinks.bodies.sweep import SweepCounts
from sinks.bodies.tables import BodyTables, block_key
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from tests.support.body_findings import findings
from tests.support.names import unique
from tests.support.servers import HBase, Protocol

DAY_MS = 24 * 3_600_000
BODY = random.Random(1).randbytes(2_500_000)
ID = hashlib.sha256(BODY).digest()


class Clock:
    now_ms = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def settings(hbase: HBase, protocol: Protocol) -> HBaseSettings:
    return HBaseSettings(timeout="60s", **hbase.store_options(protocol))


@pytest.fixture
def store(settings: HBaseSettings) -> Iterator[HBaseStore]:
    made = HBaseStore(settings)
    made.open()
    yield made
    made.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tables(store: HBaseStore) -> BodyTables:
    made = BodyTables(unique("bodies"))
    for spec in made.specs():
        store.ensure_table(spec)
    return made


@pytest.fixture
def bodies(store: HBaseStore, tables: BodyTables, clock: Clock) -> BodyStore:
    made = BodyStore(store, tables.name, BodyOptions(compression=BodyCompression.LZ4), clock_ms=clock)
    made.prepare()
    return made


def blocks_of(store: HBaseStore, tables: BodyTables) -> int:
    return len(list(store.scan(tables.value, Scan(columns=(b"b:c",)))))


def test_one_of_two_tables_gets_the_body_store(store: HBaseStore, tables: BodyTables, bodies: BodyStore) -> None:
    """`bodies` was made by an earlier version, which recorded no table."""
    events, tests = (BodyStore(store, tables.name, bodies._options, owner=table) for table in ("events", "tests"))
    for _ in range(2):
        events.prepare()
    for refused in (tests.prepare, tests.check, tests.sweep):
        with pytest.raises(BodiesOfOtherTableError, match='belongs to table "events"'):
            refused()


def test_table_keeps_its_body_store(store: HBaseStore) -> None:
    """The record is in the table of records, beside buckets and other properties."""
    table, name, other = map(unique, ("events", "bodies", "others"))
    first, renamed = (BodyStore(store, each, BodyOptions(), owner=table) for each in (name, other))
    for each in (*BodyTables(name).specs(), *BodyTables(other).specs()):
        store.ensure_table(each)
    first.prepare()
    first.put_bytes(BODY)
    for use in (renamed.prepare, renamed.check, renamed.sweep, lambda: renamed.open(ID)):
        with pytest.raises(BodiesElsewhereError, match=f'in the body store "{name}"'):
            use()
    assert store.properties(table) == {BODY_STORE: name}
    first.check()


def test_2c_life_of_a_body(store: HBaseStore, tables: BodyTables, bodies: BodyStore, clock: Clock) -> None:
    assert bodies.put_bytes(BODY, references=[b"a"]) == (ID, 2_500_000, True)
    assert bodies.put_bytes(BODY, references=[b"a", b"b"]) == (ID, 2_500_000, False)
    assert (bodies.stat(ID).blocks, blocks_of(store, tables), bodies.references(ID)) == (3, 3, [b"a", b"b"])
    assert bodies.open(ID).read() == BODY
    assert bodies.open(ID).read_range(999_999, 1_000_001) == BODY[999_999:1_000_001]
    clock.now_ms += DAY_MS
    assert bodies.sweep() == SweepCounts(bodies=1, referenced=1)
    bodies.unmark(ID, b"a")
    bodies.unmark(ID, b"b")
    clock.now_ms += DAY_MS
    reader = bodies.open(ID)
    assert bodies.sweep(is_dry_run=True).purged == 1
    assert bodies.sweep().purged == 1
    assert (blocks_of(store, tables), bodies.stat(ID).state) == (0, BodyState.PURGED)
    with pytest.raises(BodyGoneError):
        reader.read()
    assert bodies.put_bytes(BODY, references=[b"c"]).is_new
    assert bodies.open(ID).read() == BODY
    bodies.unmark(ID, b"c")
    clock.now_ms += DAY_MS
    bodies.sweep()
    clock.now_ms += DAY_MS
    assert bodies.sweep() == SweepCounts(bodies=1, forgotten=1)
    assert list(store.scan(tables.meta, Scan())) == []
    assert bodies.put_bytes(BODY).is_new
    assert findings(bodies) == []


def test_2c13_missing_block(store: HBaseStore, tables: BodyTables, bodies: BodyStore) -> None:
    bodies.put_bytes(BODY)
    generation = bodies.stat(ID).generation
    store.apply(tables.value, [Delete(block_key(ID, generation, 1), generation)])
    with pytest.raises(BodyCorruptError, match="block 1 is missing"):
        bodies.open(ID).readall()
    (finding,) = findings(bodies)
    assert (finding.kind.value, finding.block) == ("missing_block", 1)


def test_2c11_writers_and_sweeps_at_once(
    settings: HBaseSettings, store: HBaseStore, tables: BodyTables, clock: Clock
) -> None:
    """Each body is unreferenced and old, so every sweep deletes it, unless a writer stores and marks it first."""
    options = BodyOptions(block_bytes=1000)
    contents = [random.Random(seed).randbytes(3_500) for seed in range(20)]
    errors: list[BaseException] = []

    def opened(work) -> None:
        own = HBaseStore(settings)
        try:
            own.open()
            work(BodyStore(own, tables.name, options, clock_ms=clock))
        except BaseException as error:  # noqa: BLE001 - reported below
            errors.append(error)
        finally:
            own.close()

    def write(bodies: BodyStore) -> None:
        name = threading.current_thread().name.encode()
        for content in contents:
            bodies.put_bytes(content, references=[name])

    def sweep(bodies: BodyStore) -> None:
        for _ in range(3):
            bodies.sweep()

    bodies = BodyStore(store, tables.name, options, clock_ms=clock)
    bodies.prepare()
    for content in contents:
        bodies.put_bytes(content)
    clock.now_ms += DAY_MS
    threads = [threading.Thread(target=opened, args=(work,), name=str(n)) for n, work in enumerate([write, sweep] * 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    for _ in range(2):
        assert bodies.sweep().referenced == len(contents)
    for content in contents:
        body = hashlib.sha256(content).digest()
        assert (bodies.references(body), bodies.open(body).read()) == ([b"0", b"2"], content)
    assert blocks_of(store, tables) == 4 * len(contents)
    assert findings(bodies) == []
