"""A version written beside the pipeline: what is left to the writer, and what is copied."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.api import Batch, ConflictError, IngestError, NotFoundError, Origin, TaskSpec, WriteCounts
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.durable.lock import ProcessLock
from ingest.service.archive import writers as archive_writers
from ingest.service.archive.join import ArchiveJoin, PartitionOptions
from ingest.service.archive.records import RecordsRead
from ingest.service.archive.rerun import ArchiveRerun, RerunOptions
from ingest.service.archive.rerun_steps import _no_record, _RowsBefore
from ingest.service.archive.writers import PipelineWriter, copy_current, make_current, writers_of
from ingest.service.archived_tables import ArchivedTable, archived_table
from ingest.service.jobs.place import OwnProcess
from ingest.service.replay_lock import replay_lock
from ingest.spark.state import checkpoint_folder
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.archive.copying import Keeps
from sinks.archive.partition import Partition
from sinks.archive.rerun_sink import RerunCommitter
from sinks.archive.rewrite import Rewrite
from sinks.archive.rewrites import Answer, announcements, put_answer
from sinks.archive.sink import ArchiveSettings
from sinks.archive.switching import switch
from tests.support.archives import DAY_MS, START_S, WRITER, Writer, event, visible
from tests.support.checkpoint import acknowledge
from tests.support.place import Here, ended, returned

FILE = """
version: 1
state_dir: ./state
pipelines:
  p:
    source: {kafka: {topics: [t], brokers: localhost:1}}
    sinks:
      - archive: {root: ./archive, table: customer}
"""
FIRST_MS, SECOND_MS, THIRD_MS = DAY_MS + 1, DAY_MS + 2, DAY_MS + 3


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configuration:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipeline.yaml").write_text(FILE)
    return load(tmp_path / "pipeline.yaml", env={}, lookup=Catalog())


@pytest.fixture
def table(configuration: Configuration) -> ArchivedTable:
    return archived_table(configuration, "customer")


@pytest.fixture
def partition(table: ArchivedTable) -> Partition:
    return Partition(table.root, "dt=20151210")


@pytest.fixture
def folder(configuration: Configuration) -> Path:
    """Of the checkpoint."""
    found = checkpoint_folder(configuration, "p")
    assert isinstance(found, Path)
    return found


HERE = Here()


def here(configuration: Configuration) -> OwnProcess:
    return OwnProcess(configuration, Catalog(), ExitStack())


def join(configuration: Configuration, *, keep: bool = False) -> Mapping[str, Any]:
    """The result of a join of the partition."""
    return ended(ArchiveJoin("customer", PartitionOptions(dt="20151210", keep=keep)), here(configuration))


def copied(rewrite: Rewrite, writers: Sequence[PipelineWriter], keeps: Keeps | None = None) -> int:
    """The number of rows of the current version that were copied."""
    *_, last = copy_current(rewrite, writers, keeps)
    return last.rows


def planned(folder: Path, number: int, time_ms: int) -> None:
    """A micro-batch has started."""
    for name, text in (("offsets", "v1\n{}\n{}"), ("times", str(time_ms))):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / str(number)).write_text(text)


def acknowledged(folder: Path, number: int, time_ms: int) -> None:
    planned(folder, number, time_ms)
    acknowledge(folder, number, {"t": {0: number}})


@contextmanager
def running(folder: Path) -> Iterator[None]:
    """A process has the checkpoint."""
    checkpoint = Checkpoint(folder)
    checkpoint.lock()
    try:
        yield
    finally:
        checkpoint.unlock()


class TestJoin:
    def test_rows_of_acknowledged_versions_become_one_file(
        self, configuration: Configuration, table: ArchivedTable, partition: Partition, folder: Path
    ) -> None:
        writer = Writer(table.root)
        writer.run(FIRST_MS, [event(1)])
        writer.run(SECOND_MS, [event(2)])
        acknowledged(folder, 0, FIRST_MS)
        acknowledged(folder, 1, SECOND_MS)
        joined = join(configuration, keep=True)
        assert (joined["files_read"], joined["files_written"], joined["before"]) == (2, 1, START_S)
        assert partition.current() == joined["version"]
        assert visible(table.root) == {"20151210": [1, 2]}
        assert partition.version(joined["version"]).is_kept
        assert list(announcements(table.root, START_S * 1000)) == []

    def test_version_that_runs_again_comes_first(
        self, configuration: Configuration, table: ArchivedTable, partition: Partition, folder: Path
    ) -> None:
        writer = Writer(table.root)
        writer.run(FIRST_MS, [event(1)])
        writer.run(SECOND_MS, [event(2)], [event(3)])
        acknowledged(folder, 0, FIRST_MS)
        planned(folder, 1, SECOND_MS)
        with pytest.raises(ConflictError, match="ended within a micro-batch") as caught:
            join(configuration)
        assert (caught.value.code, partition.current()) == ("archive_unacknowledged", START_S)
        acknowledged(folder, 1, SECOND_MS)
        assert join(configuration)["rows"] == 3

    def test_micro_batch_that_has_moved_no_file_comes_first(
        self, configuration: Configuration, table: ArchivedTable, partition: Partition, folder: Path
    ) -> None:
        """A service that starts meanwhile would write it to the older version alone, after the copy."""
        Writer(table.root).run(FIRST_MS, [event(1)], [event(2)])
        acknowledged(folder, 0, FIRST_MS)
        planned(folder, 1, SECOND_MS)
        with pytest.raises(ConflictError) as caught:
            join(configuration)
        assert (caught.value.code, partition.current()) == ("archive_unacknowledged", START_S)

    def test_writer_that_starts_before_the_copy_is_awaited(
        self, configuration: Configuration, table: ArchivedTable, partition: Partition, folder: Path
    ) -> None:
        Writer(table.root).run(FIRST_MS, [event(1)])
        acknowledged(folder, 0, FIRST_MS)
        with writers_of(configuration, table) as writers, Rewrite(partition, "test") as rerun:
            assert returned(writers[0].start_ms(rerun, HERE, {})) is None
            planned(folder, 1, FIRST_MS)  # it ran before the service ended, and runs again
            Writer(table.root)
            with pytest.raises(ConflictError) as caught:
                copied(rerun, writers)
        assert caught.value.code == "archive_unacknowledged"

    def test_3c8_micro_batch_that_gets_a_later_time_is_awaited(
        self, configuration: Configuration, table: ArchivedTable, partition: Partition, folder: Path
    ) -> None:
        """It has moved its files, was killed before the acknowledgement, and the configuration has changed."""
        Writer(table.root).run(FIRST_MS, [event(1)])
        acknowledged(folder, 0, FIRST_MS)
        Writer(table.root).run(SECOND_MS, [event(2)])
        planned(folder, 1, SECOND_MS)
        times = BatchTimes(folder / "times", lambda: 0)
        with writers_of(configuration, table) as writers, Rewrite(partition, "test") as rerun:
            again = Writer(table.root)
            times.renew(1)
            waiting = writers[0].start_ms(rerun, HERE, {})
            assert next(waiting).blocked.partition(";")[0] == "waits for a micro-batch that is not acknowledged"
            time_ms = times.of(1)
            again.committer.commit(*again.flush(time_ms, [event(2)], name=times.name_of(1)))
            acknowledged(folder, 1, time_ms)
            assert returned(waiting) == SECOND_MS + 1 < time_ms
            assert copied(rerun, writers) == 1
            rerun.finish()
        assert visible(table.root) == {"20151210": [1, 2]}

    def test_other_writer_of_the_table_is_refused(
        self, configuration: Configuration, table: ArchivedTable, folder: Path
    ) -> None:
        Writer(table.root).run(FIRST_MS, [event(1)], [event(2)])
        with pytest.raises(ConflictError, match="has no checkpoint") as caught:
            join(configuration)
        assert caught.value.code == "archive_other_writer"
        acknowledged(folder, 0, FIRST_MS)
        table.root.write("_writers/q+archive.json", b"{}")
        table.root.write("_writers/q+archive+replay.json", b"{}")
        table.root.write("_writers/q+replay.json", b"{}")  # a sink of this name
        for name in ("q+archive", "q+replay"):
            with pytest.raises(ConflictError, match="is not in the file"):
                join(configuration)
            table.root.remove_file(f"_writers/{name}.json")
        assert join(configuration)["rows"] == 2

    def test_version_that_became_current_while_rows_were_copied_stays(
        self, configuration: Configuration, table: ArchivedTable, partition: Partition, folder: Path
    ) -> None:
        Writer(table.root).run(FIRST_MS, [event(1)])
        acknowledged(folder, 0, FIRST_MS)
        former = partition.create(START_S, "test")
        partition.complete(former)
        with writers_of(configuration, table) as writers, Rewrite(partition, "test") as rerun:
            copied(rerun, writers)
            switch(partition, former, 0)  # as `attr2hbase archive point`
            with pytest.raises(ConflictError, match="another version") as caught:
                rerun.finish()
        assert (caught.value.code, partition.current()) == ("archive_moved", former)

    @pytest.mark.parametrize("ends_first", ["older", "newer"])
    def test_3c5_larger_id_of_two_wins_whichever_ends_first(
        self,
        configuration: Configuration,
        table: ArchivedTable,
        partition: Partition,
        folder: Path,
        ends_first: str,
    ) -> None:
        Writer(table.root).run(FIRST_MS, [event(1)])
        acknowledged(folder, 0, FIRST_MS)
        with writers_of(configuration, table) as writers, Rewrite(partition, "test") as older:
            copied(older, writers)
            with Rewrite(partition, "test") as newer:
                copied(newer, writers)
                if ends_first == "newer":
                    newer.finish()
                with pytest.raises(ConflictError, match=f"a newer re-run or join .* {newer.version_id}") as caught:
                    older.finish()
                if ends_first == "older":
                    newer.finish()
        assert (caught.value.code, partition.current()) == ("archive_moved", newer.version_id)
        assert visible(table.root) == {"20151210": [1]}

    def test_rows_of_a_newer_version_are_not_copied(
        self, configuration: Configuration, table: ArchivedTable, partition: Partition, folder: Path
    ) -> None:
        Writer(table.root).run(FIRST_MS, [event(1)])
        acknowledged(folder, 0, FIRST_MS)
        with writers_of(configuration, table) as writers, Rewrite(partition, "test") as slow:
            with Rewrite(partition, "test") as fast:
                fast.finish()
            with pytest.raises(ConflictError, match="newer") as caught:
                copied(slow, writers)
        assert (caught.value.code, partition.current()) == ("archive_moved", fast.version_id)

    def test_partition_without_a_version(self, configuration: Configuration, table: ArchivedTable) -> None:
        with pytest.raises(NotFoundError) as caught:
            join(configuration)
        assert caught.value.code == "no_archive_version"

    def test_replay_of_the_pipeline_is_refused_meanwhile(
        self, configuration: Configuration, table: ArchivedTable
    ) -> None:
        Writer(table.root).run(FIRST_MS, [event(1)], [event(2)])
        with replay_lock(configuration, configuration.pipelines["p"]), pytest.raises(ConflictError, match="replays"):
            join(configuration)

    def test_lost_lock_of_the_replays_leaves_the_pointer(
        self, configuration: Configuration, table: ArchivedTable, partition: Partition, folder: Path
    ) -> None:
        """A replay may have written rows to the older version alone."""
        Writer(table.root).run(FIRST_MS, [event(1)])
        acknowledged(folder, 0, FIRST_MS)
        with writers_of(configuration, table) as (writer,), Rewrite(partition, "test") as rerun:
            copied(rerun, [writer])
            writer.replays = LostLock()
            with pytest.raises(ConflictError) as caught:
                make_current(rerun, [writer], is_kept=False)
            assert (caught.value.code, partition.current()) == ("lease_lost", START_S)


class LostLock(ProcessLock):
    """A lock that another process has taken meanwhile, as a lease in HDFS."""

    def acquire(self) -> None:
        raise NotImplementedError

    def is_held(self) -> bool:
        return True

    def check(self) -> None:
        raise ConflictError("another process has it", code="lease_lost")

    def release(self) -> None:
        pass


class TestStream:
    def start_ms(
        self, configuration: Configuration, table: ArchivedTable, partition: Partition, from_ms: int | None
    ) -> int | None:
        """The first batch time that the writer writes itself, after it has answered, or not."""
        with writers_of(configuration, table) as (writer,), Rewrite(partition, "test") as rerun:
            if from_ms is not None:
                (announcement,) = announcements(table.root, 0)
                put_answer(table.root, announcement.id, Answer(WRITER, from_ms))
            return returned(writer.start_ms(rerun, HERE, {}))

    def test_writer_that_does_not_run_writes_nothing(
        self, configuration: Configuration, table: ArchivedTable, partition: Partition
    ) -> None:
        assert self.start_ms(configuration, table, partition, None) is None

    def test_look_whether_a_writer_runs_takes_no_lock(
        self, configuration: Configuration, table: ArchivedTable, partition: Partition, folder: Path
    ) -> None:
        """A service that starts at this moment would be refused."""
        acknowledged(folder, 0, FIRST_MS)
        (folder / "lock").write_text("the service of before")
        assert self.start_ms(configuration, table, partition, None) is None
        assert (folder / "lock").read_text() == "the service of before"

    def test_3c8_answer_of_a_writer(
        self, configuration: Configuration, table: ArchivedTable, partition: Partition, folder: Path
    ) -> None:
        acknowledged(folder, 0, FIRST_MS)
        with running(folder):
            assert self.start_ms(configuration, table, partition, THIRD_MS) == THIRD_MS

    def test_3c8_version_acknowledged_before_the_announcement_is_in_the_old_version_alone(
        self, configuration: Configuration, table: ArchivedTable, partition: Partition, folder: Path
    ) -> None:
        acknowledged(folder, 0, FIRST_MS)
        # as a writer answers that starts: its last batch might run again
        assert self.start_ms(configuration, table, partition, FIRST_MS) == FIRST_MS + 1

    @pytest.mark.parametrize(("from_ms", "message"), [(None, "does not answer"), (SECOND_MS, "within a micro-batch")])
    def test_writer_that_does_not_go_on_is_reported(
        self,
        configuration: Configuration,
        table: ArchivedTable,
        partition: Partition,
        folder: Path,
        from_ms: int | None,
        message: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(archive_writers, "_ANSWER_TIMEOUT_S", 0.0)
        planned(folder, 0, FIRST_MS)
        process = running(folder) if from_ms is None else nullcontext()
        with process, pytest.raises(ConflictError, match=message) as caught:
            self.start_ms(configuration, table, partition, from_ms)
        assert caught.value.code == "archive_no_answer"
        assert "restart the service with this file" in str(caught.value.hint)

    def test_writer_of_another_file_is_reported(
        self,
        configuration: Configuration,
        table: ArchivedTable,
        partition: Partition,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(archive_writers, "_ANSWER_TIMEOUT_S", 0.0)
        acknowledged(folder, 0, FIRST_MS)
        Checkpoint(folder).note_configuration("of a file without the sink")
        with running(folder), pytest.raises(ConflictError, match="perhaps without this sink, and does not") as caught:
            self.start_ms(configuration, table, partition, None)
        assert caught.value.code == "archive_no_answer"
        assert f"attr2hbase reload {configuration.path}" in str(caught.value.hint)


def test_rerun_without_times_has_no_other_times_to_choose() -> None:
    limited = _no_record("p", RerunOptions(dt="20151210", to="2015-12-11"))
    assert ("of this range" in limited.message, "choose other times" in str(limited.hint)) == (True, True)
    unlimited = _no_record("p", RerunOptions(dt="20151210"))
    assert ("range" in unlimited.message, "run the pipeline first" in str(unlimited.hint)) == (False, True)


def test_rerun_of_a_pipeline_without_a_checkpoint_leaves_no_partition(
    configuration: Configuration, table: ArchivedTable, partition: Partition
) -> None:
    with pytest.raises(NotFoundError, match="has no checkpoint"):
        ended(ArchiveRerun("customer", RerunOptions(dt="20151210")), here(configuration))
    assert not partition.root.exists(partition.folder)


def test_file_that_the_writer_has_written_to_both_versions_is_not_copied(
    configuration: Configuration, table: ArchivedTable, partition: Partition, folder: Path
) -> None:
    writer = Writer(table.root)
    writer.run(FIRST_MS, [event(1)])
    acknowledged(folder, 0, FIRST_MS)
    with writers_of(configuration, table) as writers, Rewrite(partition, "test") as rerun:
        writer.run(SECOND_MS, [event(2)])
        assert len(partition.parts(rerun.version_id)) == 1
        assert copied(rerun, writers) == 1
        rerun.finish()
    assert visible(table.root) == {"20151210": [1, 2]}


def test_rows_with_another_type_than_those_that_are_copied_are_refused(
    configuration: Configuration, table: ArchivedTable, partition: Partition
) -> None:
    def settings(kind: str) -> ArchiveSettings:
        columns = {"n": {"value": "%{body}", "type": kind}}
        return ArchiveSettings.model_validate({"root": "unused", "table": "customer", "columns": columns})

    Writer(table.root, settings=settings("float64")).run(FIRST_MS, [event(1)], [event(2)])

    def copy(keeps: Callable[[Origin], bool]) -> int:
        with writers_of(configuration, table) as writers, Rewrite(partition, "test") as rerun:
            committer = RerunCommitter(partition, rerun.version_id, "w+rerun", "parquet")
            batch = Batch("1", SECOND_MS, "a")
            writer = Writer(table.root, settings=settings("int64")).task_writer()
            writer.begin(TaskSpec(batch, task_id="0"), committer.prepare(batch, ()), WriteCounts())
            writer.write(event(2))
            committer.commit(batch, [writer.flush().payload])
            return copied(rerun, writers, keeps)

    table.root.remove_tree("_writers")  # it has no checkpoint
    with pytest.raises(ConflictError, match=r'column "n" would be float64 in .* and int64') as caught:
        copy(lambda origin: origin.offset != 2)
    assert caught.value.code == "archive_columns_differ"
    assert copy(lambda _origin: False) == 0


def test_row_of_a_failed_record_is_missed_whatever_its_other_events_give(partition: Partition) -> None:
    first, second = event(1), replace(event(1), origin=Origin("t", 0, 1, 1))
    read = RecordsRead()
    read.add({("t", 0): (0, 9)})
    Writer(partition.root).run(FIRST_MS, [first])
    rows = _RowsBefore(read, {("t", 0, 1): "bad"})
    assert not rows.keeps(first.origin)
    with Rewrite(partition, "test") as rerun:
        Writer(partition.root).run(SECOND_MS, [second])
        with pytest.raises(IngestError, match="fails now for 1 records") as caught:
            rows.check_failed(partition, rerun.version_id)
        assert caught.value.code == "archive_rows_failed"
        Writer(partition.root).run(THIRD_MS, [first])
        rows.check_failed(partition, rerun.version_id)
