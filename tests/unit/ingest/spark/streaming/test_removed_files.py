"""Notes of files that are gone."""

from ingest.spark.streaming.removed_files import MAX_NOTES, RemovedFiles


def test_the_newest_are_known_and_the_rest_takes_no_room():
    paths = [f"/in/{number}.csv" for number in range(2 * MAX_NOTES)]
    forgotten = RemovedFiles("")
    for start in range(0, len(paths), 3_000):
        notes = forgotten.and_also(paths[start : start + 3_000])
        forgotten = RemovedFiles(notes)
    assert len(notes) == 12 * MAX_NOTES
    assert [path in forgotten for path in paths] == [False] * MAX_NOTES + [True] * MAX_NOTES
    assert forgotten.and_also([]) == notes


def test_no_notes_know_nothing():
    assert "/in/a" not in RemovedFiles("")
    assert RemovedFiles("").and_also([]) == ""
