"""The time of a micro-batch."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.api import CheckpointError, StoreUnavailableError
from ingest.spark.streaming.batch_time import BatchTimes, newest_noted, newest_time, stored_name, stored_times


def readings(*moments: int) -> Callable[[], int]:
    """A clock that returns these times, one after the other."""
    return iter(moments).__next__


def test_first_batch_has_the_time_of_the_clock(tmp_path: Path):
    assert BatchTimes(tmp_path / "times", readings(1000)).of(0) == 1000


def test_replay_in_another_process_has_the_same_time(tmp_path: Path):
    first = BatchTimes(tmp_path, readings(1000)).of(7)
    assert BatchTimes(tmp_path, readings(9999)).of(7) == first


def test_times_rise_by_two_after_the_clock_was_set_back(tmp_path: Path):
    times = BatchTimes(tmp_path, readings(1000, 400, 300))
    assert [times.of(0), times.of(1), times.of(2)] == [1000, 1002, 1004]


def test_time_follows_the_newest_earlier_one_across_a_gap(tmp_path: Path):
    BatchTimes(tmp_path, readings(5000)).of(3)
    assert BatchTimes(tmp_path, readings(10)).of(6) == 5002


def test_new_checkpoint_starts_after_the_notes_of_an_earlier_one(tmp_path: Path):
    earlier = BatchTimes(tmp_path / "earlier", readings(4_000, 5_000))
    earlier.of(0)
    earlier.of(1)
    notes = [earlier.note(number) for number in range(3)]
    assert notes == ["4000", "5000", ""]
    BatchTimes(tmp_path, readings()).start_after(newest_noted(["by another tool", *notes]))
    times = BatchTimes(tmp_path, readings(10, 20))
    assert [times.of(0), times.of(1), times.known(1), times.known(2)] == [5_002, 5_004, 5_004, None]


def test_notes_without_times_are_ignored(tmp_path: Path):
    times = BatchTimes(tmp_path, readings(10))
    times.start_after(newest_noted(["", "by another tool"]))
    assert [times.of(0), [path.name for path in tmp_path.iterdir()]] == [10, ["0"]]


def test_new_checkpoint_starts_after_the_newest_time_of_a_removed_one(tmp_path: Path):
    newest = tmp_path / "newest" / "p"
    earlier = BatchTimes(tmp_path / "removed", readings(4_000, 5_000), newest)
    assert [earlier.of(0), earlier.of(1), earlier.of(0)] == [4_000, 5_000, 4_000]
    times = BatchTimes(tmp_path / "new", readings(10, 20), newest)
    assert [times.of(0), times.of(1)] == [5_002, 5_004]
    assert BatchTimes(tmp_path / "removed", readings(30), newest).of(2) == 5_006


def test_next_time_follows_a_time_that_could_not_be_stored_in_the_checkpoint(tmp_path: Path):
    """It may have been used."""
    newest = tmp_path / "newest"
    times = BatchTimes(tmp_path / "times", readings(1_000, 10), newest)
    (tmp_path / "times" / f".0.{os.getpid()}.tmp").mkdir()
    with pytest.raises(StoreUnavailableError):
        times.of(0)
    (tmp_path / "times" / f".0.{os.getpid()}.tmp").rmdir()
    assert times.of(0) == 1_002


def test_damaged_newest_time_is_reported_with_its_file(tmp_path: Path):
    (tmp_path / "newest").write_bytes(b"")
    with pytest.raises(CheckpointError, match=str(tmp_path / "newest")):
        BatchTimes(tmp_path / "times", readings(1), tmp_path / "newest").of(0)


def test_damaged_time_is_reported_with_its_file(tmp_path: Path):
    (tmp_path / "4").write_bytes(b"")
    with pytest.raises(CheckpointError, match=str(tmp_path / "4")):
        BatchTimes(tmp_path, readings(1)).of(4)


def test_old_times_are_removed(tmp_path: Path):
    times = BatchTimes(tmp_path, lambda: 1)
    times.of(0)
    times.of(1000)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1000"]


def test_renewed_batch_has_a_later_time_than_before(tmp_path: Path):
    newest = tmp_path / "newest" / "p"
    times = BatchTimes(tmp_path / "times", readings(5_000, 10), newest)
    assert times.of(0) == 5_000
    times.renew(0)
    assert BatchTimes(tmp_path / "times", readings(), newest).of(0) == 5_002
    assert BatchTimes(tmp_path / "another", readings(20), newest).of(0) == 5_004


def test_renewed_batch_keeps_its_name(tmp_path: Path):
    times = BatchTimes(tmp_path, readings(5_000, 10, 20, 30, 40))
    assert (times.of(0), times.name_of(0)) == (5_000, "5000")
    times.renew(0)
    times.renew(0)
    assert (times.of(0), times.name_of(0), stored_name(tmp_path, 0)) == (5_004, "5000", "5000")
    assert (times.of(1), times.name_of(1), stored_name(tmp_path, 2)) == (5_006, "5006", None)
    times.renew(1)
    assert (times.name_of(0), times.name_of(1)) == ("5004", "5006")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "1.name"]


def test_latest_time_of_several_calls_counts(tmp_path: Path):
    times = BatchTimes(tmp_path, readings(10))
    times.start_after(5_000)
    times.start_after(4_000)
    assert times.of(0) == 5_002


def test_batch_whose_time_is_forgotten_gets_a_later_one_and_keeps_its_name(tmp_path: Path):
    times = BatchTimes(tmp_path, readings(1_000, 5_000, 6_000, 10, 20))
    assert [times.of(number) for number in range(3)] == [1_000, 5_000, 6_000]
    times.forget([2, 1])
    times.forget([2, 1])
    assert [times.known(number) for number in range(3)] == [1_000, None, None]
    assert [times.of(number) for number in range(1, 3)] == [6_002, 6_004]
    assert [times.name_of(number) for number in range(3)] == ["1000", "5000", "6000"]


def test_times_are_forgotten_from_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A call after a kill finds the same first batch."""
    times = BatchTimes(tmp_path, lambda: 100)
    for number in range(9, 12):
        times.of(number)

    def killed(_folder: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("ingest.spark.streaming.batch_time.sync_folder", killed)
        with pytest.raises(KeyboardInterrupt):
            times.forget([9, 10, 11])
    assert [times.known(number) for number in (9, 10, 11)] == [100, 102, None]
    times.forget([9, 10])
    assert [times.known(number) for number in (9, 10, 11)] == [None, None, None]
    assert times.of(9) == 106


def test_name_of_a_later_batch_outlives_a_renewal(tmp_path: Path):
    times = BatchTimes(tmp_path, readings(1_000, 2_000, 3_000, 4_000))
    assert [times.of(number) for number in range(2)] == [1_000, 2_000]
    times.forget([1])
    times.renew(0)
    assert [times.name_of(number) for number in range(2)] == ["1000", "2000"]


def test_newest_time_may_ignore_batches(tmp_path: Path):
    times = BatchTimes(tmp_path, readings(1_000, 2_000))
    times.start_after(500)
    assert [times.of(number) for number in range(2)] == [1_000, 2_000]
    assert [newest_time(tmp_path, without) for without in ((), {1}, {0, 1})] == [2_000, 1_000, 500]


def test_stored_times_are_those_of_all_batches_and_the_first_one_of_a_renewed_batch(tmp_path: Path):
    folder = tmp_path / "times"
    assert (stored_times(folder), newest_time(folder)) == (frozenset(), None)
    times = BatchTimes(folder, readings(5_000, 6_000, 10))
    times.start_after(4_000)
    assert [times.of(number) for number in range(2)] == [5_000, 6_000]
    assert stored_times(folder) == {5_000, 6_000}
    times.renew(1)
    (folder / "7.tmp").write_text("8000")
    assert stored_times(folder) == {5_000, 6_000, 6_002}
    (folder / "1").write_text("6oo2")
    with pytest.raises(CheckpointError, match=str(folder / "1")):
        stored_times(folder)
