"""A bootstrap from a dump and a feed, into memory and RocksDB: complete, interrupted, and beside a writer."""

from dataclasses import replace
from random import Random

import pytest

from ingest.api import Cell, ConfigError, ConflictError, Delete, FamilySpec, IntegrityError, Put, Row, TableSpec
from sinks.bootstrap.delete_log import DeleteLog
from sinks.bootstrap.progress import BOOTSTRAP, BootstrapProgress, Stage
from sinks.bootstrap.puts import puts_of
from sinks.bootstrap.target import LOADED_BYTES
from sinks.feed.client import FeedClient
from sinks.feed.errors import TrimmedError
from sinks.memory import MemoryStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.row_format import UPDATES
from sinks.writing.target import TargetLayer
from tests.support.bootstraps import (
    Rows,
    bootstrap,
    completed,
    dumped_beside,
    following,
    load_all,
    random_mutations,
    rows_of,
)
from tests.support.feeds import DAY_MS, FeedFixture, T


class Killed(BaseException):
    """Stands for kill -9."""


@pytest.fixture
def source():
    store = MemoryStore(clock_ms=lambda: T)
    store.open()
    return store


@pytest.fixture(params=["memory", "rocksdb"])
def store(request, tmp_path):
    if request.param == "memory":
        return MemoryStore()
    return RocksDBStore(RocksDBSettings(path=str(tmp_path / "db"), sync=False))


def put(row: bytes, at: int, value: bytes = b"v", column: bytes = b"d:a") -> Put:
    return Put(row, {column: value}, at)


ROWS = [
    Row(b"a", (Cell(b"f", b"", 7, b""), Cell(b"f", b"q", 5, b"\xff\xfe"))),
    Row(b"b", (Cell(b"g", b'"', 3, "😀".encode()),)),
    Row(b"c\xff", (Cell(b"f", b"\xfe", 9, b"x"),)),
]


def test_dump_without_a_feed_is_loaded_and_verified(store):
    run = completed(bootstrap(Rows(ROWS[:2], ROWS[2:]), store))
    found = run.verify()
    assert found.source == found.target
    assert (found.source.rows, found.source.cells) == (3, 4)
    assert rows_of(store, "copy") == ROWS


def test_second_run_changes_nothing(store):
    completed(bootstrap(Rows(ROWS), store))
    before = dict(store.properties("copy"))
    dumped = Rows(ROWS)
    run = completed(bootstrap(dumped, store))
    assert dumped.read == 0
    assert dict(store.properties("copy")) == before
    assert run.verify().source == run.verify().target


def test_row_that_another_program_changed_is_found(store):
    run = completed(bootstrap(Rows(ROWS), store))
    store.apply("copy", [put(b"a", 8, column=b"f:q")])
    found = run.verify()
    assert found.source != found.target
    assert not found.is_equal


@pytest.mark.parametrize("kills", [1, 2, 3, 5])
def test_killed_at_any_save_it_resumes(store, kills):
    rows = [Row(b"%03d" % number, (Cell(b"f", b"q", number + 1, b"v"),)) for number in range(20)]
    seen: list[BootstrapProgress] = []
    for _ in range(kills):

        def kill(progress: BootstrapProgress) -> None:
            seen.append(progress)
            if len(seen) % 3 == 0:
                raise Killed

        run = bootstrap(Rows(rows[:11], [], rows[11:]), store, on_progress=kill, saved_rows=4)
        try:
            completed(run)
        except Killed:
            continue
    dumped = Rows(rows[:11], [], rows[11:])
    run = completed(bootstrap(dumped, store, saved_rows=4))
    assert run.verify().source == run.verify().target
    assert run.progress.checksum.rows == 20
    assert rows_of(store, "copy") == rows
    if kills > 1:
        assert dumped.read < 20


def test_progress_is_saved_once_the_rows_are_enough_for_files(store):
    value = bytes(LOADED_BYTES // 16)
    rows = [Row(b"%03d" % number, (Cell(b"f", b"q", 1, value),)) for number in range(40)]
    saved: list[int] = []
    run = bootstrap(
        Rows(rows), store, on_progress=lambda progress: saved.append(progress.rows), loads=TargetLayer(store)
    )
    load_all(run)
    assert saved == [0, 16, 32, 0, 0]
    assert rows_of(store, "copy") == rows


def test_changes_after_the_dump_are_applied(source, store):
    writer = FeedFixture(source, shards=3)
    for number in range(10):
        writer.put(b"%d" % number, b"\xff%d" % number)
    positions = FeedClient(source, "orders", lambda: T).latest()

    def between() -> None:
        writer.delete(b"1", b"7")
        writer.put(b"2", b"8", value=b"new")

    dumped = dumped_beside(lambda: rows_of(source), between)
    writer.delete(b"2", b"\xff3")
    writer.put(b"1", b"z", value=b"again")
    run = completed(bootstrap(dumped, store, following(source, positions)))
    assert rows_of(store, "copy") == rows_of(source)
    found = run.verify()
    assert found.source == found.target
    assert found.differing == ()
    writer.put(b"later")
    run = completed(bootstrap(Rows([], []), store, following(source, positions)))
    assert rows_of(store, "copy") == rows_of(source)
    assert run.progress.changes == 9


def test_splits_and_merges_are_followed(source, store):
    writer = FeedFixture(source, shards=2)
    writer.put(b"a")
    client = FeedClient(source, "orders", lambda: T)
    positions = client.latest()
    dumped = Rows(rows_of(source))
    writer.put(b"a", b"\xf0", value=b"1")
    client.split(1, b"b")
    writer.put(b"a", b"c", value=b"2")
    client.merge(4, 2)
    writer.put(b"a", b"c", b"\xf0", value=b"3")
    run = bootstrap(dumped, store, following(source, positions))
    completed(run)
    assert rows_of(store, "copy") == rows_of(source)
    assert run.progress.positions.keys() == {1, 2, 3, 4, 5}
    assert {shard for shard, token in run.progress.positions.items() if token is None} == {1, 2, 4}


def test_row_seen_first_from_the_feed_is_not_overwritten_by_the_dump(source, store, tmp_path):
    """Also by a cell of the same time, as events with their own times have."""
    writer = FeedFixture(source)
    writer.batch({b"a": [put(b"a", 100, b"old")], b"b": [put(b"b", 100, b"old")], b"c": [put(b"c", 100, b"old")]})
    positions = FeedClient(source, "orders", lambda: T).latest()
    dumped = Rows([Row(b"0", (Cell(b"d", b"a", 1, b"x"),))], rows_of(source))
    source.apply("orders", [put(b"0", 1, b"x")])
    writer.batch({b"a": [put(b"a", 100, b"new")], b"b": [Delete(b"b", 150)], b"c": [put(b"c", 99, b"older")]})
    log = DeleteLog(tmp_path / "deletes")
    run = completed(bootstrap(dumped, store, following(source, positions, log), saved_rows=1))
    assert rows_of(store, "copy") == rows_of(source)
    assert [(row.key, row.cells[0].value) for row in rows_of(source)] == [(b"0", b"x"), (b"a", b"new"), (b"c", b"old")]
    assert run.verify().differing == ()
    assert not (tmp_path / "deletes").exists()


def test_rows_that_an_interrupted_run_had_from_the_feed_are_not_overwritten(source, store, tmp_path):
    writer = FeedFixture(source)
    writer.batch({b"a": [put(b"a", 100, b"old")]})
    positions = FeedClient(source, "orders", lambda: T).latest()
    dumped = Rows([Row(b"0", (Cell(b"d", b"a", 1, b"x"),))], rows_of(source))
    source.apply("orders", [put(b"0", 1, b"x")])
    writer.batch({b"a": [put(b"a", 100, b"new")]})
    log = DeleteLog(tmp_path / "deletes")

    def kill(progress: BootstrapProgress) -> None:
        if progress.changes:
            raise Killed

    with pytest.raises(Killed):
        load_all(bootstrap(dumped, store, following(source, positions, log), on_progress=kill))
    assert dumped.read == 1
    completed(bootstrap(dumped, store, following(source, positions, log)))
    assert rows_of(store, "copy") == rows_of(source)


class Forgetful(MemoryStore):
    """A store that compacts after each write, so that its deletes do not hide cells written later."""

    def apply(self, table, mutations) -> None:
        super().apply(table, mutations)
        kept = rows_of(self, table)
        spec = self.describe_table(table)
        del self._tables[table]
        self.ensure_table(spec)
        for row in kept:
            super().apply(table, list(puts_of(row)))


def test_deleted_row_is_not_revived_by_a_store_that_has_compacted(source, tmp_path):
    writer = FeedFixture(source)
    writer.put(b"a", b"b")
    positions = FeedClient(source, "orders", lambda: T).latest()
    dumped = Rows([Row(b"0", (Cell(b"d", b"a", 1, b"x"),))], rows_of(source))
    source.apply("orders", [put(b"0", 1, b"x")])
    writer.delete(b"a")
    store = Forgetful()
    log = DeleteLog(tmp_path / "deletes")
    completed(bootstrap(dumped, store, following(source, positions, log), saved_rows=1))
    assert [row.key for row in rows_of(store, "copy")] == [b"0", b"b"]


def test_log_of_deletes_that_was_lost_is_an_error(source, store, tmp_path):
    writer = FeedFixture(source)
    writer.put(b"a", b"b")
    positions = FeedClient(source, "orders", lambda: T).latest()
    dumped = Rows(rows_of(source))
    writer.delete(b"a")
    run = bootstrap(dumped, store, following(source, positions, DeleteLog(tmp_path / "deletes")))
    load_all(run)
    text = store.properties("copy")[BOOTSTRAP]
    loading = replace(run.progress, stage=Stage.DELETING, deletes=1).to_text()
    assert store.set_property("copy", BOOTSTRAP, text, loading)
    run = bootstrap(dumped, store, following(source, positions, DeleteLog(tmp_path / "elsewhere")))
    with pytest.raises(IntegrityError, match="0 of 1 deletes"):
        load_all(run)


def test_deletes_of_an_earlier_bootstrap_are_not_applied(source, store, tmp_path):
    writer = FeedFixture(source)
    writer.put(b"a", b"b")
    positions = FeedClient(source, "orders", lambda: T).latest()
    dumped = Rows(rows_of(source))
    DeleteLog(tmp_path / "deletes").append([Delete(b"a", T + 99)])
    log = DeleteLog(tmp_path / "deletes")
    completed(bootstrap(dumped, store, following(source, positions, log)))
    assert [row.key for row in rows_of(store, "copy")] == [b"a", b"b"]


@pytest.mark.parametrize("is_concurrent", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_beside_a_writer_with_kills_the_copy_equals_the_source(source, store, tmp_path, seed, is_concurrent):
    random = Random(seed)
    writer = FeedFixture(source, shards=3)

    def write(batches: int) -> None:
        for _ in range(batches):
            at = writer.time_ms
            rows = random.sample([b"%02x" % number for number in range(0, 256, 5)], 6)
            if random.random() < 0.1:
                shard = random.choice([one.number for one in writer.feed.shards if one.is_open])
                found = writer.feed.shard(shard)
                middle = (found.start or b"\x00") + b"\x40"
                if found.has(middle):
                    FeedClient(source, "orders", lambda: T).split(shard, middle)
            writer.batch({row: random_mutations(random, row, at) for row in rows}, at)

    write(20)
    positions = FeedClient(source, "orders", lambda: T).latest()
    dumped = dumped_beside(lambda: rows_of(source), lambda: write(5))
    log = DeleteLog(tmp_path / "deletes") if is_concurrent else None
    for _ in range(30):

        def kill_or_write(_progress: BootstrapProgress) -> None:
            if random.random() < 0.2:
                raise Killed
            if random.random() < 0.3:
                write(1)

        try:
            completed(
                bootstrap(dumped, store, following(source, positions, log), on_progress=kill_or_write, saved_rows=7)
            )
        except Killed:
            continue
    run = completed(bootstrap(dumped, store, following(source, positions, log), saved_rows=7))
    assert rows_of(store, "copy") == rows_of(source)
    found = run.verify()
    assert found.source == found.target


def test_rows_that_differ_only_while_the_source_is_written_are_compared_again(source, store):
    writer = FeedFixture(source)
    writer.put(b"a", b"b")
    positions = FeedClient(source, "orders", lambda: T).latest()
    rounds = []

    def complete(_seconds: float) -> None:
        rounds.append(1)
        if len(rounds) == 2:
            writer.complete(at)

    run = completed(bootstrap(Rows(rows_of(source)), store, following(source, positions), sleep=complete))
    at = writer.batch({b"a": [put(b"a", writer.time_ms, b"new")]}, is_complete=False)
    found = run.verify()
    assert (found.differing, found.recompared, len(rounds)) == ((), 1, 2)


def test_difference_that_remains_is_reported(source, store):
    writer = FeedFixture(source)
    writer.put(b"a", b"b")
    positions = FeedClient(source, "orders", lambda: T).latest()
    run = completed(bootstrap(Rows(rows_of(source)), store, following(source, positions)))
    store.apply("copy", [put(b"b", T + 99, b"wrong")])
    assert run.verify().differing == (b"b",)


def test_expired_changes_are_an_error_before_anything_is_written(source, store):
    writer = FeedFixture(source)
    writer.put(b"a")
    positions = FeedClient(source, "orders", lambda: T).latest()
    writer.put(b"b")
    dumped = Rows(rows_of(source))
    run = bootstrap(dumped, store, following(source, positions, clock=lambda: T + 2 * DAY_MS))
    with pytest.raises(TrimmedError):
        load_all(run)
    assert (dumped.read, BOOTSTRAP in store.properties("copy")) == (0, False)


def test_expired_changes_are_an_error_before_an_interrupted_run_reads_on(source, store):
    writer = FeedFixture(source)
    writer.put(b"a")
    positions = FeedClient(source, "orders", lambda: T).latest()
    writer.put(b"b")

    def kill(_progress: BootstrapProgress) -> None:
        raise Killed

    with pytest.raises(Killed):
        load_all(bootstrap(Rows(rows_of(source)), store, following(source, positions), on_progress=kill))
    dumped = Rows(rows_of(source))
    with pytest.raises(TrimmedError):
        load_all(bootstrap(dumped, store, following(source, positions, clock=lambda: T + 2 * DAY_MS)))
    assert dumped.read == 0


def test_log_of_deletes_is_kept_until_they_are_recorded_as_applied(source, store, tmp_path, monkeypatch):
    writer = FeedFixture(source)
    writer.put(b"a", b"b")
    positions = FeedClient(source, "orders", lambda: T).latest()
    dumped = Rows(rows_of(source))
    writer.delete(b"a")
    log, stages = DeleteLog(tmp_path / "deletes"), []
    remove = log.remove

    def removed() -> None:
        saved = store.properties("copy").get(BOOTSTRAP)
        stages.append(None if saved is None else BootstrapProgress.of(saved, "copy").stage)
        remove()

    monkeypatch.setattr(log, "remove", removed)
    load_all(bootstrap(dumped, store, following(source, positions, log)))
    assert stages == [None, Stage.FOLLOWING]


def test_feed_of_deferred_updates_is_refused(source, store):
    FeedFixture(source).put(b"a")
    positions = FeedClient(source, "orders", lambda: T).latest()
    assert source.set_property("orders", UPDATES, None, '{"processor": "sum"}')
    with pytest.raises(ConfigError, match="deferred updates"):
        load_all(bootstrap(Rows([]), store, following(source, positions)))


def test_table_with_rows_is_refused(store):
    store.open()
    store.ensure_table(TableSpec("copy", (FamilySpec(b"f"),)))
    store.apply("copy", [put(b"a", 1, column=b"f:q")])
    with pytest.raises(ConflictError, match="has rows"):
        load_all(bootstrap(Rows(ROWS), store))


@pytest.mark.parametrize("has_feed", [False, True])
def test_table_that_lost_its_rows_is_refused(source, store, has_feed):
    """As after a table of HBase was dropped and created again: its properties are kept elsewhere."""
    writer = FeedFixture(source)
    writer.put(b"a", b"b")
    positions = FeedClient(source, "orders", lambda: T).latest()
    dumped = Rows(rows_of(source))

    def run():
        return bootstrap(dumped, store, following(source, positions) if has_feed else None)

    completed(run())
    store.apply("copy", [Delete(b"a", T + 99), Delete(b"b", T + 99)])
    with pytest.raises(IntegrityError, match="has no rows, and 2 were loaded"):
        load_all(run())


def test_table_whose_rows_were_deleted_through_the_feed_is_resumed(source, store):
    writer = FeedFixture(source)
    writer.put(b"a", b"b")
    positions = FeedClient(source, "orders", lambda: T).latest()
    dumped = Rows(rows_of(source))
    writer.delete(b"a", b"b")
    for _ in range(2):
        run = completed(bootstrap(dumped, store, following(source, positions)))
        assert rows_of(store, "copy") == []
    assert run.verify().is_equal


def test_table_of_another_dump_is_refused(store):
    completed(bootstrap(Rows(ROWS), store))
    run = bootstrap(Rows(ROWS), store)
    run.progress = replace(run.progress, dump="2026-02-01-12-00-00")
    with pytest.raises(ConflictError, match="2026-01-31-12-00-00"):
        load_all(run)


def test_file_that_has_fewer_rows_than_were_loaded_is_an_error(store):
    def kill(progress: BootstrapProgress) -> None:
        if progress.rows:
            raise Killed

    with pytest.raises(Killed):
        load_all(bootstrap(Rows(ROWS), store, on_progress=kill, saved_rows=2))
    with pytest.raises(IntegrityError, match="had 2 rows"):
        load_all(bootstrap(Rows(ROWS[:1]), store))
