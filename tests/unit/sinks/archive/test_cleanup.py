"""The pointer of a partition, and which versions a cleanup removes."""

import os
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest

from ingest.api import NotFoundError
from sinks.archive.cleanup import CleanupPlan, VersionState, clean_up, files_to_remove, plan_cleanup, versions_of
from sinks.archive.layout import CURRENT, RERUNS, STARTED, SUCCESS, SUPERSEDED, PartName, writer_digits
from sinks.archive.partition import Partition
from sinks.archive.rewrites import Announcement, announce
from sinks.archive.switching import later_files, superseded_ms, switch
from sinks.files.local_root import LocalRoot
from sinks.files.root import Entry

FIRST_S, SECOND_S = 1449784608, 1449847129
DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
NOW_MS = SECOND_S * 1000
PART = "part-0001449784612345-00000-5f0c9a31.parquet"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "customer"


@pytest.fixture
def partition(root: Path) -> Partition:
    partition = Partition(LocalRoot(root), "dt=20151210")
    for now_s in (FIRST_S, SECOND_S):
        version_id = partition.create(now_s, "test")
        partition.root.write(partition.path(version_id, PART), b"rows")
        partition.complete(version_id)
    partition.write_pointer(FIRST_S)
    return partition


def removed(partition: Partition, now_ms: int, **options: object) -> list[str]:
    return [f"version={version.id}" for _, version in plan_cleanup([partition], now_ms, WEEK_MS, **options).versions]  # type: ignore[arg-type]


def reported(plan: CleanupPlan) -> list[str]:
    """The files that a cleanup reports as removed; those that it has announced."""
    announced = list(files_to_remove(plan))
    assert all(partition.root.exists(path) for path in announced for partition, _ in plan.versions)
    found: list[str] = []
    assert list(clean_up(plan, NOW_MS, found.append)) == [version for _, version in plan.versions]
    assert found == announced
    return found


class TestSwitch:
    def test_3c2_older_version_stays(self, partition: Partition) -> None:
        assert switch(partition, SECOND_S, NOW_MS) == FIRST_S
        assert partition.current() == SECOND_S
        assert partition.root.read(partition.path(FIRST_S, PART)) == b"rows"
        assert superseded_ms(partition, FIRST_S, partition.root.entries(partition.path(FIRST_S))) == NOW_MS

    def test_3c12_to_an_incomplete_or_missing_version_is_refused(self, partition: Partition) -> None:
        incomplete = partition.create(SECOND_S, "test")
        for version_id in (incomplete, SECOND_S + 100):
            with pytest.raises(NotFoundError) as caught:
                switch(partition, version_id, NOW_MS)
            assert (caught.value.code, caught.value.exit_code) == ("no_archive_version", 3)
            assert partition.current() == FIRST_S

    def test_back_to_an_older_version(self, partition: Partition) -> None:
        switch(partition, SECOND_S, NOW_MS)
        switch(partition, FIRST_S, NOW_MS + 1)
        assert partition.current() == FIRST_S
        assert not partition.root.exists(partition.path(FIRST_S, SUPERSEDED))

    def test_same_version_changes_nothing(self, partition: Partition) -> None:
        assert switch(partition, FIRST_S, NOW_MS) == FIRST_S
        assert not partition.root.exists(partition.path(FIRST_S, SUPERSEDED))

    def test_damaged_pointer_is_replaced(self, partition: Partition) -> None:
        partition.root.write(f"{partition.folder}/_CURRENT", b"junk")
        assert switch(partition, SECOND_S, NOW_MS) is None
        assert partition.current() == SECOND_S

    def test_later_files_are_those_after_the_version_before_was_complete(
        self, partition: Partition, root: Path
    ) -> None:
        def write(version_id: int, name: str, at_ms: int) -> None:
            partition.root.write(partition.path(version_id, name), b"rows")
            os.utime(root / partition.path(version_id, name), (at_ms / 1000, at_ms / 1000))

        def part(writer: str, time_ms: int) -> str:
            return str(PartName(time_ms, 0, writer_digits(writer, str(NOW_MS - 2)), "parquet"))

        switch(partition, SECOND_S, NOW_MS)
        write(SECOND_S, part("copy", NOW_MS - 3), NOW_MS - 1)
        write(SECOND_S, part("p+archive+rerun+1449847129", NOW_MS - 1), NOW_MS - 1)
        write(SECOND_S, SUCCESS, NOW_MS)
        write(SECOND_S, part("p+archive", NOW_MS + 1), NOW_MS + 1)
        write(SECOND_S, part("p+archive+replay", NOW_MS - 500), NOW_MS + 2)
        for version_id in (FIRST_S, SECOND_S):
            write(version_id, part("p+archive", NOW_MS + 3), NOW_MS + 3)
        switch(partition, FIRST_S, NOW_MS + 4)
        assert later_files(partition, SECOND_S, FIRST_S) == 2
        write(FIRST_S, part("p+archive", NOW_MS + 1), NOW_MS + 1)
        assert later_files(partition, SECOND_S, FIRST_S) == 1
        assert later_files(partition, FIRST_S, SECOND_S) == 0


class TestCleanup:
    def test_3c10_age_counts_since_the_version_was_superseded(self, partition: Partition) -> None:
        switch(partition, SECOND_S, NOW_MS)
        assert removed(partition, NOW_MS + WEEK_MS - 1) == []
        plan = plan_cleanup([partition], NOW_MS + WEEK_MS, WEEK_MS)
        assert reported(plan) == [partition.path(FIRST_S, name) for name in (SUCCESS, SUPERSEDED, PART, STARTED)]
        assert partition.version_ids() == [SECOND_S]

    def test_damaged_marker_counts_since_it_was_written(self, partition: Partition) -> None:
        folder = partition.path(FIRST_S)
        switch(partition, SECOND_S, NOW_MS)
        partition.root.write(f"{folder}/{SUPERSEDED}", b"")
        times = {entry.name: entry.modified_ms for entry in partition.root.entries(folder)}
        old = [entry._replace(modified_ms=1) for entry in partition.root.entries(folder) if entry.name != SUPERSEDED]
        (marker,) = (entry for entry in partition.root.entries(folder) if entry.name == SUPERSEDED)
        assert superseded_ms(partition, FIRST_S, [*old, marker]) == times[SUPERSEDED]

    def test_folder_of_an_object_store_is_gone_with_its_last_file(self, root: Path, partition: Partition) -> None:
        class ObjectStore(LocalRoot):
            def entries(self, folder: str) -> list[Entry]:
                found = super().entries(folder)
                if not found:
                    raise FileNotFoundError(2, "no such folder", folder)
                return found

        switch(partition, SECOND_S, NOW_MS)
        plan = plan_cleanup([partition], NOW_MS + WEEK_MS, WEEK_MS)
        ((_, old),) = plan.versions
        stored = replace(plan, versions=((Partition(ObjectStore(root), partition.folder), old),))
        assert [version.id for version in clean_up(stored, NOW_MS + WEEK_MS)] == [FIRST_S]

    def test_3c11_kept_version_stays_until_unkeep(self, partition: Partition) -> None:
        switch(partition, SECOND_S, NOW_MS)
        partition.keep(FIRST_S)
        plan = plan_cleanup([partition], NOW_MS + WEEK_MS, WEEK_MS)
        assert (plan.versions, plan.kept) == ((), {f"dt=20151210/version={FIRST_S}": "it has _KEEP"})
        partition.unkeep(FIRST_S)
        assert removed(partition, NOW_MS + WEEK_MS) == [f"version={FIRST_S}"]

    def test_3c7_location_of_sql_keeps_a_version(self, partition: Partition) -> None:
        switch(partition, SECOND_S, NOW_MS)
        assert removed(partition, NOW_MS + WEEK_MS, located={f"dt=20151210/version={FIRST_S}"}) == []

    def test_version_that_became_current_again_stays(self, partition: Partition) -> None:
        switch(partition, SECOND_S, NOW_MS)
        plan = plan_cleanup([partition], NOW_MS + WEEK_MS, WEEK_MS)
        switch(partition, FIRST_S, NOW_MS + WEEK_MS)
        assert list(clean_up(plan, NOW_MS + WEEK_MS)) == []
        assert partition.current() == FIRST_S

    def test_version_that_was_kept_since_stays(self, partition: Partition) -> None:
        switch(partition, SECOND_S, NOW_MS)
        plan = plan_cleanup([partition], NOW_MS + WEEK_MS, WEEK_MS)
        partition.keep(FIRST_S)
        assert list(clean_up(plan, NOW_MS + WEEK_MS)) == []
        assert partition.version(FIRST_S).is_complete

    def test_version_that_a_killed_cleanup_has_hidden_is_removed(self, partition: Partition) -> None:
        switch(partition, SECOND_S, NOW_MS)
        partition.root.remove_file(partition.path(FIRST_S, SUCCESS))
        plan = plan_cleanup([partition], NOW_MS + WEEK_MS, WEEK_MS)
        assert reported(plan) == [partition.path(FIRST_S, name) for name in (SUPERSEDED, PART, STARTED)]
        assert partition.version_ids() == [SECOND_S]

    def test_3c4_incomplete_version_stays_unless_requested(self, partition: Partition) -> None:
        late = partition.create(SECOND_S, "re-run 1")
        now_ms = (partition.root.entries(partition.path(late))[0].modified_ms) + WEEK_MS
        partition.write_pointer(SECOND_S)
        partition.keep(FIRST_S)
        assert removed(partition, now_ms) == []
        assert removed(partition, now_ms, incomplete=True) == [f"version={late}"]
        states = {version.id: version.state for version in versions_of(partition, ())}
        assert states[late] is VersionState.INCOMPLETE
        assert reported(plan_cleanup([partition], now_ms, WEEK_MS, incomplete=True)) == [partition.path(late, STARTED)]

    def test_version_that_is_being_written_stays(self, partition: Partition) -> None:
        switch(partition, SECOND_S, NOW_MS)
        announce(partition.root, Announcement("r", partition.folder, FIRST_S, "test", NOW_MS + WEEK_MS))
        assert removed(partition, NOW_MS + WEEK_MS) == []

    def test_announcements_are_listed_once_for_all_partitions(self, root: Path) -> None:
        class Listed(LocalRoot):
            def entries(self, folder: str) -> list[Entry]:
                folders.append(folder)
                return super().entries(folder)

        folders: list[str] = []
        files = Listed(root)
        table = [Partition(files, f"dt=2015121{day}") for day in range(3)]
        for partition in table:
            partition.ensure_current(FIRST_S, "test")
        plan_cleanup(table, NOW_MS, WEEK_MS)
        assert folders.count(RERUNS) == 1

    def test_who_has_created_a_version_is_not_read(self, partition: Partition, root: Path) -> None:
        """The watch of a service looks at all versions of a table."""

        class Recorded(LocalRoot):
            def open(self, path: str) -> BinaryIO:
                read.append(path)
                return super().open(path)

        read: list[str] = []
        plan_cleanup([Partition(Recorded(root), partition.folder)], NOW_MS, WEEK_MS)
        assert read == [f"{partition.folder}/{CURRENT}"]

    def test_3c13_foreign_names_are_reported_and_stay(self, partition: Partition) -> None:
        switch(partition, SECOND_S, NOW_MS)
        names = ["version= 1449847129", "version=abc", "versionid=1"]
        for name in names:
            partition.root.make_folder(f"{partition.folder}/{name}")
        partition.root.write(partition.path(FIRST_S, "mine.txt"), b"")
        plan = plan_cleanup([partition], NOW_MS + WEEK_MS, WEEK_MS)
        foreign = [f"dt=20151210/{name}" for name in names]
        assert plan.foreign == (*foreign[:1], partition.path(FIRST_S, "mine.txt"), *foreign[1:])
        list(clean_up(plan, NOW_MS + WEEK_MS))
        assert all(partition.root.exists(path) for path in plan.foreign)
        assert [version.id for version in versions_of(partition, ())] == [FIRST_S, SECOND_S]  # it has the file

    def test_partition_without_a_pointer_loses_nothing(self, partition: Partition) -> None:
        partition.root.remove_file(f"{partition.folder}/_CURRENT")
        plan = plan_cleanup([partition], NOW_MS + 100 * WEEK_MS * 10, WEEK_MS)
        assert (plan.versions, set(plan.kept.values())) == ((), {"the partition has no current version"})
