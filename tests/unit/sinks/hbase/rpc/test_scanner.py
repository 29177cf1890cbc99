"""The messages of a scanner."""

import pytest

from ingest.api import ALL_TIMES, MAX_TIME_MS, TimeRange
from sinks.hbase.rpc.scanner import Bounds, scan_message, time_range_message
from sinks.hbase.rpc.wire import Message


@pytest.mark.parametrize("times", [TimeRange(5), TimeRange(0, 7), TimeRange(5, 7), TimeRange(MAX_TIME_MS)])
def test_time_range_has_both_ends(times: TimeRange):
    message = Message(scan_message(Bounds(b"a", b"b"), None, 3, times)).message(6)
    assert (message.number(1), message.number(2)) == (times.from_ms, times.to_ms)


def test_scan_of_all_times_has_no_time_range():
    assert time_range_message(5, ALL_TIMES) == b""
    assert not Message(scan_message(Bounds(b"", b""), [b"f"], 1)).has(6)
