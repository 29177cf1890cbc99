"""The log of acknowledged micro-batches."""

from pathlib import Path

import pytest

from ingest.api import IntegrityError
from ingest.durable.append_log import AppendLog
from ingest.spark.streaming.batch_log import DAY_MS, FORMAT, BatchLog, LoggedBatch

NOON_MS = 1_763_899_200_000  # 2025-11-23T12:00:00Z


def batch(number: int, time_ms: int) -> LoggedBatch:
    return LoggedBatch(number, time_ms, {("t", 0): (number, number + 1), ("u.v", 11): (5, 9)}, {"t": "id-of-t"})


def logged(folder: Path, *batches: LoggedBatch, keep_ms: int = 7 * DAY_MS) -> None:
    log = BatchLog(folder, keep_ms)
    for each in batches:
        log.append(each)
    log.close()
    log.close()


def test_batch_is_the_same_after_it_was_read():
    assert LoggedBatch.from_json(batch(3, NOON_MS).to_json()) == batch(3, NOON_MS)


def test_empty_log(tmp_path: Path):
    log = BatchLog(tmp_path / "missing")
    assert (list(log.batches()), log.newest()) == ([], None)
    assert not (tmp_path / "missing").exists()


def test_batches_of_several_days_and_processes_in_order(tmp_path: Path):
    batches = [batch(0, NOON_MS), batch(1, NOON_MS + 2), batch(2, NOON_MS + DAY_MS), batch(0, NOON_MS + 2 * DAY_MS)]
    for each in batches:
        logged(tmp_path, each)
    log = BatchLog(tmp_path)
    assert (list(log.batches()), log.newest()) == (batches, batches[-1])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "2025-11-23.batches",
        "2025-11-24.batches",
        "2025-11-25.batches",
    ]


def test_batch_that_ran_again_counts_once(tmp_path: Path):
    again = LoggedBatch(0, NOON_MS, {("t", 0): (0, 2)})
    logged(tmp_path, batch(0, NOON_MS), again)
    logged(tmp_path, batch(1, NOON_MS + 2))
    assert list(BatchLog(tmp_path).batches()) == [again, batch(1, NOON_MS + 2)]


def test_line_that_a_suspended_driver_appends_late_changes_no_order(tmp_path: Path):
    before, late, after = batch(0, NOON_MS), batch(1, NOON_MS + 2), batch(2, NOON_MS + 4)
    again = LoggedBatch(1, NOON_MS + 2, {("t", 0): (1, 2)})
    logged(tmp_path, before, late, after, again)
    log = BatchLog(tmp_path)
    assert (list(log.batches()), log.newest()) == ([before, again, after], after)


def test_file_that_two_drivers_start_is_read(tmp_path: Path):
    logged(tmp_path, batch(0, NOON_MS))
    late = AppendLog(tmp_path / "2025-11-23.batches")
    late.append(FORMAT)
    late.append(batch(0, NOON_MS).to_json())
    late.close()
    assert list(BatchLog(tmp_path).batches()) == [batch(0, NOON_MS)]


def test_first_batch_of_a_day_removes_days_that_ended_before_the_limit(tmp_path: Path):
    days = [batch(number, NOON_MS + number * DAY_MS) for number in range(6)]
    logged(tmp_path, *days[:5], keep_ms=5 * DAY_MS)
    assert list(BatchLog(tmp_path).batches()) == days[:5]
    logged(tmp_path, days[5], keep_ms=2 * DAY_MS)
    assert list(BatchLog(tmp_path).batches()) == days[3:]


def test_newest_batch_of_a_day_that_was_torn(tmp_path: Path):
    logged(tmp_path, batch(0, NOON_MS), batch(1, NOON_MS + DAY_MS))
    newest = tmp_path / "2025-11-24.batches"
    newest.write_bytes(newest.read_bytes()[:-1])
    assert BatchLog(tmp_path).newest() == batch(0, NOON_MS)


def test_other_format_is_refused_by_readers_and_writer(tmp_path: Path):
    logged(tmp_path, batch(0, NOON_MS))
    path = tmp_path / "2025-11-23.batches"
    path.unlink()
    newer = AppendLog(path)
    newer.append(b"attr2hbase batches 2")
    newer.close()
    with pytest.raises(IntegrityError, match="batches 2"):
        list(BatchLog(tmp_path).batches())
    with pytest.raises(IntegrityError, match="batches 2"):
        logged(tmp_path, batch(1, NOON_MS + 2))
