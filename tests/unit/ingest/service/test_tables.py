"""A pipeline claims its tables with deferred updates, and moves their committed positions."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ingest.api import (
    ConfigError,
    ConflictError,
    FamilySpec,
    PositionLostError,
    Put,
    StoreUnavailableError,
    TableSpec,
    UpdatesDifferError,
)
from ingest.formats.times import moment
from ingest.service.kafka import topics
from ingest.service.kafka.positions import RESET, ResetNote, write_first_offsets
from ingest.service.kafka.source import KafkaSource
from ingest.service.lost_batches import withdraw_lost_batches
from ingest.service.tables import OwnerOptions, PipelineTables
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.testing.tables import scanned
from sinks.memory import MemoryStore
from sinks.owning.committed_position import COMMITTED, FORMER, OWNER, CommittedPosition
from sinks.rewriting.counted_letters import change_counted, counted_letters
from sinks.rewriting.withdrawn_times import withdrawn_times
from sinks.updates.keys import UpdateKey, update_id_of
from sinks.writing.driver_store import DriverStore
from tests.support.checkpoint import acknowledge
from tests.support.owned import owned_of
from tests.support.relocked import relocked
from tests.support.sources import driver_context

SUMS = '{"processor": "sum"}'
TABLES = ("hits", "bytes")
FINGERPRINT = "as before"
SPEC = TableSpec("hits", (FamilySpec(b"c"),), updates=SUMS)


class KilledError(Exception):
    """The process is killed here."""


def kill() -> None:
    raise KilledError


class Kept(MemoryStore):
    """A memory store whose rows survive a close."""

    def close(self) -> None:
        pass


class Service:
    """The tables of a pipeline `counts` in one store, over any number of starts."""

    def __init__(self, folder: Path) -> None:
        self.store = Kept()
        self.store.open()
        for table in TABLES:
            self.store.ensure_table(TableSpec(table, (FamilySpec(b"c"),)))
        self.folder = folder
        self.replay = folder / "replays" / "updates"
        self.withdrawn: list[tuple[int, int]] = []
        self.opened = ExitStack()

    def start(
        self,
        *,
        now_ms: int = 1_000,
        pipeline: str = "counts",
        fingerprint: str = FINGERPRINT,
        updates: str = SUMS,
        options: OwnerOptions | None = None,
        tables: tuple[str, ...] = TABLES,
    ) -> PipelineTables:
        specs = [TableSpec(table, (FamilySpec(b"c"),), updates=updates) for table in tables]
        owned = owned_of(pipeline, {"s": DriverStore(self.store)}, {"s": specs})
        self.times = BatchTimes(self.folder / "times", lambda: now_ms)
        self.checkpoint = checkpoint = self.locked()
        found = PipelineTables(
            owned,
            checkpoint,
            self.times,
            fingerprint=fingerprint,
            replay=self.replay,
            options=options or OwnerOptions(),
        )
        found.claim(KafkaSource(KAFKA, driver_context(self.folder)), lambda *batch: self.withdrawn.append(batch))
        checkpoint.note_configuration(fingerprint)
        return found

    def locked(self) -> Checkpoint:
        return relocked(self.folder, self.opened)

    def plan(self, number: int, end: int) -> int:
        """Plan a batch as Spark does; returns its time."""
        acknowledge(self.folder, number, {"t": {0: end}})
        (self.folder / "commits" / str(number)).unlink()
        return self.times.of(number)

    def write(self, table: str, time_ms: int) -> None:
        key = UpdateKey(b"a", update_id_of(time_ms, 0))
        self.store.apply(table, [Put(key.encoded(), {b"c:n": b"1"}, time_ms)])

    def times_in(self, table: str) -> list[int]:
        """The batch times of the update rows of a table."""
        return [cell.timestamp_ms for row in scanned(self.store, table) for cell in row.cells]

    def ran_again(self, *times_ms: int) -> list[bool]:
        """Whether both tables know that the records of these micro-batches ran again; a topic keeps dead letters."""
        known = [counted_letters(self.store, table) for table in TABLES]
        return [all(each.did_run_again(time_ms) for each in known) for time_ms in times_ms]

    def interrupted(self) -> int:
        """Complete a batch, and interrupt the next one with a row in one table; returns its time."""
        self.start().complete(0, self.plan(0, 10))
        acknowledge(self.folder, 0, {"t": {0: 10}})
        self.start()
        time_ms = self.plan(1, 20)
        self.write("hits", time_ms)
        return time_ms

    def committed(self) -> Mapping[str, int]:
        texts = {table: self.store.properties(table).get(COMMITTED) for table in TABLES}
        return {table: json.loads(text)["time_ms"] for table, text in texts.items() if text is not None}


KAFKA = KafkaSource.settings_class()(brokers="localhost:9092", topics=["t"])


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    with made.opened:
        yield made


def test_first_start_records_updates_and_owner(service: Service) -> None:
    tables = service.start()
    assert [dict(service.store.properties(table)) for table in TABLES] == [{"updates": SUMS, OWNER: "counts"}] * 2
    assert tables.resume_at() is None
    assert not tables.is_complete(0, service.plan(0, 10))


def test_committed_positions_move_after_a_batch_and_never_back(service: Service) -> None:
    tables = service.start()
    time_ms = service.plan(0, 10)
    tables.complete(0, time_ms)
    assert service.committed() == dict.fromkeys(TABLES, time_ms)
    assert tables.is_complete(0, time_ms)
    assert not tables.is_complete(0, time_ms + 1)
    tables.complete(0, time_ms - 1)
    assert service.committed() == dict.fromkeys(TABLES, time_ms)
    assert tables.resume_at() == {"t": {"0": 10}}


def test_batch_is_complete_only_if_all_tables_are(service: Service) -> None:
    tables = service.start()
    tables.complete(0, service.plan(0, 10))
    time_ms = service.plan(1, 20)
    committed = service.store.properties("hits")[COMMITTED]
    assert service.store.set_property(
        "hits", COMMITTED, committed, CommittedPosition(time_ms, {"t": {"0": 20}}).to_text()
    )
    tables = service.start()
    assert not tables.is_complete(1, time_ms)
    assert tables.resume_at() == {"t": {"0": 10}}
    tables.complete(1, time_ms)
    assert service.committed() == dict.fromkeys(TABLES, time_ms)


def test_uncommitted_batch_keeps_its_rows_and_its_time(service: Service) -> None:
    service.start()
    time_ms = service.plan(0, 10)
    service.write("hits", time_ms)
    service.start(now_ms=9_000)
    assert (service.times_in("hits"), service.times.of(0)) == ([time_ms], time_ms)


def test_uncommitted_batch_with_another_configuration_starts_anew_at_a_later_time(service: Service) -> None:
    service.start().complete(0, service.plan(0, 10))
    acknowledge(service.folder, 0, {"t": {0: 10}})
    service.write("hits", 1_000)
    interrupted = service.plan(1, 20)
    service.write("hits", interrupted)
    service.write("bytes", interrupted)
    tables = service.start(fingerprint="corrected")
    assert (service.times_in("hits"), service.times_in("bytes")) == ([1_000], [])
    renewed = service.times.of(1)
    assert renewed > interrupted
    assert service.withdrawn == [(1, interrupted)]
    assert service.ran_again(interrupted, renewed) == [True, False]
    # the deletes do not hide what the batch writes next
    service.write("hits", renewed)
    assert service.times_in("hits") == [1_000, renewed]
    tables.complete(1, renewed)
    service.start(fingerprint="corrected once more", now_ms=9_000)
    assert (service.times_in("hits"), service.times.of(1)) == ([1_000, renewed], renewed)


def test_batch_that_was_withdrawn_before_a_kill_starts_anew_also_with_its_former_configuration(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HBase's delete markers would hide what it writes at its old time, and no read would count it."""
    time_ms = service.interrupted()
    with monkeypatch.context() as killed:
        killed.setattr(BatchTimes, "renew", lambda *_arguments: kill())
        with pytest.raises(KilledError):
            service.start(fingerprint="another", now_ms=2_000)
    assert withdrawn_times(service.store, "hits").has_time(time_ms)
    service.start(now_ms=3_000)
    assert service.times.of(1) >= 3_000
    assert service.withdrawn[-1] == (1, time_ms)
    service.start(now_ms=4_000)
    assert service.times.of(1) < 4_000, "it is withdrawn once"


def test_no_batch_gets_a_withdrawn_time_though_checkpoint_and_clock_are_lost(service: Service) -> None:
    service.interrupted()
    service.start(fingerprint="another", now_ms=5_000)
    withdrawn_ms = withdrawn_times(service.store, "hits").last_ms
    shutil.rmtree(service.folder)
    service.start(now_ms=10)
    assert service.plan(0, 10) > withdrawn_times(service.store, "hits").last_ms >= withdrawn_ms


def test_start_of_a_driver_that_another_one_has_replaced_changes_nothing(service: Service) -> None:
    service.start().complete(0, service.plan(0, 10))
    acknowledge(service.folder, 0, {"t": {0: 10}})
    interrupted = service.plan(1, 20)
    service.write("hits", interrupted)

    def replaced() -> Checkpoint:
        checkpoint = Service.locked(service)
        (service.folder / "lock").unlink()  # as a lease that expired
        return checkpoint

    service.locked = replaced  # type: ignore[method-assign]
    with pytest.raises(ConflictError) as caught:
        service.start(fingerprint="corrected")
    assert caught.value.code == "lease_lost"
    assert (service.times_in("hits"), service.withdrawn, service.times.of(1)) == ([interrupted], [], interrupted)


def test_new_checkpoint_starts_at_the_committed_positions_without_the_updates_above_them(
    service: Service, tmp_path: Path
) -> None:
    service.start().complete(0, service.plan(0, 10))
    for table in TABLES:
        service.write(table, 1_000)
        service.write(table, 1_002)
    service.folder = tmp_path / "new"
    tables = service.start(now_ms=5)
    assert [service.times_in(table) for table in TABLES] == [[1_000], [1_000]]
    assert tables.resume_at() == {"t": {"0": 10}}
    assert service.times.of(0) > 1_000


def test_new_checkpoint_before_the_first_committed_position_starts_with_empty_tables(
    service: Service, tmp_path: Path
) -> None:
    service.start()
    service.write("hits", 1_000)
    service.folder = tmp_path / "new"
    assert service.start().resume_at() is None
    assert service.times_in("hits") == []


def test_checkpoint_of_a_reset_starts_without_the_updates_above_the_committed_positions(
    service: Service, tmp_path: Path
) -> None:
    service.start().complete(0, service.plan(0, 10))
    service.write("hits", 1_000)
    service.write("hits", 1_002)  # of a batch that was not acknowledged
    service.folder = tmp_path / "new"
    start = service.folder / "sources" / "0" / "0"
    start.parent.mkdir(parents=True)
    start.write_text('v1\n{"t":{"0":10}}')
    service.start(now_ms=5)
    assert service.times_in("hits") == [1_000]


@pytest.mark.parametrize(("start", "recount", "is_refused"), [(9, False, True), (10, False, False), (9, True, False)])
def test_reset_before_the_committed_positions_is_refused_unless_events_may_count_again(
    service: Service, tmp_path: Path, start: int, recount: bool, is_refused: bool
) -> None:
    """
    The reset itself knows the acknowledged offsets alone: a batch may have been killed after its committed position.
    """
    service.start().complete(0, service.plan(0, 10))
    service.folder = tmp_path / "new"
    write_first_offsets(service.folder, {("t", 0): start})
    (service.folder / RESET).write_bytes(ResetNote("new", recount).to_bytes())
    if is_refused:
        with pytest.raises(ConflictError, match="t/0 is 9 there and 10 in the committed position"):
            service.start()
    else:
        service.start()


def test_recount_starts_elsewhere_after_the_times_of_the_committed_positions(service: Service, tmp_path: Path) -> None:
    service.start().complete(0, service.plan(0, 10))
    service.write("hits", 1_000)
    service.folder = tmp_path / "new"
    tables = service.start(now_ms=5, options=OwnerOptions(recount=True))
    assert tables.resume_at() is None
    assert service.times_in("hits") == [1_000]
    assert not tables.is_complete(0, service.plan(0, 5))


def test_new_checkpoint_tells_that_records_after_the_committed_position_run_again(
    service: Service, tmp_path: Path
) -> None:
    """A topic may have dead letters of a micro-batch whose updates are removed."""
    service.start().complete(0, service.plan(0, 10))
    for text, lasts in (("new", 5_000), ("newer", 7_000)):
        service.folder = tmp_path / text
        service.start(now_ms=lasts)
        known = counted_letters(service.store, "hits")
        assert [known.did_run_again(at_ms) for at_ms in (1_000, 1_001, lasts)] == [False, True, True]
        assert service.plan(0, 10) > lasts
    known = known.with_run(999, 500, "hits", [(("t", 0, 1), 2)]).with_run(1_001, 500, "hits", [(("t", 0, 2), 3)])
    change_counted(service.store, "hits", lambda _known: known)
    service.folder = tmp_path / "newest"
    service.start(now_ms=9_000)
    counted = counted_letters(service.store, "hits")
    assert [counted.times_of(("t", 0, at), 500, "hits", {"hits"}) for at in (1, 2)] == [[999], []]


def test_recount_forgets_what_the_tables_know_of_dead_letters(service: Service, tmp_path: Path) -> None:
    service.start().complete(0, service.plan(0, 10))
    service.folder = tmp_path / "new"
    service.start(now_ms=5_000, options=OwnerOptions(recount=True))
    known = counted_letters(service.store, "hits")
    assert (known.is_unknown(5_000), known.is_unknown(5_001)) == (True, False)
    assert service.plan(0, 10) > 5_000


def test_merged_updates_from_both_sides_of_the_committed_position_are_not_rolled_back(
    service: Service, tmp_path: Path
) -> None:
    service.start().complete(0, service.plan(0, 10))
    key = UpdateKey(b"a", update_id_of(900, 0), update_id_of(2_000, 0))
    service.store.apply("hits", [Put(key.encoded(), {b"c:n": b"1"}, 2_000)])
    service.folder = tmp_path / "new"
    with pytest.raises(ConflictError, match="in merged rows"):
        service.start()
    assert service.times_in("hits") == [2_000]


def test_source_that_cannot_start_at_the_committed_positions_is_refused(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.start().complete(0, service.plan(0, 10))
    service.folder = tmp_path / "new"
    monkeypatch.setattr(KafkaSource, "supports_resume_at", False)
    with pytest.raises(ConfigError, match="--recount"):
        service.start()


def test_other_pipeline_is_refused_until_it_takes_the_tables_over(service: Service, tmp_path: Path) -> None:
    earlier = service.start()
    with pytest.raises(ConflictError, match='pipeline "counts" owns table "hits"') as caught:
        service.start(pipeline="others")
    assert (caught.value.code, caught.value.exit_code) == ("other_owner", 4)
    service.start(pipeline="others", options=OwnerOptions(take_over=True))
    time_ms = service.plan(0, 10)
    with pytest.raises(ConflictError, match="no longer owns"):
        earlier.complete(0, time_ms)
    assert service.committed() == {}


def test_second_process_of_a_pipeline_says_which_micro_batch_counts_twice(service: Service, tmp_path: Path) -> None:
    """Its rows are in the tables, and count as soon as the committed position of the first one is past them."""
    first, folder = service.start(), service.folder
    service.folder = tmp_path / "second"
    second = service.start(now_ms=1_005)
    time_ms = service.plan(0, 10)
    times, service.folder = service.times, folder
    service.times = BatchTimes(folder / "times", lambda: 1_000)
    first.complete(0, service.plan(0, 10))
    acknowledge(tmp_path / "second", 0, {"t": {0: 10}})
    with pytest.raises(ConflictError, match="another process that runs it") as caught:
        second.complete(0, times.of(0))
    time = moment(time_ms)
    for table in TABLES:
        assert f"'attr2hbase rollback {table} --from {time} --to {time}'" in str(caught.value.hint)


def test_start_waits_for_an_unfinished_replay(service: Service) -> None:
    service.replay.parent.mkdir()
    service.replay.touch()
    with pytest.raises(ConflictError, match="interrupted") as caught:
        service.start()
    assert caught.value.code == "replay_unfinished"
    service.replay.unlink()
    service.start()


def test_table_with_rows_of_another_form_is_refused(service: Service) -> None:
    service.store.apply("hits", [Put(b"a", {b"c:n": b"1"}, 5)])
    with pytest.raises(UpdatesDifferError, match="no deferred updates"):
        service.start()


def test_other_updates_are_refused_once_there_are_rows(service: Service) -> None:
    service.start()
    other = service.start(updates='{"processor": "max"}')
    time_ms = service.plan(0, 10)
    service.write("hits", time_ms)
    other.complete(0, time_ms)
    with pytest.raises(UpdatesDifferError, match=r"updates \{processor: max\}"):
        service.start()


def test_new_table_is_complete_up_to_the_committed_position_of_the_others(service: Service) -> None:
    service.start(tables=("hits",)).complete(0, service.plan(0, 10))
    acknowledge(service.folder, 0, {"t": {0: 10}})
    service.write("hits", 1_000)
    service.start(fingerprint="with another table")
    assert service.committed() == dict.fromkeys(TABLES, 1_000)
    interrupted = service.plan(1, 20)
    service.write("hits", interrupted)
    service.write("bytes", interrupted)
    # the rows that the first table has for good stay
    service.start(fingerprint="corrected")
    assert (service.times_in("hits"), service.times_in("bytes")) == ([1_000], [])


def test_changed_configuration_rolls_back_the_interrupted_batch_alone(service: Service) -> None:
    """Committed positions of tables differ in time after a replay into one of them."""
    service.start().complete(0, service.plan(0, 10))
    acknowledge(service.folder, 0, {"t": {0: 10}})
    service.write("hits", 1_500)
    committed = service.store.properties("hits")[COMMITTED]
    assert service.store.set_property(
        "hits", COMMITTED, committed, CommittedPosition(1_500, {"t": {"0": 10}}).to_text()
    )
    service.start(now_ms=2_000)
    interrupted = service.plan(1, 20)
    assert interrupted > 1_500
    service.write("hits", interrupted)
    service.start(fingerprint="corrected", now_ms=2_000)
    assert service.times_in("hits") == [1_500]


def test_interrupted_batch_keeps_its_time_until_its_updates_are_removed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the later time first, a start that is killed would leave updates of the earlier one for good."""
    interrupted = service.interrupted()

    def away(_table: str, _mutations: object) -> None:
        raise StoreUnavailableError("away")

    with monkeypatch.context() as patched:
        patched.setattr(service.store, "apply", away)
        with pytest.raises(StoreUnavailableError):
            service.start(fingerprint="corrected")
    assert service.times.of(1) == interrupted
    service.start(fingerprint="corrected")
    assert (service.times_in("hits"), service.times.of(1) > interrupted) == ([], True)


@pytest.mark.parametrize("by", ["new checkpoint", "take over"])
def test_batch_does_not_get_the_time_of_removed_updates_though_the_clock_was_set_back(
    service: Service, tmp_path: Path, by: str
) -> None:
    """Their deletes would hide what it writes."""
    service.start().complete(0, service.plan(0, 10))
    acknowledge(service.folder, 0, {"t": {0: 10}})
    service.write("hits", 5_000)
    service.folder = tmp_path / "new"
    taken = {"pipeline": "others", "options": OwnerOptions(take_over=True)} if by == "take over" else {}
    service.start(now_ms=4_000, **taken)
    assert service.times_in("hits") == []
    assert service.plan(0, 20) > 5_000


def test_new_checkpoint_keeps_what_each_table_has_up_to_its_own_committed_position(
    service: Service, tmp_path: Path
) -> None:
    service.start().complete(0, service.plan(0, 10))
    committed = service.store.properties("hits")[COMMITTED]
    assert service.store.set_property(
        "hits", COMMITTED, committed, CommittedPosition(1_500, {"t": {"0": 10}}).to_text()
    )
    service.write("hits", 1_500)
    service.write("bytes", 1_500)
    service.folder = tmp_path / "new"
    assert service.start(now_ms=5).resume_at() == {"t": {"0": 10}}
    assert (service.times_in("hits"), service.times_in("bytes")) == ([1_500], [])
    assert service.times.of(0) > 1_500


def test_a_smaller_file_at_a_path_is_not_behind_the_committed_position(service: Service) -> None:
    def acknowledged(number: int, size: int) -> None:
        file = {"size": size, "mtime_ms": size, "length": size, "position": 100}
        acknowledge(service.folder, number, {"/a.gz": file})

    tables = service.start()
    acknowledged(0, 100)
    tables.complete(0, service.times.of(0))
    acknowledged(1, 50)
    (service.folder / "commits" / "1").unlink()
    service.start()
    assert tables.resume_at()["/a.gz"]["size"] == 100


def test_restored_checkpoint_behind_the_committed_positions_is_refused(service: Service) -> None:
    service.start().complete(0, service.plan(0, 100))
    acknowledge(service.folder, 0, {"t": {0: 100}})
    service.start().complete(1, service.plan(1, 140))
    acknowledge(service.folder, 1, {"t": {0: 140}})
    service.start()
    for name in ("offsets", "commits"):
        (service.folder / name / "1").unlink()
    (service.folder / "times" / "1").unlink()
    with pytest.raises(ConflictError, match="t/0 is 100 there and 140 in the committed position") as caught:
        service.start()
    assert caught.value.code == "behind_committed_position"
    service.start(options=OwnerOptions(recount=True))


def test_checkpoint_behind_the_committed_position_of_one_table_is_refused(service: Service) -> None:
    """The other one was not written for some time, so its committed position is older."""
    service.start().complete(0, service.plan(0, 100))
    acknowledge(service.folder, 0, {"t": {0: 100}})
    service.start(tables=("bytes",)).complete(1, service.plan(1, 140))
    for name in ("offsets", "times"):
        (service.folder / name / "1").unlink()
    with pytest.raises(ConflictError, match="t/0 is 100 there and 140 in the committed position"):
        service.start()


def test_new_checkpoint_is_refused_if_the_tables_end_at_different_offsets(service: Service, tmp_path: Path) -> None:
    service.start().complete(0, service.plan(0, 10))
    committed = service.store.properties("hits")[COMMITTED]
    assert service.store.set_property(
        "hits", COMMITTED, committed, CommittedPosition(1_500, {"t": {"0": 20}}).to_text()
    )
    service.folder = tmp_path / "new"
    with pytest.raises(ConflictError, match="different offsets") as caught:
        service.start()
    assert caught.value.code == "committed_positions_differ"
    assert service.start(options=OwnerOptions(recount=True)).resume_at() is None


@pytest.mark.parametrize("fails", [False, True])
def test_interrupted_batch_is_not_complete_by_the_committed_position_of_a_table_that_was_taken_over(
    service: Service, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    service.start(tables=("hits",)).complete(0, service.plan(0, 10))
    acknowledge(service.folder, 0, {"t": {0: 10}})
    interrupted = service.plan(1, 20)
    theirs = CommittedPosition(interrupted + 500, {"other": {"0": 7}}).to_text()
    assert service.store.set_property("bytes", "updates", None, SUMS)
    assert service.store.set_property("bytes", OWNER, None, "others")
    assert service.store.set_property("bytes", COMMITTED, None, theirs)
    service.write("bytes", interrupted)
    if fails:
        set_property = service.store.set_property

        def fail_once(table: str, name: str, before: str | None, value: str | None) -> bool:
            if name == COMMITTED:
                monkeypatch.setattr(service.store, "set_property", set_property)
                raise StoreUnavailableError("away")
            return set_property(table, name, before, value)

        monkeypatch.setattr(service.store, "set_property", fail_once)
        with pytest.raises(StoreUnavailableError):
            service.start(options=OwnerOptions(take_over=True))
    tables = service.start(options=OwnerOptions(take_over=True))
    assert service.times_in("bytes") == [interrupted]
    renewed = service.times.of(1)
    assert renewed > interrupted + 500
    assert not tables.is_complete(1, renewed)


def test_batch_is_counted_once_in_a_table_that_was_taken_over_and_back(service: Service) -> None:
    service.start(tables=("hits",)).complete(0, service.plan(0, 10))
    killed = service.plan(1, 20)  # its committed position is moved, and it is not acknowledged
    service.write("hits", killed)
    acknowledge(service.folder, 0, {"t": {0: 10}})
    service.start(tables=("hits",)).complete(1, killed)
    others = owned_of("others", {"s": DriverStore(service.store)}, {"s": [SPEC]})
    others.claim(take_over=True)
    assert service.times_in("hits") == [killed]
    others.move(CommittedPosition(killed + 500, {"other": {"0": 7}}))
    service.write("hits", killed + 500)
    service.start(tables=("hits",), options=OwnerOptions(take_over=True))
    assert service.times_in("hits") == [killed + 500]
    assert service.times.of(1) > killed + 500


def test_pipeline_that_takes_a_table_back_starts_where_it_ended_though_its_checkpoint_is_lost(
    service: Service, tmp_path: Path
) -> None:
    service.start(tables=("hits",)).complete(0, service.plan(0, 10))
    acknowledge(service.folder, 0, {"t": {0: 10}})
    others = owned_of("others", {"s": DriverStore(service.store)}, {"s": [SPEC]})
    others.claim(take_over=True)
    assert others.resume_at() == {"t": {"0": 10}}  # it may read the same topic
    others.move(CommittedPosition(5_000, {"other": {"0": 7}}))
    service.folder = tmp_path / "new"
    tables = service.start(tables=("hits",), options=OwnerOptions(take_over=True), now_ms=9_000)
    assert tables.resume_at() == {"t": {"0": 10}, "other": {"0": 7}}
    tables.complete(0, service.plan(0, 20))
    assert service.start(tables=("hits",)).resume_at() == {"t": {"0": 20}}


def test_interrupted_batch_leaves_no_updates_of_an_earlier_time_in_a_table_that_was_left_out(service: Service) -> None:
    """A start without the table gives the batch a later time, and a third one declares the table again."""
    service.start().complete(0, service.plan(0, 10))
    acknowledge(service.folder, 0, {"t": {0: 10}})
    service.start()
    interrupted = service.plan(1, 20)
    service.write("bytes", interrupted)
    service.start(fingerprint="without bytes", tables=("hits",))
    renewed = service.times.of(1)
    assert renewed > interrupted
    service.write("hits", renewed)
    service.start()
    assert (service.times_in("bytes"), service.times_in("hits")) == ([], [])
    assert service.times.of(1) > renewed


def test_interrupted_replay_is_given_up_with_a_table_that_another_pipeline_has_taken_over(service: Service) -> None:
    service.start().complete(0, service.plan(0, 10))
    acknowledge(service.folder, 0, {"t": {0: 10}})
    service.replay.parent.mkdir(parents=True)
    service.replay.touch()
    for table in TABLES:
        service.write(table, 2_000)  # of the replay, above the committed positions
    with pytest.raises(ConflictError, match="was interrupted"):
        service.start(options=OwnerOptions(take_over=True))
    owned_of("others", {"s": DriverStore(service.store)}, {"s": [SPEC]}).claim(take_over=True)
    with pytest.raises(ConflictError, match='pipeline "others" owns'):
        service.start()
    assert service.replay.exists()
    service.start(options=OwnerOptions(take_over=True))
    assert (service.replay.exists(), service.times_in("hits"), service.times_in("bytes")) == (False, [], [])
    assert service.plan(1, 20) > 2_000


def test_refused_owner_changes_no_record(service: Service) -> None:
    service.start()
    with pytest.raises(ConflictError, match="owns table"):
        service.start(pipeline="others", updates='{"processor": "max"}')
    assert service.store.properties("hits")["updates"] == SUMS


@pytest.mark.parametrize("by", ["owner", "rows"])
def test_start_that_one_table_refuses_claims_none(service: Service, by: str) -> None:
    service.start(pipeline="others" if by == "owner" else "counts", tables=("hits",))
    service.write("hits", 1_000)
    other = "counts" if by == "owner" else "others"
    with pytest.raises(ConflictError if by == "owner" else UpdatesDifferError):
        service.start(
            pipeline=other,
            updates=SUMS if by == "owner" else '{"processor": "max"}',
            tables=("bytes", "hits"),
            options=OwnerOptions(take_over=by == "rows"),
        )
    assert service.store.properties("bytes") == {}


def test_updates_that_are_no_longer_declared_are_forgotten_while_there_are_no_rows(service: Service) -> None:
    service.start()
    plain = {"s": [TableSpec("hits", (FamilySpec(b"c"),))]}
    stores = {"s": DriverStore(service.store)}
    with pytest.raises(ConflictError, match='pipeline "counts" owns table "hits" with its deferred updates'):
        owned_of("others", stores, {}, {"s": ["hits"]}, plain).check()
    owned = owned_of("counts", stores, {}, {"s": ["hits"]}, plain)
    owned.check()
    assert owned.release_undeclared() == []
    assert service.store.properties("hits") == {}
    assert service.store.set_property("hits", OWNER, None, "counts")  # a plain table has no owner
    owned_of("others", stores, {}, {"s": ["hits"]}, plain).check()
    service.write("bytes", 1_000)
    with pytest.raises(UpdatesDifferError, match="but the file declares no deferred updates"):
        owned_of("counts", stores, {}, {"s": ["bytes"]}, {"s": [TableSpec("bytes")]}).check()


@pytest.mark.parametrize("name", [OWNER, FORMER, COMMITTED])
def test_table_that_another_process_takes_over_meanwhile_is_not_claimed(
    service: Service, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    service.start(pipeline="others", tables=("hits",)).complete(0, service.plan(0, 10))
    set_property = service.store.set_property

    def lost(table: str, changed: str, before: str | None, value: str | None) -> bool:
        return changed != name and set_property(table, changed, before, value)

    monkeypatch.setattr(service.store, "set_property", lost)
    tables, options = (("hits", "bytes"), None) if name == COMMITTED else (("hits",), OwnerOptions(take_over=True))
    with pytest.raises(ConflictError, match="another one has taken it over") as refused:
        service.start(pipeline="others" if name == COMMITTED else "counts", tables=tables, options=options)
    assert refused.value.code == "other_owner"


@pytest.mark.parametrize("passes", [0, 1, 2])
@pytest.mark.parametrize("by", ["new checkpoint", "other configuration"])
def test_driver_that_has_lost_its_checkpoint_removes_nothing(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str, passes: int
) -> None:
    """Whatever it has read before: the driver that has taken over may run that batch now."""
    interrupted = service.interrupted()
    if by == "new checkpoint":
        service.folder = tmp_path / "new"
    check, checks = Checkpoint.check_locked, []

    def lost(checkpoint: Checkpoint) -> None:
        checks.append(by)
        if len(checks) > passes:
            raise ConflictError("taken over", code="lease_lost")
        check(checkpoint)

    monkeypatch.setattr(Checkpoint, "check_locked", lost)
    if passes < 2:
        with pytest.raises(ConflictError, match="taken over"):
            service.start(fingerprint="corrected", now_ms=9_000)
        assert service.times_in("hits") == [interrupted]
    else:
        service.start(fingerprint="corrected", now_ms=9_000)
        assert (service.times_in("hits"), len(checks)) == ([], 2)


def with_topic_ids(service: Service, monkeypatch: pytest.MonkeyPatch, topic_id: str) -> None:
    """Complete a micro-batch with a topic of the id "a", lose the checkpoint, and let the topic have an id."""
    (service.folder / "topics.json").write_text('{"t": "a", "other": "b"}')
    tables = service.start()
    tables.complete(0, service.plan(0, 10))
    for child in service.folder.iterdir():
        shutil.rmtree(child) if child.is_dir() else child.unlink()
    cluster = SimpleNamespace(topic_ids=lambda topics: dict.fromkeys(topics, topic_id))
    monkeypatch.setattr(topics, "KafkaAdmin", lambda _settings: nullcontext(cluster))


def test_committed_position_has_the_ids_of_its_topics(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    with_topic_ids(service, monkeypatch, "a")
    text = service.store.properties("hits")[COMMITTED]
    assert CommittedPosition.of(text, "hits") == CommittedPosition(1_000, {"t": {"0": 10}}, {"t": "a"})
    assert service.start(now_ms=2_000).resume_at() == {"t": {"0": 10}}


def test_new_checkpoint_is_refused_if_a_topic_was_recreated(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    with_topic_ids(service, monkeypatch, "c")
    service.write("hits", 1_500)
    with pytest.raises(PositionLostError, match='topic "t" was deleted and recreated') as refused:
        service.start(now_ms=2_000)
    assert (refused.value.code, "--recount" in (refused.value.hint or "")) == ("topic_recreated", True)
    assert service.times_in("hits") == [1_500]
    assert service.start(now_ms=2_000, options=OwnerOptions(recount=True)).resume_at() is None


def test_committed_position_without_topic_ids_is_as_before(service: Service) -> None:
    committed = CommittedPosition(5, {"t": {"0": 1}})
    assert committed.to_text() == '{"after_ms":-1,"format":2,"offsets":{"t":{"0":1}},"time_ms":5,"topic_ids":{}}'
    assert CommittedPosition.of(committed.to_text(), "hits") == committed
    of_0_2_0 = '{"format":1,"offsets":{"t":{"0":1}},"time_ms":5,"topic_ids":{}}'
    assert CommittedPosition.of(of_0_2_0, "hits") == committed


class TestLostPlan:
    """A micro-batch that had begun, and whose plan a power cut has removed."""

    def lost(self, service: Service) -> int:
        """The time of such a batch, with a row in each table."""
        time_ms = service.interrupted()
        service.write("bytes", time_ms)
        (service.folder / "offsets" / "1").unlink()
        return time_ms

    def restarted(self, service: Service, **options: Any) -> None:
        tables = service.start(**options)
        withdraw_lost_batches(service.checkpoint, service.times, tables, lambda *batch: service.withdrawn.append(batch))

    def test_its_updates_are_withdrawn_and_its_number_gets_a_later_time(self, service: Service) -> None:
        time_ms = self.lost(service)
        self.restarted(service)
        assert [service.times_in(table) for table in TABLES] == [[], []]
        assert service.withdrawn == [(1, time_ms)]
        renewed = service.plan(1, 15)
        assert service.ran_again(time_ms, renewed) == [True, False]
        assert renewed > time_ms
        service.write("hits", renewed)  # the deletes do not hide it
        assert service.times_in("hits") == [renewed]
        self.restarted(service)
        assert (service.times_in("hits"), service.withdrawn) == ([renewed], [(1, time_ms)])

    def test_batches_before_it_stay(self, service: Service) -> None:
        self.lost(service)
        service.write("hits", 900)
        self.restarted(service)
        assert service.times_in("hits") == [900]

    def test_all_of_several_are_withdrawn(self, service: Service) -> None:
        self.lost(service)
        acknowledge(service.folder, 1, {"t": {0: 20}})
        later = service.plan(2, 30)
        service.write("hits", later)
        for name in ("offsets/1", "commits/1", "offsets/2"):
            (service.folder / name).unlink()
        self.restarted(service)
        assert [service.times_in(table) for table in TABLES] == [[], []]
        assert service.plan(1, 40) > later

    def test_batch_that_is_planned_runs_again_as_it_was(self, service: Service) -> None:
        time_ms = service.interrupted()
        acknowledge(service.folder, 1, {"t": {0: 20}})
        later = service.plan(2, 30)
        service.write("bytes", later)
        for name in ("commits/1", "offsets/2"):
            (service.folder / name).unlink()
        self.restarted(service)
        assert [service.times_in(table) for table in TABLES] == [[time_ms], []]
        assert service.times.of(1) == time_ms

    def test_batch_whose_committed_position_is_set_is_refused(self, service: Service) -> None:
        service.interrupted()
        service.start().complete(1, service.times.of(1))
        (service.folder / "offsets" / "1").unlink()
        with pytest.raises(ConflictError) as caught:
            self.restarted(service)
        assert caught.value.code == "behind_committed_position"

    def test_recount_leaves_a_batch_whose_committed_position_is_set(self, service: Service) -> None:
        time_ms = self.lost(service)
        (service.folder / "offsets" / "1").write_text('v1\n{}\n{"t": {"0": 20}}')
        service.start().complete(1, time_ms)
        (service.folder / "offsets" / "1").unlink()
        self.restarted(service, options=OwnerOptions(recount=True))
        assert service.times_in("hits") == [time_ms]
        assert service.plan(1, 15) > time_ms


class TestLostTime:
    """A micro-batch that is planned, and whose time is lost: Spark runs it again, at another time."""

    def lost(self, service: Service) -> int:
        """The time of such a batch, with a row in one table."""
        time_ms = service.interrupted()
        (service.folder / "times" / "1").unlink()
        return time_ms

    def test_its_updates_are_removed_and_it_gets_a_later_time(self, service: Service) -> None:
        time_ms = self.lost(service)
        service.write("bytes", 1_000)  # of the batch before
        service.start()
        assert [service.times_in(table) for table in TABLES] == [[], [1_000]]
        renewed = service.plan(1, 20)
        assert renewed > time_ms
        assert service.ran_again(1_000, time_ms, renewed) == [False, True, False]

    def test_dead_letters_of_batches_that_one_table_lacks_do_not_count_as_run_again(self, service: Service) -> None:
        service.start().complete(0, service.plan(0, 10))
        acknowledge(service.folder, 0, {"t": {0: 10}})
        service.start(tables=("bytes",)).complete(1, service.plan(1, 20))
        acknowledge(service.folder, 1, {"t": {0: 20}})
        service.start(tables=("bytes",))
        one_ms, time_ms = service.times.of(1), service.plan(2, 30)
        (service.folder / "times" / "2").unlink()
        service.start(now_ms=5_000)
        assert service.ran_again(one_ms, time_ms) == [False, True]

    def test_batch_that_one_table_has_is_refused(self, service: Service) -> None:
        service.start().complete(0, service.plan(0, 10))
        acknowledge(service.folder, 0, {"t": {0: 10}})
        service.start()
        committed = CommittedPosition(service.plan(1, 20), {"t": {"0": 20}})
        before = service.store.properties("hits")[COMMITTED]
        service.store.set_property("hits", COMMITTED, before, committed.to_text())  # killed before the other one
        (service.folder / "times" / "1").unlink()
        with pytest.raises(ConflictError) as caught:
            service.start()
        assert caught.value.code == "behind_committed_position"
