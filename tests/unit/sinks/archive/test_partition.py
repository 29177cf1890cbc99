"""Versions of a partition, its pointer, and the announcements of re-runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from sinks.archive.errors import ArchiveCorruptError, NoArchiveVersionError
from sinks.archive.layout import CURRENT, KEEP, PartitionRule
from sinks.archive.partition import ArchiveVersion, Partition, partitions
from sinks.archive.rewrites import (
    STALE_MS,
    Announcement,
    Answer,
    announce,
    announcements,
    answer_of,
    put_answer,
    remove_old_announcements,
)
from sinks.archive.rewrites import withdraw as remove
from sinks.files.local_root import LocalRoot
from sinks.files.root import Root

NOW_S = 1449784608
ANNOUNCEMENT = Announcement("r1", "dt=20151210", NOW_S, "a re-run", 1_000_000)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return LocalRoot(tmp_path / "customer")


@pytest.fixture
def partition(root: Root) -> Partition:
    return Partition(root, "dt=20151210")


class TestPartition:
    def test_without_a_version(self, partition: Partition) -> None:
        assert partition.current() is None
        assert partition.versions() == []
        assert partition.foreign() == []
        assert partition.owner(NOW_S) == ""

    def test_3c5_versions_of_one_second_have_different_ids(self, partition: Partition) -> None:
        assert [partition.create(NOW_S, "a"), partition.create(NOW_S, "b")] == [NOW_S, NOW_S + 1]
        assert [partition.owner(NOW_S), partition.owner(NOW_S + 1)] == ["a", "b"]

    def test_3c6_clock_set_back_gives_a_larger_id(self, partition: Partition) -> None:
        partition.create(NOW_S, "a")
        assert partition.create(NOW_S - 3600, "b") == NOW_S + 1

    def test_folder_created_by_another_process_meanwhile_is_not_shared(self, partition: Partition) -> None:
        partition.create(NOW_S, "a")

        class Late(Partition):
            def version_ids(self) -> list[int]:
                return []

        assert Late(partition.root, partition.folder).create(NOW_S, "b") == NOW_S + 1

    def test_pointer_and_markers(self, partition: Partition) -> None:
        first = partition.ensure_current(NOW_S, "a")
        assert partition.version(first).is_complete
        assert partition.ensure_current(NOW_S, "b") == first
        second = partition.create(NOW_S, "b")
        assert not partition.version(second).is_complete
        partition.complete(second)
        partition.write_pointer(second)
        partition.root.write(partition.path(first, KEEP), b"")
        assert partition.current() == second
        assert partition.versions() == [
            ArchiveVersion(first, is_complete=True, is_kept=True),
            ArchiveVersion(second, is_complete=True, is_kept=False),
        ]

    def test_first_version_of_two_processes(self, partition: Partition) -> None:
        first = partition.ensure_current(NOW_S, "a")
        looks = iter([None, first])

        class Late(Partition):
            def current(self) -> int | None:
                return next(looks)

        assert Late(partition.root, partition.folder).ensure_current(NOW_S, "b") == first
        assert partition.version_ids() == [first]

    @pytest.mark.parametrize("content", [b"", b"version=1449784609\n", b"\xff", b"x" * 1_000_000])
    def test_damaged_pointer(self, partition: Partition, content: bytes) -> None:
        partition.create(NOW_S, "a")
        partition.root.write(f"{partition.folder}/{CURRENT}", content)
        with pytest.raises(ArchiveCorruptError, match="_CURRENT"):
            partition.current()

    def test_pointer_to_a_version_that_is_not_complete(self, partition: Partition) -> None:
        assert (partition.pointed(), partition.readable_current()) == (None, None)
        version_id = partition.create(NOW_S, "a")
        partition.write_pointer(version_id)
        assert (partition.pointed(), partition.readable_current()) == (version_id, None)
        partition.complete(version_id)
        assert partition.readable_current() == version_id
        partition.root.write(f"{partition.folder}/{CURRENT}", b"junk")
        assert (partition.pointed(), partition.readable_current()) == (None, None)

    def test_3c11_version_that_is_not_there_is_not_kept(self, partition: Partition) -> None:
        partition.create(NOW_S, "a")
        for mark in (partition.keep, partition.unkeep):
            with pytest.raises(NoArchiveVersionError, match=f"has no version {NOW_S + 1}") as caught:
                mark(NOW_S + 1)
            assert caught.value.code == "no_archive_version"
        assert partition.version_ids() == [NOW_S]

    def test_foreign_names(self, partition: Partition) -> None:
        for name in ("version= 1449847129", "versionid=1", "version=abc"):
            partition.root.make_folder(f"{partition.folder}/{name}")
        assert partition.foreign() == ["version= 1449847129", "version=abc", "versionid=1"]
        assert partition.versions() == []

    def test_partitions_of_a_table(self, root: Root) -> None:
        assert partitions(root, PartitionRule()) == {}
        for folder in ("dt=20151210", "_tmp", "x=1"):
            root.make_folder(folder)
        assert partitions(root, PartitionRule()) == {"20151210": Partition(root, "dt=20151210")}


class TestReruns:
    def test_announcement_has_an_effect_until_it_is_stale(self, root: Root) -> None:
        announce(root, ANNOUNCEMENT)
        assert list(announcements(root, ANNOUNCEMENT.heartbeat_ms + STALE_MS)) == [ANNOUNCEMENT]
        assert list(announcements(root, ANNOUNCEMENT.heartbeat_ms + STALE_MS + 1)) == []

    @pytest.mark.parametrize("content", [b"", b"[]", b"{}"])
    def test_damaged_announcement_is_ignored(self, root: Root, content: bytes) -> None:
        announce(root, ANNOUNCEMENT)
        root.write("_reruns/r1.json", content)
        assert list(announcements(root, 0)) == []

    def test_answers(self, root: Root) -> None:
        announce(root, ANNOUNCEMENT)
        announce(root, replace(ANNOUNCEMENT, id="r10"))
        assert answer_of(root, "r1", "p+a") is None
        put_answer(root, "r1", Answer("p+a", 7))
        put_answer(root, "r1", Answer("p.q+a", 8))
        put_answer(root, "r10", Answer("p+a", 9))
        assert [answer_of(root, "r1", each) for each in ("p+a", "p.q+a")] == [Answer("p+a", 7), Answer("p.q+a", 8)]
        remove(root, "r1")
        assert sorted(root.file_names("_reruns")) == ["r10.json", "r10.p+a"]

    def test_announcement_without_a_heartbeat_for_a_day_is_removed_with_its_answers(self, root: Root) -> None:
        day_ms = 24 * 3_600_000
        announce(root, ANNOUNCEMENT)
        announce(root, replace(ANNOUNCEMENT, id="r2", heartbeat_ms=ANNOUNCEMENT.heartbeat_ms + 1))
        for rerun in ("r1", "r2", "removed"):
            put_answer(root, rerun, Answer("p+a", 7))
        remove_old_announcements(root, ANNOUNCEMENT.heartbeat_ms + day_ms + 1)
        assert root.file_names("_reruns") == ["r2.json", "r2.p+a"]
