"""Times that users read and write."""

import pytest

from ingest.api import ConfigError
from ingest.formats.times import moment, moment_of


@pytest.mark.parametrize(
    ("timestamp_ms", "shown"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1308748686334, "2011-06-22T13:18:06.334Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (2**63 - 1, str(2**63 - 1)),
    ],
)
def test_time_is_shown_as_readable_text(timestamp_ms, shown):
    assert moment(timestamp_ms) == shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2011-06-22T13:18:06.334Z", 1308748686334),
        ("1970-01-02", 86_400_000),
        ("1970-01-01T01:00:00+01:00", 0),
    ],
)
def test_time_is_parsed(text, expected):
    assert moment_of(text) == expected


def test_invalid_time_is_rejected():
    with pytest.raises(ConfigError, match='"yesterday" is not a time'):
        moment_of("yesterday")
