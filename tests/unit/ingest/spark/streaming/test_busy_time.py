"""Times of blocks are added."""

import pytest

from ingest.spark.streaming.busy_time import BusyTime


def test_blocks_that_ended_and_that_run_count():
    now = [100.0]
    busy = BusyTime(lambda: now[0])
    assert busy.seconds() == 0
    with busy.running():
        now[0] += 2
        assert busy.seconds() == 2
        with busy.running():
            now[0] += 3
            assert busy.seconds() == 8
    now[0] += 10
    assert busy.seconds() == 8


def test_block_that_fails_counts():
    now = [100.0]
    busy = BusyTime(lambda: now[0])

    def fail() -> None:
        now[0] += 2
        raise ValueError

    with pytest.raises(ValueError), busy.running():
        fail()
    assert busy.seconds() == 2
