"""Hashes of removed files."""

from ingest.spark.streaming.removed_files import MAX_HASHES, RemovedFiles


def test_only_the_newest_hashes_are_retained():
    paths = [f"/in/{number}.csv" for number in range(2 * MAX_HASHES)]
    removed = RemovedFiles("")
    for start in range(0, len(paths), 3_000):
        hashes = removed.with_paths(paths[start : start + 3_000])
        removed = RemovedFiles(hashes)
    assert len(hashes) == 12 * MAX_HASHES
    assert [path in removed for path in paths] == [False] * MAX_HASHES + [True] * MAX_HASHES
    assert removed.with_paths([]) == hashes


def test_without_hashes_no_file_is_removed():
    assert "/in/a" not in RemovedFiles("")
    assert RemovedFiles("").with_paths([]) == ""
