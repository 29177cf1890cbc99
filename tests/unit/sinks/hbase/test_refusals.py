"""What HBase can never write."""

from collections.abc import Callable
from functools import partial

import pytest

from ingest.api import MAX_FAMILY_BYTES, MAX_ROW_KEY_BYTES, MAX_TIME_MS
from sinks.hbase.refusals import RefusalError, check_cell_bytes, check_family, check_row, check_time, family_bytes


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (partial(check_row, b""), "row key of 0 bytes"),
        (partial(check_row, b"r" * (MAX_ROW_KEY_BYTES + 1)), "row key of 32768 bytes; HBase allows 1 to 32767"),
        (partial(check_time, -1), "-1 is not a valid timestamp"),
        (partial(check_time, MAX_TIME_MS + 1), "is not a valid timestamp"),
        (partial(check_family, b""), "is not a family"),
        (partial(check_family, b"f:q"), '"f:q" is not a family'),
        (partial(check_family, b"f" * (MAX_FAMILY_BYTES + 1)), "is not a family"),
        (partial(family_bytes, b"f"), '"f" is not a column; write family:qualifier'),
        (partial(family_bytes, b":q"), '":q" is not a column'),
        (partial(family_bytes, b"f" * (MAX_FAMILY_BYTES + 1) + b":q"), "family of 128 bytes; HBase allows 1 to 127"),
        (partial(check_cell_bytes, 11, 10), "cell too large: 11 bytes with row key and column; at most 10"),
    ],
)
def test_refused(check: Callable[[], object], message: str) -> None:
    with pytest.raises(RefusalError, match=message):
        check()


def test_largest_allowed() -> None:
    check_row(b"r" * MAX_ROW_KEY_BYTES)
    check_time(MAX_TIME_MS)
    check_family(b"f" * MAX_FAMILY_BYTES)
    check_cell_bytes(10, 10)
    assert family_bytes(b"f" * MAX_FAMILY_BYTES + b":q:r") == MAX_FAMILY_BYTES
    assert family_bytes(b"f:") == 1
