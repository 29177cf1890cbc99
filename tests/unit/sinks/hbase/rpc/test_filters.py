"""The message of HBase's filter for patterns."""

import pytest

from ingest.api import FuzzyPattern
from sinks.hbase.protobuf import Message
from sinks.hbase.rpc.filters import fuzzy_filter


def pairs(*patterns: str) -> list[tuple[bytes, bytes]]:
    message = Message(fuzzy_filter([FuzzyPattern.parse(pattern) for pattern in patterns]))
    assert message.data(1) == b"org.apache.hadoop.hbase.filter.FuzzyRowFilter"
    found = Message(message.data(2))
    assert found.flag(2)
    return [(pair.data(1), pair.data(2)) for pair in found.messages(1)]


@pytest.mark.parametrize(
    ("pattern", "key", "mask"),
    [
        ("a?b", b"a\0b\0", b"\0\1\0\1"),
        ("abc", b"abc\0", b"\0\0\0\1"),
        ("?a???", b"\0a\0", b"\1\0\1"),
        ("???", b"\0", b"\1"),
        ("", b"\0", b"\1"),
    ],
)
def test_pattern_ends_with_one_position_of_any_byte(pattern: str, key: bytes, mask: bytes) -> None:
    assert pairs(pattern) == [(key, mask)]


def test_all_patterns_are_in_one_filter() -> None:
    assert pairs("a", "?b") == [(b"a\0", b"\0\1"), (b"\0b\0", b"\1\0\1")]
