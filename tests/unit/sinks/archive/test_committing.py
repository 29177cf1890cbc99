"""A micro-batch into an archive: its files, and kills between any two changes."""

import itertools
import threading
from dataclasses import replace
from functools import partial

import pytest

from ingest.api import (
    Disposition,
    Event,
    IntegrityError,
    Origin,
)
from ingest.durable.record import UnreadableRecordError
from sinks.archive import switching
from sinks.archive.copying import copy_parts
from sinks.archive.errors import ArchiveCorruptError
from sinks.archive.layout import SUCCESS, PartName
from sinks.archive.partition import Partition
from sinks.archive.rewrites import Announcement, announce
from sinks.archive.sink import ArchiveSettings
from sinks.archive.staging import unpack
from sinks.files.root import Root
from tests.support.archives import (
    DAY_MS,
    START_S,
    WRITER,
    Writer,
    event,
    files_of,
    offsets_in,
    visible,
)
from tests.support.crashing_root import CrashError, CrashingRoot, crashes
from tests.support.memory_root import MemoryRoot

TIME_MS = DAY_MS + 3_600_000
DAY = 24 * 3_600_000


def names(root: Root) -> list[str]:
    """All files of partitions."""
    return [path for entry in root.entries("") if "=" in entry.name for path, _ in root.files_below(entry.name)]


class TestFiles:
    def test_3c1_first_write_makes_version_and_pointer(self, root: Root, partition: Partition) -> None:
        Writer(root).run(TIME_MS, [event(1)])
        assert partition.version(START_S).is_complete
        assert root.read("dt=20151210/_CURRENT") == b"version=1449784608\n"
        assert root.exists("dt=20151210/version=1449784608/_SUCCESS")
        assert visible(root) == {"20151210": [1]}

    def test_later_micro_batchs_add_files_to_the_version(self, root: Root, partition: Partition) -> None:
        writer = Writer(root)
        writer.run(TIME_MS, [event(1)], [], [event(2)])
        writer.run(TIME_MS + 1, [event(3)])
        Writer(root, START_S + 100).run(TIME_MS + 2, [event(4)])
        assert visible(root) == {"20151210": [1, 2, 3, 4]}
        assert partition.version_ids() == [START_S]
        assert [name[:27] for name in files_of(root, partition, START_S)] == [
            f"part-{TIME_MS + batch:016}-{rank:05}" for batch, rank in ((0, 0), (0, 2), (1, 0), (2, 0))
        ]

    def test_events_go_to_the_partitions_of_their_times(self, root: Root) -> None:
        Writer(root).run(
            TIME_MS,
            [event(1), event(2, time_ms=DAY_MS - 1), event(3, time_ms=DAY_MS + DAY)],
            [event(4), event(5, time_ms=DAY_MS - 1)],
        )
        assert visible(root) == {"20151209": [2, 5], "20151210": [1, 4], "20151211": [3]}

    def test_3c9_replayed_micro_batch_has_the_same_files(self, root: Root) -> None:
        writer = Writer(root)
        writer.run(TIME_MS - 1, [event(0)])
        writer.run(TIME_MS, [event(1)], [event(2), event(3)])
        before = names(root)
        writer.run(TIME_MS, [event(1)], [event(2), event(3)])
        assert names(root) == before
        again = Writer(root, START_S + 60)
        again.run(TIME_MS, [event(1)], [event(2), event(3)])
        assert names(root) == before
        assert visible(root) == {"20151210": [0, 1, 2, 3]}

    def test_3c9_replay_in_other_tasks_or_partitions_leaves_no_file_of_the_first(self, root: Root) -> None:
        Writer(root).run(TIME_MS, [event(1)], [event(2)], [event(3, time_ms=DAY_MS - 1)])
        Writer(root).run(TIME_MS, [event(1), event(2), event(3)])
        assert visible(root) == {"20151209": [], "20151210": [1, 2, 3]}

    def test_micro_batch_without_events_makes_no_partition(self, root: Root) -> None:
        Writer(root).run(TIME_MS, [])
        assert visible(root) == {}

    def test_replay_of_dead_letters_adds_its_rows(self, root: Root) -> None:
        Writer(root).run(TIME_MS, [event(1)])
        Writer(root, is_replay=True).run(TIME_MS, [event(2)])
        assert visible(root) == {"20151210": [1, 2]}

    def test_version_that_runs_again_at_a_later_time_replaces_its_files(self, root: Root) -> None:
        writer = Writer(root)
        writer.run(TIME_MS, [event(1)], [event(2)])
        again = Writer(root)
        again.committer.commit(*again.flush(TIME_MS + 7, [event(1), event(2)], name=str(TIME_MS)))
        assert visible(root) == {"20151210": [1, 2]}

    @pytest.mark.parametrize("kind", ["parquet", "json"])
    def test_3c8_replay_of_dead_letters_adds_no_row_twice(self, root: Root, kind: str) -> None:
        settings = ArchiveSettings.model_validate({"root": "r", "table": "customer", "format": kind})
        Writer(root, settings=settings).run(TIME_MS, [event(1), event(2)])
        fanned_out = replace(event(2), origin=Origin("t", 0, 2, 1))
        replay = Writer(root, settings=settings, is_replay=True)
        batch, results = replay.flush(TIME_MS - 1, [event(2)], [event(1), event(3), fanned_out])
        replay.committer.commit(batch, results)
        replay.committer.commit(batch, results)
        assert visible(root) == {"20151210": [1, 2, 2, 3]}
        again = Writer(root, settings=settings, is_replay=True)
        again.run(TIME_MS - 1, [event(2)], [event(1), event(3), fanned_out])
        assert visible(root) == {"20151210": [1, 2, 2, 3]}

    def test_replay_of_the_records_that_the_topic_still_has_adds_no_row_twice_and_removes_none(
        self, root: Root
    ) -> None:
        """It has another name, since it must not replace the rows of records that are gone."""
        Writer(root).run(TIME_MS, [event(0)])
        whole = Writer(root, is_replay=True)
        whole.committer.commit(*whole.flush(TIME_MS - 1, [event(1), event(2), event(3)], name="from 1"))
        rest = Writer(root, is_replay=True)  # the first one was killed before its dead letter was marked
        rest.committer.commit(*rest.flush(TIME_MS - 1, [event(2), event(3), event(4)], name="from 2"))
        assert visible(root) == {"20151210": [0, 1, 2, 3, 4]}

    def test_replay_of_the_same_dead_letters_after_other_ones_replaces_its_own_rows(self, root: Root) -> None:
        Writer(root).run(TIME_MS, [event(0)])

        def replay(*batches: tuple[int, str, list[list[Event]]]) -> None:
            writer = Writer(root, is_replay=True)
            for time_ms, name, parts in batches:
                writer.committer.commit(*writer.flush(time_ms, *parts, name=name))

        replay((TIME_MS - 2, "a", [[event(1)], [event(2)]]), (TIME_MS - 1, "b", [[event(4)]]))
        replay((TIME_MS - 2, "a", [[event(1), event(2), event(3)]]))
        assert visible(root) == {"20151210": [0, 1, 2, 3, 4]}

    def test_replay_adds_no_row_twice_to_a_re_run_that_was_killed(self, root: Root, partition: Partition) -> None:
        """It has read the events of the dead letters again; its announcement has an effect for minutes."""
        Writer(root).run(TIME_MS, [event(0)])
        rewritten = partition.create(START_S + 60, "archive rerun")
        name = str(PartName(TIME_MS + 1, 0, "0" * 8, "parquet"))
        staged = Writer(root)
        _, (result,) = staged.flush(TIME_MS + 1, [event(0), event(1)])
        (part,) = unpack(result)
        root.move(part.path, partition.path(rewritten, name))
        partition.complete(rewritten)
        announce(root, Announcement("a" * 16, partition.folder, rewritten, "killed", START_S * 1000))
        replay = Writer(root, is_replay=True)
        for _ in range(2):
            replay.run(TIME_MS - 1, [event(1), event(2)])
            assert offsets_in(root, partition, START_S) == [0, 1, 2]
            assert offsets_in(root, partition, rewritten) == [0, 1, 2]

    def test_replay_keeps_a_file_of_equal_digits_and_another_time(self, root: Root, partition: Partition) -> None:
        Writer(root).run(TIME_MS, [event(0)])
        replay = Writer(root, is_replay=True)
        replay.committer.commit(*replay.flush(TIME_MS - 2, [event(1)], name="a"))
        replay.committer.commit(*replay.flush(TIME_MS - 3, [event(2)], name="b"))
        replay.committer.commit(*replay.flush(TIME_MS - 1, [event(3)], name="a"))
        assert visible(root) == {"20151210": [0, 1, 2, 3]}

    def test_repeated_replay_of_an_event_that_belongs_to_another_partition_moves_its_row(self, root: Root) -> None:
        Writer(root).run(TIME_MS, [event(1)])
        Writer(root, is_replay=True).run(TIME_MS - 1, [event(2)])
        Writer(root, is_replay=True).run(TIME_MS - 1, [event(2, time_ms=DAY_MS - 1)])
        assert visible(root) == {"20151209": [2], "20151210": [1]}


class Pointing(CrashingRoot):
    """`attr2hbase archive point` moves the pointer just before the first file is moved."""

    def __init__(self, root: Root, most: int, partition: Partition, version_id: int) -> None:
        super().__init__(root, most)
        self._point = partial(switching.switch, partition, version_id, 0)

    def move(self, path: str, to: str) -> None:
        self._point()
        super().move(path, to)


class TestKills:
    def test_kill_between_any_two_changes_then_the_version_runs_again(self) -> None:
        parts = [event(1), event(2, time_ms=DAY_MS - 1)], [event(3)]

        def make() -> Root:
            files = MemoryRoot()
            Writer(files).run(TIME_MS - 1, [event(0)])
            return files

        for files in crashes(make, lambda files: Writer(files).run(TIME_MS, *parts)):
            again = Writer(files, START_S + 1)
            assert not [path for path, _ in files.files_below("_tmp")]
            again.run(TIME_MS, *parts)
            again.run(TIME_MS + 1, [event(4)])
            assert visible(files) == {"20151209": [2], "20151210": [0, 1, 3, 4]}
            for day in ("09", "10"):
                partition = Partition(files, f"dt=201512{day}")
                complete = [version.id for version in partition.versions() if version.is_complete]
                assert complete == [partition.current()]

    def test_kill_then_other_events_after_a_corrected_configuration(self) -> None:
        parts = [event(1), event(2, time_ms=DAY_MS - 1)], [event(3)]
        for files in crashes(MemoryRoot, lambda files: Writer(files).run(TIME_MS, *parts)):
            Writer(files).run(TIME_MS, [event(3)])
            assert {offset for offsets in visible(files).values() for offset in offsets} == {3}

    def test_commit_that_failed_is_repeated(self) -> None:
        for most in itertools.count():
            files = MemoryRoot()
            writer = Writer(files)
            flushed = writer.flush(TIME_MS, [event(1)], [event(2, time_ms=DAY_MS - 1)])
            writer.driver_root.files = CrashingRoot(files, most)
            try:
                writer.committer.commit(*flushed)
            except CrashError:
                writer.driver_root.files = files
                writer.committer.commit(*flushed)
                assert visible(files) == {"20151209": [2], "20151210": [1]}
            else:
                break
        assert most > 5

    def test_staged_file_that_is_gone_stops(self, root: Root) -> None:
        writer = Writer(root)
        flushed = writer.flush(TIME_MS, [event(1)])
        root.remove_tree("_tmp")
        with pytest.raises(IntegrityError, match="is gone") as caught:
            writer.committer.commit(*flushed)
        assert caught.value.code == "staged_file_lost"

    def test_process_that_has_lost_its_pipeline_removes_no_file(self, root: Root) -> None:
        writer = Writer(root)
        acknowledged: list[int] = []
        flushed = writer.flush(TIME_MS, [event(1)])

        class Suspended(CrashingRoot):
            """Another process runs and acknowledges the micro-batch just before this one moves its file."""

            def remove_file(self, path: str) -> None:
                self._suspend()
                super().remove_file(path)

            def move(self, path: str, to: str) -> None:
                self._suspend()
                super().move(path, to)

            def _suspend(self) -> None:
                if not acknowledged:
                    acknowledged.append(TIME_MS)
                    Writer(root).run(TIME_MS, [event(1)])

        writer.driver_root.files = Suspended(root, 1_000)
        with pytest.raises(IntegrityError) as caught:
            writer.committer.commit(*flushed)
        assert (caught.value.code, visible(root)) == ("staged_file_lost", {"20151210": [1]})

    def test_pointer_that_moves_within_a_commit_hides_no_row(self) -> None:
        """Also if the process is killed, or a call fails, at any change of the file system after it."""
        parts = [event(1)], [event(2)]
        for most in itertools.count():
            for is_restarted in (False, True):
                files = MemoryRoot()
                writer = Writer(files)
                writer.run(TIME_MS - 1, [event(0)])
                partition = Partition(files, "dt=20151210")
                other = partition.create(START_S, "a re-run")
                partition.complete(other)
                flushed = writer.flush(TIME_MS, *parts)
                writer.driver_root.files = Pointing(files, most, partition, other)
                try:
                    writer.committer.commit(*flushed)
                except CrashError:
                    writer.driver_root.files = files
                    if is_restarted:
                        Writer(files).run(TIME_MS, *parts)
                    else:
                        writer.committer.commit(*flushed)
                else:
                    assert most > 5
                    assert offsets_in(files, partition, START_S) == [0, 1, 2]
                    assert offsets_in(files, partition, other) == [1, 2]
                    # the copies are recorded: a run with other tasks replaces them too
                    Writer(files).run(TIME_MS, [event(1), event(2)])
                    assert offsets_in(files, partition, other) == [1, 2]
                    return
                if partition.current() == other:
                    assert visible(files) == {"20151210": [1, 2]}

    @pytest.mark.parametrize("parts", [([event(2)],), ([event(2), event(3)],), ([event(2)], [event(3)])])
    def test_pointer_that_moves_within_a_replay_doubles_no_row(self, parts: tuple[list[Event], ...]) -> None:
        files = MemoryRoot()
        Writer(files).run(TIME_MS - 3, [event(0)])
        partition = Partition(files, "dt=20151210")
        first = partition.current()
        assert first is not None
        other = partition.create(START_S, "a re-run")
        partition.complete(other)
        switching.switch(partition, other, 0)
        Writer(files).run(TIME_MS - 2, [event(2)])
        switching.switch(partition, first, 0)
        replay = Writer(files, is_replay=True)
        flushed = replay.flush(TIME_MS - 1, *parts)
        replay.driver_root.files = Pointing(files, 1_000, partition, other)
        replay.committer.commit(*flushed)
        assert partition.current() == other
        assert visible(files) == {"20151210": sorted({2, *(each.origin.offset for part in parts for each in part)})}

    def test_pointer_that_moves_away_and_back_between_runs_doubles_no_row(self) -> None:
        files = MemoryRoot()
        Writer(files).run(TIME_MS, [event(1)], [event(2)])
        partition = Partition(files, "dt=20151210")
        other = partition.create(START_S, "a re-run")
        partition.complete(other)
        for version_id in (other, START_S):
            switching.switch(partition, version_id, 0)
            Writer(files).run(TIME_MS, [event(1), event(2)])
            assert visible(files) == {"20151210": [1, 2]}

    @pytest.mark.parametrize("is_known", [True, False], ids=["copied", "not copied"])
    @pytest.mark.parametrize("parts", [([event(2), event(3)],), ([event(2)], [event(3)])], ids=["a task", "two tasks"])
    def test_repeated_replay_keeps_its_rows_in_an_older_version(
        self, parts: tuple[list[Event], ...], is_known: bool
    ) -> None:
        """Also if a call fails at any change of the file system, and is repeated."""
        for most in itertools.count():
            files = MemoryRoot()
            Writer(files).run(TIME_MS, [event(1)])
            Writer(files, is_replay=True).run(TIME_MS - 1, [event(2), event(3)])
            partition = Partition(files, "dt=20151210")
            copied = [each for each in partition.parts(START_S).items() if is_known or each[0].time_ms == TIME_MS]
            joined = partition.create(START_S + 100, "a join")
            list(copy_parts(partition, START_S, joined, sorted(copied)))
            partition.complete(joined)
            switching.switch(partition, joined, (START_S + 101) * 1000)
            replay = Writer(files, is_replay=True)
            flushed = replay.flush(TIME_MS - 1, *parts)
            replay.driver_root.files = CrashingRoot(files, most)
            try:
                replay.committer.commit(*flushed)
            except CrashError:
                replay.driver_root.files = files
                replay.committer.commit(*flushed)
                is_whole = False
            else:
                is_whole = True
            assert visible(files) == {"20151210": [1, 2, 3]}
            assert offsets_in(files, partition, START_S) == [1, 2, 3]
            if is_whole:
                break
        assert most > 1

    def test_start_after_a_pause_waits_for_the_commit_that_the_pause_has_abandoned(self) -> None:
        files = MemoryRoot()
        writer = Writer(files)
        flushed = writer.flush(TIME_MS, [event(1)])
        waits, recovered = threading.Event(), threading.Event()
        runs = threading.Lock()

        class Announced:
            """The lock of the committer; tells that the start has come to it."""

            def __enter__(self) -> None:
                if runs.locked():
                    waits.set()
                runs.acquire()

            def __exit__(self, *_exception: object) -> None:
                runs.release()

        def start() -> None:
            writer.committer.recover()
            recovered.set()

        starting = threading.Thread(target=start)

        class Slow(CrashingRoot):
            def move(self, path: str, to: str) -> None:
                starting.start()
                assert waits.wait(30)
                assert not recovered.is_set()
                super().move(path, to)

        writer.committer._runs = Announced()  # type: ignore[assignment]
        writer.driver_root.files = Slow(files, 1_000)
        writer.committer.commit(*flushed)
        starting.join()
        assert recovered.is_set()
        assert visible(files) == {"20151210": [1]}
        writer.committer.close()

    def test_aborted_attempt_leaves_nothing(self, root: Root) -> None:
        writer = Writer(root)
        batch, _ = writer.flush(TIME_MS, [event(1)])
        writer.committer.abort(batch)
        assert not list(root.files_below("_tmp"))

    def test_pointer_to_a_version_that_is_not_complete_blocks(self, root: Root, partition: Partition) -> None:
        """As for a moment when a pointer moves beside a cleanup."""
        writer = Writer(root)
        writer.run(TIME_MS, [event(1)])
        root.remove_file(partition.path(START_S, SUCCESS))
        batch, results = writer.flush(TIME_MS + 1, [event(2)])
        with pytest.raises(ArchiveCorruptError, match="names no complete version") as caught:
            writer.committer.commit(batch, results)
        assert caught.value.disposition is Disposition.RETRY
        partition.complete(START_S)
        writer.committer.commit(batch, results)
        assert visible(root) == {"20151210": [1, 2]}

    def test_damaged_record_stops(self, root: Root) -> None:
        Writer(root).run(TIME_MS, [event(1)])
        root.write(f"_writers/{WRITER}.json", b"{}")
        with pytest.raises(UnreadableRecordError, match="_writers"):
            Writer(root)

    def test_first_version_of_another_writer_is_used(self, partition: Partition) -> None:
        root = partition.root

        class Raced(CrashingRoot):
            """Another writer creates the first version just before this one sets the pointer."""

            def create(self, path: str, content: bytes) -> None:
                if path.endswith("_CURRENT") and not root.exists(path):
                    other = partition.create(START_S, "other")
                    partition.complete(other)
                    partition.write_pointer(other)
                super().create(path, content)

        Writer(Raced(root, 1_000)).run(TIME_MS, [event(1)])
        assert partition.current() == START_S + 1
        assert partition.version_ids() == [START_S + 1]
        assert visible(root) == {"20151210": [1]}
