"""Durations in options of commands."""

import pytest

from ingest.api import ConfigError
from ingest.formats.durations import milliseconds, seconds


@pytest.mark.parametrize(("text", "expected_s"), [("10m", 600.0), ("7d", 604_800.0), ("1.5 s", 1.5), ("0s", 0.0)])
def test_duration(text: str, expected_s: float):
    assert seconds("--keep", text) == expected_s
    assert milliseconds("--keep", text) == expected_s * 1000


def test_milliseconds_are_rounded():
    assert milliseconds("--window", "0.0006s") == 1


@pytest.mark.parametrize("text", ["soon", "10", "-1s", "5 years", ""])
def test_wrong_duration(text: str):
    with pytest.raises(ConfigError, match=f'--keep: "{text}" is not a duration; write a number and one of ms, s'):
        milliseconds("--keep", text)
