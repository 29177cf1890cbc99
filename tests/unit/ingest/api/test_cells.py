"""What can never be written, in words, and how names stand in a message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import MAX_ROW_KEY_BYTES, MAX_TIME_MS, Delete, Durability, Put, rejection_reason, stronger
from ingest.api.notation import shown

FAMILIES = {b"f", b"g"}


@pytest.mark.parametrize(
    ("mutation", "reason"),
    [
        (Put(b"", {b"f:q": b""}, 1), "the row key has 0 bytes; 1 to 32767 are allowed"),
        (Delete(b"r" * 32_768, 1), "the row key has 32768 bytes; 1 to 32767 are allowed"),
        (Put(b"r", {b"f:q": b""}, -1), "the time -1 is not between 0 and 9223372036854775806"),
        (Delete(b"r", 2**63 - 1), "the time 9223372036854775807 is not between 0 and 9223372036854775806"),
        (Put(b"r", {}, 1), "the put has no cells"),
        (Put(b"r", {b"g:q": b"", b"f": b""}, 1), 'the column "f" has no colon'),
        (Put(b"r", {b"f:q": b"", b"\xffh:q": b""}, 1), 'there is no family "\\xffh"'),
        (Put(b"r", {b":q": b""}, 1), 'there is no family ""'),
        (Delete(b"r", 1, b"h"), 'there is no family "h"'),
        (Delete(b"r", 1, b"h", b"q"), 'there is no family "h"'),
        (Put(b"r" * MAX_ROW_KEY_BYTES, {b"f:": b"", b"g:a:b": b""}, MAX_TIME_MS), None),
        (Delete(b"r", 0), None),
        (Delete(b"r", 1, b"f", b""), None),
        (Delete(b"r", 1, b"h", b"q", exact=True), 'there is no family "h"'),
    ],
)
def test_only_rejected_mutations_have_a_reason(mutation, reason):
    assert rejection_reason(mutation, FAMILIES) == reason


@pytest.mark.parametrize("column", [(), (b"f",), (None, b"q")])
def test_exact_delete_names_a_column(column):
    with pytest.raises(ValueError, match="names no column"):
        Delete(b"r", 1, *column, exact=True)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], ""),
        ([b"a"], '"a"'),
        ([b"b", b"", "ä".encode()], '"b", "", "ä"'),
        ([b"\xff\x00"], '"\\xff\\x00"'),
        ([b"x" * 127], f'"{"x" * 127}"'),
        ([b"x" * 128], f'"{"x" * 127}"…'),
    ],
)
def test_names_in_a_message(names, expected):
    assert shown(*names) == expected


@given(st.lists(st.binary(max_size=200)))
def test_names_in_a_message_are_text_and_not_long(names):
    text = shown(*names)
    assert text.encode().decode() == text
    assert len(text) <= len(names) * (127 * 4 + len('"…", '))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("skip", "async", "async"),
        ("async", "sync", "sync"),
        ("sync", "fsync", "fsync"),
        ("fsync", "skip", "fsync"),
        ("sync", "sync", "sync"),
    ],
)
def test_stronger_durability(one: str, other: str, expected: str) -> None:
    assert stronger(Durability(one), Durability(other)) is Durability(expected)
    assert stronger(Durability(other), Durability(one)) is Durability(expected)
