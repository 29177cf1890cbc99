"""A version that a process writes beside the pipelines."""

import errno
from pathlib import Path
from typing import BinaryIO

import pytest

from ingest.api import ConflictError, StoreUnavailableError
from sinks.archive.layout import CURRENT, RERUNS, SUCCESS, SUPERSEDED
from sinks.archive.partition import Partition
from sinks.archive.rewrite import Rewrite
from sinks.archive.rewrites import STALE_MS, Announcement, Answer, announce, announcements, put_answer
from sinks.archive.switching import switch
from sinks.files.local_root import LocalRoot
from tests.support.archives import DAY_MS, Writer, event, visible
from tests.support.crashing_root import CrashingRoot
from tests.support.memory_root import MemoryRoot

NOW_S = 1449847129
FIRST_S = NOW_S - 60
"""The version of the writer."""


class Clock:
    """Milliseconds that a test sets."""

    now_ms = NOW_S * 1000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def partition(tmp_path: Path) -> Partition:
    partition = Partition(LocalRoot(tmp_path), "dt=20151210")
    partition.ensure_current(FIRST_S, "writer")
    return partition


class TestRerun:
    def test_3c2_version_becomes_current_at_the_end(self, partition: Partition, clock: Clock) -> None:
        with Rewrite(partition, "rerun", clock_ms=clock) as first:
            first.finish()
        clock.now_ms += 60_000
        with Rewrite(partition, "rerun", clock_ms=clock) as second:
            assert partition.current() == first.version_id == NOW_S
            second.finish()
        assert (partition.current(), second.version_id, second.before) == (NOW_S + 60, NOW_S + 60, NOW_S)
        assert partition.version_ids() == [FIRST_S, NOW_S, NOW_S + 60]

    def test_announcement_is_there_as_long_as_the_block(self, partition: Partition, clock: Clock) -> None:
        with Rewrite(partition, "rerun", clock_ms=clock) as rerun:
            (announcement,) = announcements(partition.root, clock())
            assert (announcement.partition, announcement.version_id) == (partition.folder, rerun.version_id)
            assert rerun.answer("w") is None
            put_answer(partition.root, announcement.id, Answer("w", 7))
            assert rerun.answer("w") == Answer("w", 7)
        assert list(announcements(partition.root, clock())) == []

    def test_3c4_block_that_fails_leaves_the_pointer(self, partition: Partition, clock: Clock) -> None:
        with Rewrite(partition, "rerun", clock_ms=clock) as first:
            first.finish()

        def fail() -> None:
            with Rewrite(partition, "rerun", clock_ms=clock):
                Writer(partition.root, NOW_S).run(DAY_MS + 1, [event(1)])
                raise OSError("half")

        with pytest.raises(OSError, match="half"):
            fail()
        with Rewrite(partition, "rerun", clock_ms=clock) as third:
            assert third.version_id == NOW_S + 2
        assert partition.current() == NOW_S
        assert [version.is_complete for version in partition.versions()] == [True, True, False]

    def test_block_that_writes_nothing_leaves_no_version_and_no_answer(
        self, partition: Partition, clock: Clock
    ) -> None:
        ids = []
        for _ in range(2):
            with Rewrite(partition, "rerun", clock_ms=clock):
                (announcement,) = announcements(partition.root, clock())
                put_answer(partition.root, announcement.id, Answer("w", 7))
                ids.append(announcement.id)
        assert partition.version_ids() == [FIRST_S]
        assert partition.root.file_names("_reruns") == []
        assert len(set(ids)) == 2  # a writer remembers what it has answered

    def test_damaged_answer_does_not_fail_a_rerun_that_has_ended(self, partition: Partition, clock: Clock) -> None:
        with Rewrite(partition, "rerun", clock_ms=clock) as rerun:
            (announcement,) = announcements(partition.root, clock())
            put_answer(partition.root, announcement.id, Answer("w", 7))
            partition.root.write(f"{RERUNS}/{announcement.id}.w", b"damaged")
            rerun.finish()
        assert (partition.current(), partition.root.file_names(RERUNS)) == (rerun.version_id, [])

    @pytest.mark.parametrize("exclusive", [False, True])
    def test_failure_while_it_begins_leaves_no_announcement_and_no_version(
        self, partition: Partition, clock: Clock, *, exclusive: bool
    ) -> None:
        """The announcement is written; then its answer is lost, or the look for others fails."""
        root = partition.root

        class Failing(CrashingRoot):
            def write(self, path: str, content: bytes) -> None:
                super().write(path, content)
                if path.startswith(f"{RERUNS}/") and not exclusive:
                    raise OSError(errno.ETIMEDOUT, "no answer")

            def open(self, path: str) -> BinaryIO:
                if path.startswith(f"{RERUNS}/"):
                    raise OSError(errno.ETIMEDOUT, "no answer")
                return super().open(path)

        failing = Partition(Failing(root, 1_000), partition.folder)
        with (
            pytest.raises(StoreUnavailableError),
            Rewrite(failing, "rerun", exclusive=exclusive, clock_ms=clock),
        ):
            pass
        assert (root.file_names(RERUNS), partition.version_ids()) == ([], [FIRST_S])

    def test_announcements_of_processes_that_were_killed_are_removed(self, partition: Partition, clock: Clock) -> None:
        announce(partition.root, Announcement("r1", partition.folder, FIRST_S + 1, "killed", 0))
        with Rewrite(partition, "rerun", clock_ms=clock):
            assert len(partition.root.file_names("_reruns")) == 1

    @pytest.mark.parametrize("ends", ["before", "after"])
    @pytest.mark.parametrize("marker", [SUCCESS, SUPERSEDED, CURRENT])
    def test_3c5_newer_one_that_begins_while_the_older_one_ends_wins(
        self, partition: Partition, clock: Clock, marker: str, ends: str
    ) -> None:
        """It begins, and ends or goes on, between two changes of the older one."""
        root = partition.root
        newer: list[Rewrite] = []

        class Raced(CrashingRoot):
            def write(self, path: str, content: bytes) -> None:
                if path.endswith(f"/{marker}") and not newer:
                    newer.append(Rewrite(partition, "newer", clock_ms=clock).__enter__())
                    newer[0].copied_from = FIRST_S
                    if ends == "before":
                        newer[0].finish()
                super().write(path, content)

        with Rewrite(Partition(Raced(root, 1_000), partition.folder), "older", clock_ms=clock) as older:
            older.copied_from = FIRST_S
            with pytest.raises(ConflictError, match="a newer re-run or join") as caught:
                older.finish()
        assert (caught.value.code, partition.version(older.version_id).is_complete) == ("archive_moved", False)
        if ends == "after":
            assert partition.current() == FIRST_S
            newer[0].finish()
        newer[0].__exit__()
        assert partition.current() == newer[0].version_id > older.version_id
        assert not partition.root.exists(partition.path(newer[0].version_id, SUPERSEDED))

    def test_older_one_leaves_the_version_that_the_user_chose_after_the_newer_one(
        self, partition: Partition, clock: Clock
    ) -> None:
        with Rewrite(partition, "rerun", clock_ms=clock) as older:
            older.copied_from = FIRST_S
            with Rewrite(partition, "rerun", clock_ms=clock) as newer:
                newer.finish()
            switch(partition, FIRST_S, clock())
            with pytest.raises(ConflictError, match="newer"):
                older.finish()
        assert partition.current() == FIRST_S

    def test_3c5_exclusive_is_refused_beside_another(self, partition: Partition, clock: Clock) -> None:
        with Rewrite(partition, "rerun", clock_ms=clock):
            with pytest.raises(ConflictError) as caught, Rewrite(partition, "rerun", exclusive=True, clock_ms=clock):
                pass
            assert (caught.value.code, caught.value.exit_code) == ("archive_rerun_runs", 4)
            assert len(list(announcements(partition.root, clock()))) == 1
            assert len(partition.version_ids()) == 2
        with Rewrite(partition, "rerun", exclusive=True, clock_ms=clock) as alone:
            alone.finish()

    def test_3c5_exclusive_is_refused_beside_one_that_has_its_announcement_first(
        self, partition: Partition, clock: Clock
    ) -> None:
        """Whichever has the lower id; the version of the one that is refused goes."""
        root = partition.root
        others: list[Rewrite] = []

        class Raced(CrashingRoot):
            """Another exclusive re-run starts just before this one writes its announcement."""

            def write(self, path: str, content: bytes) -> None:
                if path.startswith("_reruns/") and not others:
                    others.append(Rewrite(partition, "other", exclusive=True, clock_ms=clock).__enter__())
                super().write(path, content)

        late = Rewrite(Partition(Raced(root, 1_000), partition.folder), "late", exclusive=True, clock_ms=clock)
        with pytest.raises(ConflictError) as caught, late:
            pass
        (other,) = others
        assert (caught.value.code, other.version_id > late.version_id) == ("archive_rerun_runs", True)
        assert partition.version_ids() == [FIRST_S, other.version_id]
        other.finish()
        other.__exit__()

    def test_3c6_clock_set_back_gives_a_larger_id(self, partition: Partition, clock: Clock) -> None:
        with Rewrite(partition, "rerun", clock_ms=clock) as first:
            first.finish()
        clock.now_ms -= 3_600_000
        with Rewrite(partition, "rerun", clock_ms=clock) as second:
            assert second.version_id == NOW_S + 1

    def test_3c11_kept_at_its_end(self, partition: Partition, clock: Clock) -> None:
        with Rewrite(partition, "rerun", clock_ms=clock) as rerun:
            rerun.finish(is_kept=True)
        assert partition.version(rerun.version_id).is_kept

    def test_process_without_heartbeats_does_not_switch(self, partition: Partition, clock: Clock) -> None:
        with Rewrite(partition, "rerun", clock_ms=clock) as rerun:
            clock.now_ms += STALE_MS
            with pytest.raises(ConflictError) as caught:
                rerun.finish()
        assert (caught.value.code, partition.current()) == ("announcement_expired", FIRST_S)

    @pytest.mark.parametrize("marker", [SUCCESS, SUPERSEDED, CURRENT])
    def test_process_that_is_suspended_at_the_switch_hides_no_rows(self, clock: Clock, marker: str) -> None:
        files = MemoryRoot()
        writer = Writer(files, FIRST_S)
        writer.run(DAY_MS + 1, [event(1)])

        class Suspended(CrashingRoot):
            """The process stands still before it writes the marker, and the writer goes on."""

            def write(self, path: str, content: bytes) -> None:
                if path.endswith(f"/{marker}") and clock.now_ms == NOW_S * 1000:
                    clock.now_ms += STALE_MS + 60_000
                    writer.clock.now = clock.now_ms
                    writer.run(DAY_MS + 3, [event(3)])
                super().write(path, content)

        partition = Partition(Suspended(files, 1_000), "dt=20151210")
        with Rewrite(partition, "rerun", clock_ms=clock) as rerun:
            writer.clock.now = clock.now_ms
            writer.run(DAY_MS + 2, [event(2)])
            with pytest.raises(ConflictError) as caught:
                rerun.finish(is_kept=True)
        assert (caught.value.code, partition.current()) == ("announcement_expired", FIRST_S)
        assert visible(files) == {"20151210": [1, 2, 3]}
        assert partition.version(rerun.version_id) == (rerun.version_id, False, False)
