"""A writer whose partitions are written again meanwhile: its answers, and what it writes to both versions."""

import itertools
from pathlib import Path
from typing import BinaryIO

import pytest

from ingest.api import ConflictError
from sinks.archive.committing import ArchiveCommitter
from sinks.archive.layout import SUCCESS
from sinks.archive.partition import Partition
from sinks.archive.rewrites import STALE_MS, Announcement, Answer, announce, answer_of, withdraw
from sinks.files.local_root import LocalRoot
from sinks.files.root import Root
from tests.support.archives import (
    DAY_MS,
    START_S,
    WRITER,
    Writer,
    event,
    offsets_in,
    visible,
)
from tests.support.crashing_root import CrashError, CrashingRoot, crashes
from tests.support.memory_root import MemoryRoot
from tests.support.waiting import reached

TIME_MS = DAY_MS + 3_600_000
DAY = 24 * 3_600_000


def begin_rerun(partition: Partition) -> Announcement:
    """A re-run that has created its version and its announcement."""
    version_id = partition.create(START_S + 1_000, "a re-run")
    announcement = Announcement("r1", partition.folder, version_id, "a re-run", START_S * 1000)
    announce(partition.root, announcement)
    return announcement


def switch(partition: Partition, announcement: Announcement) -> None:
    """The end of a re-run."""
    partition.complete(announcement.version_id)
    partition.write_pointer(announcement.version_id)
    withdraw(partition.root, announcement.id)


class TestReruns:
    def test_3c8_writer_writes_to_both_versions_from_its_answer_on(self, root: Root, partition: Partition) -> None:
        writer = Writer(root)
        writer.run(TIME_MS, [event(1)])
        announcement = begin_rerun(partition)
        writer.committer.answer_rewrites()
        assert answer_of(root, "r1", WRITER) == Answer(WRITER, TIME_MS + 1)
        writer.run(TIME_MS + 1, [event(2), event(3, time_ms=DAY_MS - 1)])
        assert offsets_in(root, partition, START_S) == [1, 2]
        assert offsets_in(root, partition, announcement.version_id) == [2]
        switch(partition, announcement)
        writer.run(TIME_MS + 2, [event(4)])
        assert visible(root) == {"20151209": [3], "20151210": [2, 4]}
        assert offsets_in(root, partition, START_S) == [1, 2]

    def test_driver_that_was_replaced_does_not_answer(self, root: Root, partition: Partition) -> None:
        """The driver that has taken the pipeline may be committing a micro-batch that the answer would leave out."""

        def check_owner() -> None:
            if answer_of(root, "r1", WRITER) is None and partition.version_ids():
                raise ConflictError("another driver has taken it", code="lease_lost")

        committer = ArchiveCommitter(root, WRITER, "parquet", check_owner=check_owner, poll_s=3600)
        committer.recover()
        begin_rerun(partition)
        with pytest.raises(ConflictError, match="another driver"):
            committer.answer_rewrites()
        assert answer_of(root, "r1", WRITER) is None

    def test_3c8_idle_writer_answers(self, root: Root, partition: Partition) -> None:
        committer = ArchiveCommitter(root, WRITER, "parquet", clock_ms=lambda: START_S * 1000, poll_s=0.01)
        committer.recover()
        begin_rerun(partition)
        assert reached(lambda: answer_of(root, "r1", WRITER) == Answer(WRITER, 1), 30)
        committer.close()
        committer.close()

    def test_3c8_unanswered_announcement_is_answered_by_the_next_micro_batch(
        self, root: Root, partition: Partition
    ) -> None:
        writer = Writer(root)
        writer.run(TIME_MS, [event(1)])
        announcement = begin_rerun(partition)
        writer.run(TIME_MS + 5, [event(2)])
        assert answer_of(root, "r1", WRITER) == Answer(WRITER, TIME_MS + 5)
        assert offsets_in(root, partition, announcement.version_id) == [2]

    def test_3c8_writer_that_starts_leaves_the_version_that_may_run_again_to_the_rerun(
        self, partition: Partition
    ) -> None:
        root = partition.root
        Writer(root).run(TIME_MS, [event(1)])
        announcement = begin_rerun(partition)
        again = Writer(root)
        assert answer_of(root, "r1", WRITER) == Answer(WRITER, TIME_MS + 1)
        again.run(TIME_MS, [event(1)])
        again.run(TIME_MS + 1, [event(2)])
        assert offsets_in(root, partition, START_S) == [1, 2]
        assert offsets_in(root, partition, announcement.version_id) == [2]

    def test_3c8_rerun_that_begins_within_a_commit_waits_for_it(self) -> None:
        for most in itertools.count():
            files = MemoryRoot()
            writer = Writer(files)
            flushed = writer.flush(TIME_MS, [event(1)], [event(2)])
            writer.driver_root.files = CrashingRoot(files, most)
            try:
                writer.committer.commit(*flushed)
            except CrashError:
                writer.driver_root.files = files
                partition = Partition(files, "dt=20151210")
                announcement = begin_rerun(partition)
                writer.committer.commit(*flushed)
                assert answer_of(files, "r1", WRITER) == Answer(WRITER, TIME_MS + 1)
                assert visible(files) == {"20151210": [1, 2]}
                assert offsets_in(files, partition, announcement.version_id) == []
            else:
                break
        assert most > 5

    def test_3c8_version_before_the_answer_stays_in_the_old_version_after_a_restart(self, partition: Partition) -> None:
        root = partition.root
        writer = Writer(root)
        writer.run(TIME_MS, [event(1)])
        announcement = begin_rerun(partition)
        writer.committer.answer_rewrites()
        Writer(root).run(TIME_MS, [event(1)])
        assert offsets_in(root, partition, announcement.version_id) == []
        assert offsets_in(root, partition, START_S) == [1]

    def test_3c8_replay_of_dead_letters_writes_to_both(self, root: Root, partition: Partition) -> None:
        writer = Writer(root)
        writer.run(TIME_MS, [event(1)])
        announcement = begin_rerun(partition)
        replay = Writer(root, is_replay=True)
        replay.run(TIME_MS - 1, [event(2)])
        assert offsets_in(root, partition, announcement.version_id) == [2]
        assert visible(root) == {"20151210": [1, 2]}

    def test_announcement_without_a_heartbeat_is_ignored(self, root: Root, partition: Partition) -> None:
        writer = Writer(root)
        writer.run(TIME_MS, [event(1)])
        announcement = begin_rerun(partition)
        writer.clock.now += STALE_MS + 1
        writer.committer.answer_rewrites()
        writer.run(TIME_MS + 1, [event(2)])
        assert answer_of(root, "r1", WRITER) is None
        assert offsets_in(root, partition, announcement.version_id) == []

    def test_version_that_was_removed_gets_nothing(self, root: Root, partition: Partition) -> None:
        writer = Writer(root)
        writer.run(TIME_MS, [event(1)])
        root.remove_tree(partition.path(begin_rerun(partition).version_id))
        writer.run(TIME_MS + 1, [event(2)])
        assert visible(root) == {"20151210": [1, 2]}

    def test_version_that_is_removed_within_a_commit_gets_nothing(self, tmp_path: Path) -> None:
        """A re-run that wrote no row ends: the commit goes on, although it has read the announcement."""
        files = LocalRoot(tmp_path)
        writer = Writer(files)
        writer.run(TIME_MS, [event(1)])
        partition = Partition(files, "dt=20151210")
        announcement = begin_rerun(partition)

        class Ending(CrashingRoot):
            def open(self, path: str) -> BinaryIO:
                if path.startswith("_tmp/"):
                    partition.remove_empty(announcement.version_id)
                return super().open(path)

        flushed = writer.flush(TIME_MS + 1, [event(2)])
        writer.driver_root.files = Ending(files, 1_000)
        writer.committer.commit(*flushed)
        assert visible(files) == {"20151210": [1, 2]}
        assert partition.version_ids() == [START_S]

    def test_kill_between_any_two_changes_while_both_are_written(self) -> None:
        def make() -> Root:
            files = MemoryRoot()
            Writer(files).run(TIME_MS, [event(1)])
            begin_rerun(Partition(files, "dt=20151210"))
            Writer(files)
            return files

        for files in crashes(make, lambda files: Writer(files).run(TIME_MS + 1, [event(2)], [event(3)])):
            Writer(files).run(TIME_MS + 1, [event(2)], [event(3)])
            partition = Partition(files, "dt=20151210")
            assert offsets_in(files, partition, START_S) == [1, 2, 3]
            assert offsets_in(files, partition, START_S + 1_000) == [2, 3]
            assert not partition.root.exists(partition.path(START_S + 1_000, SUCCESS))
