"""The partition that a re-run leaves if no event belongs to it."""

import pytest

from ingest.clock import now_ms
from sinks.archive.empty_partitions import is_empty, remove_if_empty
from sinks.archive.layout import KEEP, SUPERSEDED
from sinks.archive.partition import Partition
from sinks.archive.rewrite import Rewrite
from tests.support.archives import DAY_MS, START_S, Writer, event
from tests.support.clock import Clock


def left(partition: Partition) -> list[str]:
    return sorted(path.removeprefix(f"{partition.folder}/") for path, _ in partition.root.files_below(partition.folder))


def test_partition_that_the_rerun_has_made_is_removed(partition: Partition) -> None:
    assert is_empty(partition)
    with Rewrite(partition, "rerun") as rerun:
        partition.root.write(partition.path(rerun.version_id, SUPERSEDED), b"")
        remove_if_empty(partition, rerun.version_id, now_ms())
    assert not partition.root.exists(partition.folder)


def test_partition_that_another_process_writes_stays(partition: Partition) -> None:
    clock = Clock(START_S * 1000)
    with Rewrite(partition, "rerun", clock_ms=clock) as rerun, Rewrite(partition, "other"):
        remove_if_empty(partition, rerun.version_id, now_ms())  # although its own announcement is stale
        assert len(partition.version_ids()) == 3


def test_partition_with_rows_stays(partition: Partition) -> None:
    Writer(partition.root).run(DAY_MS, [event(1)])
    before = left(partition)
    remove_if_empty(partition, START_S, now_ms())
    assert left(partition) == before


@pytest.mark.parametrize(
    "name",
    ["000000_0", f"version={START_S}/{KEEP}", f"version={START_S}/part-00000-3f.c000.snappy.parquet", "old/data"],
)
def test_partition_with_files_of_others_or_a_kept_version_stays(partition: Partition, name: str) -> None:
    partition.ensure_current(START_S, "w")
    path = f"{partition.folder}/{name}"
    partition.root.make_folder(path.rpartition("/")[0])
    partition.root.write(path, b"rows")
    before = left(partition)
    assert name in before
    assert not is_empty(partition)
    remove_if_empty(partition, START_S, now_ms())
    assert left(partition) == before
