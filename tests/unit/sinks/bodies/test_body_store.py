"""Bodies are stored once, read whole or in part, and never with wrong bytes."""

import hashlib
import io
import random
import resource
from collections.abc import Callable
from typing import Any

import pytest

from ingest.api import ConfigError, Delete, NotFoundError, Put, Scan, Store, StoreUnavailableError
from sinks.bodies.body_store import BODY_STORE, BodyStore
from sinks.bodies.errors import (
    BodiesDifferError,
    BodiesElsewhereError,
    BodiesOfOtherTableError,
    BodyCorruptError,
    BodyGoneError,
    BodyNotStoredError,
    HashMismatchError,
)
from sinks.bodies.options import BodyCompression, BodyOptions
from sinks.bodies.pointers import cell_reference
from sinks.bodies.status import BodyState
from sinks.bodies.tables import BodyTables, block_key, id_of
from tests.support.body_findings import findings

TABLES = BodyTables("events_bodies")
DAY_S = 24 * 3600


def random_bytes(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


def rows_of(store, table: str) -> list[bytes]:
    return [row.key for row in store.scan(table, Scan())]


class FailingSource:
    """A source that fails after some bytes."""

    def __init__(self, size: int) -> None:
        self._file = io.BytesIO(random_bytes(size))

    def read(self, size: int, /) -> bytes:
        data = self._file.read(size)
        if not data:
            raise OSError("connection reset")
        return data


def test_2c1_body_of_two_and_a_half_blocks(store, bodies):
    body = random_bytes(2_500_000)
    stored = bodies.put_bytes(body)
    assert stored == (hashlib.sha256(body).digest(), 2_500_000, True)
    status = bodies.stat(stored.id)
    assert (status.state, status.length, status.blocks) == (BodyState.STORED, 2_500_000, 3)
    sizes = [len(row.cells[1].value) for row in store.scan(TABLES.value, Scan())]
    assert sizes == [1_000_000, 1_000_000, 500_000]
    keys = [block_key(stored.id, status.generation, block) for block in range(3)]
    assert rows_of(store, TABLES.value) == keys
    with bodies.open(stored.id) as reader:
        assert reader.read() == body


@pytest.mark.parametrize(("size", "blocks"), [(0, 0), (1, 1), (1_000_000, 1), (1_000_001, 2)])
def test_2c2_sizes_around_a_block(bodies, size, blocks):
    body = random_bytes(size)
    stored = bodies.put_bytes(body)
    assert bodies.stat(stored.id).blocks == blocks
    assert bodies.open(stored.id).read() == body


def test_2c2_id_of_the_empty_body(bodies):
    assert bodies.put_bytes(b"").id.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_2c4_same_bytes_are_stored_once(store, bodies):
    body = random_bytes(1_500_000)
    first = bodies.put_bytes(body, references=[b"a"])
    blocks = rows_of(store, TABLES.value)
    second = bodies.put_bytes(body, references=[b"b"])
    assert (first.is_new, second.is_new, first.id) == (True, False, second.id)
    assert rows_of(store, TABLES.value) == blocks
    assert bodies.references(first.id) == [b"a", b"b"]
    bodies.put_bytes(body, references=[b"a"])
    bodies.mark(first.id, b"b")
    assert bodies.references(first.id) == [b"a", b"b"]
    bodies.unmark(first.id, b"b")
    assert bodies.references(first.id) == [b"a"]


def test_2c5_wrong_hash_stores_nothing(store, bodies):
    with pytest.raises(HashMismatchError):
        bodies.put(io.BytesIO(b"body"), expected=bytes(32), references=[b"a"])
    assert [rows_of(store, table) for table in TABLES.families()] == [[], [], []]
    found = bodies.put(io.BytesIO(b"body"), expected=hashlib.sha256(b"body").digest())
    assert found.is_new


def test_2c6_source_that_fails_stores_nothing(store, bodies):
    with pytest.raises(OSError, match="reset"):
        bodies.put(FailingSource(1_700_000), references=[b"a"])
    assert [rows_of(store, table) for table in TABLES.families()] == [[], [], []]


@pytest.mark.parametrize(("size", "space"), [(5_000, 4_096), (600_000, 300_000), (266_000, 264_000)])
def test_full_disk_of_temporary_files_stores_nothing(store, open_bodies, size, space):
    """A disk that is full at the first piece of a body, at a later one, and at the last bytes, which are buffered."""
    bodies = open_bodies(block_bytes=1_000, read_ahead_bytes=1_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (space, hard))
    try:
        with pytest.raises(StoreUnavailableError, match="cannot be kept in a temporary file"):
            bodies.put(io.BytesIO(random_bytes(size)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert rows_of(store, TABLES.meta) == []


@pytest.mark.parametrize("damage", ["data", "checksum", "missing", "hash"])
@pytest.mark.parametrize("compression", list(BodyCompression))
def test_2c13_damaged_block_is_never_read(store, open_bodies, damage, compression):
    bodies = open_bodies(compression=compression)
    body = random_bytes(2_500_000)
    stored = bodies.put_bytes(body)
    status = bodies.stat(stored.id)
    key = block_key(stored.id, status.generation, 1)
    if damage == "missing":
        store.remove_rows(TABLES.value, [Delete(key, status.generation)])
    elif damage == "hash":  # a block that is whole, but another one
        cells = store.get(TABLES.value, block_key(stored.id, status.generation, 0)).cells
        columns = {cell.family + b":" + cell.qualifier: cell.value for cell in cells}
        store.apply(TABLES.value, [Put(key, columns, status.generation)])
    else:
        column = {"data": b"b:d", "checksum": b"b:c"}[damage]
        value = store.get(TABLES.value, key, columns=[column]).cells[0].value
        store.apply(TABLES.value, [Put(key, {column: value[:-1] + bytes([value[-1] ^ 1])}, status.generation)])
    reader, pieces = bodies.open(stored.id), []
    with pytest.raises(BodyCorruptError, match="SHA-256" if damage == "hash" else "block 1") as caught:
        pieces.extend(iter(lambda: reader.read(300_000), b""))
    assert len(b"".join(pieces)) < len(body)
    assert caught.value.exit_code == 5
    assert bodies.open(stored.id).read_range(0, 10) == body[:10]
    expected = {"missing": "missing_block", "hash": "wrong_hash"}.get(damage, "damaged_block")
    (finding,) = findings(bodies)
    assert (finding.kind.value, finding.body, finding.kind.is_damage) == (expected, stored.id, True)
    assert finding.block == (None if damage == "hash" else 1)


def test_2c14_options_that_cannot_change(open_bodies):
    stored = open_bodies().put_bytes(random_bytes(2_000_000))
    for changed in ({"block_bytes": 500_000}, {"compression": BodyCompression.ZSTD}):
        with pytest.raises(BodiesDifferError) as caught:
            open_bodies(**changed)
        assert caught.value.exit_code == 2
        assert "1000000" in caught.value.message
        assert str(next(iter(changed.values()))) in caught.value.message
    assert open_bodies(read_ahead_bytes=1).open(stored.id).read() == random_bytes(2_000_000)


def test_2c14_old_bodies_stay_readable_with_other_options(store, open_bodies, clock):
    stored = open_bodies().put_bytes(random_bytes(2_000_000))
    others = BodyStore(store, "events_bodies", open_bodies()._options.__class__(block_bytes=7), clock_ms=clock)
    assert others.open(stored.id).read() == random_bytes(2_000_000)


@pytest.mark.parametrize("read_ahead", [1, 999, 1000, 2500, 100_000])
def test_2c16_read_ahead_of_less_than_a_block(open_bodies, read_ahead):
    bodies = open_bodies(block_bytes=1000, read_ahead_bytes=read_ahead)
    body = random_bytes(10_500)
    reader = bodies.open(bodies.put_bytes(body).id)
    assert b"".join(iter(lambda: reader.read(700), b"")) == body
    assert reader.read() == b""


@pytest.mark.parametrize("compression", list(BodyCompression))
def test_ranges(open_bodies, compression):
    bodies = open_bodies(block_bytes=1000, compression=compression)
    body = (b"0123456789" * 250)[:2_345]
    stored = bodies.put_bytes(body)
    reader = bodies.open(stored.id)
    for start, stop in [(0, 1), (999, 1001), (1000, 2000), (2_300, 9_999), (2_345, 2_400), (5, 5), (0, 2_345)]:
        assert reader.read_range(start, stop) == body[start:stop]
    assert (reader.length, reader.seek(-45, io.SEEK_END), reader.read(), reader.tell()) == (
        2_345,
        2_300,
        body[2_300:],
        2_345,
    )
    assert reader.seek(2, io.SEEK_SET) + reader.seek(1, io.SEEK_CUR) == 5
    assert reader.read(4) == body[3:7]
    with pytest.raises(ValueError, match="negative"):
        reader.seek(-1)
    if compression is not BodyCompression.NONE:
        assert bodies.stat(stored.id).stored_length < 500


def test_range_fetches_only_the_blocks_that_have_it(open_bodies, store, monkeypatch):
    bodies = open_bodies(block_bytes=1000)
    stored = bodies.put_bytes(random_bytes(10_000))
    reader = bodies.open(stored.id)
    scans = []
    scan = type(store).scan

    def counted(self, table, wanted, counts=None):
        scans.append(wanted.limit)
        return scan(self, table, wanted, counts)

    monkeypatch.setattr(type(store), "scan", counted)
    reader.read_range(1_500, 2_500)
    assert scans == [2]


def test_bodies_that_are_not_there(store, bodies):
    absent = bytes(32)
    for call in (bodies.open, bodies.stat, lambda body: bodies.mark(body, b"a")):
        with pytest.raises(NotFoundError) as caught:
            call(absent)
        assert caught.value.exit_code == 3
    with pytest.raises(NotFoundError):
        bodies.unmark(absent, b"a")
    assert rows_of(store, TABLES.refs) == []
    for text in ("", "00", "zz" * 32, "00" * 33, " " + "0" * 63):
        with pytest.raises(ConfigError):
            id_of(text)
    assert id_of("0F" * 32) == b"\x0f" * 32


@pytest.mark.parametrize("reference", [b"", b"r" * (32_767 - 31)])
def test_reference_of_another_length_is_refused(bodies, reference):
    stored = bodies.put_bytes(b"body")
    with pytest.raises(ConfigError):
        bodies.mark(stored.id, reference)


def test_longest_reference(bodies):
    stored = bodies.put_bytes(b"body", references=[b"r" * (32_767 - 32)])
    assert bodies.references(stored.id) == [b"r" * (32_767 - 32)]


def test_body_that_is_being_stored_cannot_be_read_or_marked(store, open_bodies):
    bodies = open_bodies(FailingWrites(store, TABLES.value))
    with pytest.raises(OSError, match="killed"):
        bodies.put_bytes(random_bytes(3_000_000), references=[b"a"])
    body = hashlib.sha256(random_bytes(3_000_000)).digest()
    assert bodies.stat(body).state is BodyState.STORING
    for call in (bodies.open, lambda body: bodies.mark(body, b"a")):
        with pytest.raises(BodyNotStoredError):
            call(body)
    assert bodies.references(body) == []
    assert open_bodies().put_bytes(random_bytes(3_000_000)).is_new
    assert bodies.open(body).read() == random_bytes(3_000_000)


def test_body_is_stored_again_after_a_sweep_at_an_earlier_time(open_bodies, clock):
    bodies = open_bodies()
    stored = bodies.put_bytes(b"body" * 1000)
    first = bodies.stat(stored.id).generation
    clock.advance(2 * DAY_S)
    assert bodies.sweep().purged == 1
    with pytest.raises(BodyGoneError):
        bodies.open(stored.id)
    clock.advance(-2 * DAY_S)
    assert bodies.put_bytes(b"body" * 1000).is_new
    assert bodies.stat(stored.id).generation == first + 1
    assert bodies.open(stored.id).read() == b"body" * 1000


class FailingWrites:
    """A store whose writes to a table fail after the first."""

    def __init__(self, store, table: str) -> None:
        self._store = store
        self._table = table
        self._writes = 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def apply(self, table, mutations):
        if table == self._table:
            self._writes += 1
            if self._writes > 1:
                raise OSError("killed")
        self._store.apply(table, mutations)


class TestOwner:
    """One body store belongs to one table."""

    @pytest.fixture
    def of_table(self, store, clock) -> Callable[[str], BodyStore]:
        return lambda table: BodyStore(store, "events_bodies", BodyOptions(), owner=table, clock_ms=clock)

    def test_another_table_is_refused_and_nothing_is_swept(self, of_table, clock):
        owner, other = of_table("events"), of_table("tests")
        owner.prepare()
        owner.prepare()
        stored = owner.put_value(b"large", cell_reference(b"r", b"f:q"))
        clock.advance(48 * 3600)
        for use in (
            other.prepare,
            other.check,
            other.sweep,
            lambda: other.sweep(is_dry_run=True),
            lambda: findings(other),
        ):
            with pytest.raises(BodiesOfOtherTableError) as caught:
                use()
            assert caught.value.exit_code == 2
            assert 'belongs to table "events"' in caught.value.message
            assert 'another `name` in `bodies` of table "tests"' in caught.value.hint
        assert owner.references(stored.id) == [cell_reference(b"r", b"f:q")]

    def test_body_store_of_an_earlier_version_gets_the_first_table_that_writes_it(self, bodies, of_table):
        bodies.put_bytes(b"large")
        of_table("events").check()
        of_table("tests").check()
        of_table("events").sweep()
        with pytest.raises(BodiesOfOtherTableError):
            of_table("tests").prepare()
        bodies.prepare()  # of a program that names no table


class TestBodyStoreOfTheTable:
    """A table with bodies does not change its body store."""

    @pytest.fixture
    def named(self, store, clock) -> Callable[..., BodyStore]:
        def opened(name: str, inner: Store[Any] | None = None) -> BodyStore:
            return BodyStore(inner or store, name, BodyOptions(), owner="events", clock_ms=clock)

        return opened

    def test_another_name_is_refused_and_nothing_is_written(self, store, named, clock):
        first, renamed = named("events_bodies"), named("renamed")
        first.prepare()
        stored = first.put_value(b"large", cell_reference(b"r", b"f:q"))
        clock.advance(48 * 3600)
        for use in (
            renamed.prepare,
            renamed.claim,
            renamed.check,
            renamed.sweep,
            lambda: renamed.sweep(is_dry_run=True),
            lambda: findings(renamed),
            # only because they do not find the body
            lambda: renamed.open(stored.id),
            lambda: renamed.stat(stored.id),
        ):
            with pytest.raises(BodiesElsewhereError) as caught:
                use()
            assert caught.value.exit_code == 4
            assert 'in the body store "events_bodies", but the file declares "renamed"' in caught.value.message
            assert "declare `bodies: {name: events_bodies}`" in caught.value.hint
        assert not any(name.startswith("renamed") for name in store.tables())
        assert not store.properties("renamed_meta")
        assert first.open(stored.id).read() == b"large"

    def test_body_store_without_bodies_is_replaced(self, store, named, clock):
        first, renamed = named("events_bodies"), named("renamed")
        first.prepare()
        renamed.check()
        renamed.prepare()
        assert store.properties("events")[BODY_STORE] == "renamed"
        renamed.put_bytes(b"large")
        with pytest.raises(BodiesElsewhereError):
            first.check()
        for _ in range(2):  # deletes the body, then its status
            clock.advance(DAY_S)
            renamed.sweep()
        first.prepare()
        assert store.properties("events")[BODY_STORE] == "events_bodies"

    def test_table_of_an_earlier_version_gets_the_first_one_that_is_claimed(self, store, named):
        first, renamed = named("events_bodies"), named("renamed")
        first.prepare()
        first.put_bytes(b"large")
        store.set_property("events", BODY_STORE, "events_bodies", None)
        renamed.check()
        assert store.properties("events") == {}  # a check writes nothing
        first.claim()
        with pytest.raises(BodiesElsewhereError):
            renamed.check()

    def test_one_of_two_names_is_recorded(self, store, named):
        """Another process stores a body between the check and the record."""

        class Late:
            def __getattr__(self, name):
                return getattr(store, name)

            def set_property(self, table, name, before, value):
                if name == BODY_STORE and value == "renamed":
                    first = named("events_bodies")
                    first.prepare()
                    first.put_bytes(b"large")
                return store.set_property(table, name, before, value)

        with pytest.raises(BodiesElsewhereError):
            named("renamed", Late()).prepare()
        assert store.properties("events")[BODY_STORE] == "events_bodies"

    def test_body_store_without_an_owner_records_none(self, store, bodies):
        bodies.put_bytes(b"large")
        bodies.sweep()
        assert store.properties("events") == {}
