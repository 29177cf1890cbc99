"""Where the files of a micro-batch go, without a file system."""

from ingest.api import Batch
from sinks.archive.placement import CommitPlan, LastCommit, Placement

FIRST, SECOND = 1449784608, 1449847129
FOLDER = "dt=20151210"


def path(version_id: int, name: str) -> str:
    return f"{FOLDER}/version={version_id}/{name}"


def test_file_goes_to_the_current_version_and_to_those_of_reruns_once() -> None:
    placement = Placement.into(FOLDER, "_tmp/a", [FIRST, SECOND, FIRST], "part-a")
    assert placement.targets == (path(FIRST, "part-a"), path(SECOND, "part-a"))


def test_plan_records_all_and_removes_what_only_an_earlier_run_has_written() -> None:
    placements = tuple(Placement.into(FOLDER, f"_tmp/{each}", [FIRST], f"part-{each}") for each in "ab")
    plan = CommitPlan(placements, frozenset({path(FIRST, "part-a"), path(FIRST, "part-c")}))
    assert plan.obsolete == [path(FIRST, "part-c")]
    files = tuple(path(FIRST, f"part-{each}") for each in "abc")
    assert plan.record(Batch("7", 5, "attempt")) == LastCommit("7", 5, files)


def test_version_that_becomes_current_gets_the_files_that_it_lacks() -> None:
    both = Placement.into(FOLDER, "_tmp/a", [FIRST, SECOND], "part-a")
    one = Placement.into(FOLDER, "_tmp/b", [FIRST], "part-b")
    other = Placement.into("dt=20151211", "_tmp/c", [FIRST], "part-c")
    plan = CommitPlan((both, one, other), frozenset())
    assert plan.folders == [FOLDER, "dt=20151211"]
    assert plan.lacking(FOLDER, SECOND) == [one]
    followed = plan.with_version(FOLDER, SECOND)
    assert followed.lacking(FOLDER, SECOND) == []
    assert followed.placements == (both, one.also_in(SECOND), other)
    assert one.also_in(SECOND).targets == (path(FIRST, "part-b"), path(SECOND, "part-b"))
