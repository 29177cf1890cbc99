"""Committed positions as text, and the later of two offsets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import IntegrityError
from sinks.owning.committed_position import CommittedPosition, FormerOwners, former_owners, later_offsets

OFFSETS = {"t": {"0": 7}}
TEXTS = [
    "",
    "{",
    "[]",
    "7",
    "null",
    "{}",
    '{"time_ms": 7}',
    '{"offsets": {}}',
    '{"time_ms": "7", "offsets": {}}',
    '{"time_ms": 7.0, "offsets": {}}',
    '{"time_ms": true, "offsets": {}}',
    '{"time_ms": 7, "offsets": []}',
    '{"time_ms": 7, "offsets": {}, "topic_ids": []}',
    '{"time_ms": 7, "offsets": {}, "topic_ids": null}',
]
"""What is no committed position."""


@pytest.mark.parametrize(
    "committed",
    [CommittedPosition(0, {}), CommittedPosition(5_000, OFFSETS), CommittedPosition(-1, OFFSETS, {"t": "id"})],
)
def test_committed_position_is_read_as_it_was_written(committed: CommittedPosition) -> None:
    assert CommittedPosition.of(committed.to_text(), "table") == committed
    assert former_owners(FormerOwners({"p": committed}).to_text(), "table") == {"p": committed}


def test_committed_position_has_one_text() -> None:
    """It is replaced only if it is still the text that was read."""
    one = CommittedPosition(5, {"t": {"0": 1, "1": 2}, "u": {}}, {"t": "a", "u": "b"})
    other = CommittedPosition(5, {"u": {}, "t": {"1": 2, "0": 1}}, {"u": "b", "t": "a"})
    assert one.to_text() == other.to_text()
    assert (
        CommittedPosition(5, OFFSETS).to_text()
        == '{"after_ms":-1,"format":2,"offsets":{"t":{"0":7}},"time_ms":5,"topic_ids":{}}'
    )


@pytest.mark.parametrize("text", TEXTS)
def test_other_text_is_no_committed_position(text: str) -> None:
    with pytest.raises(IntegrityError, match='the committed position of table "a" cannot be read'):
        CommittedPosition.of(text, "a")
    with pytest.raises(IntegrityError, match='the record of former owners of table "a" cannot be read'):
        former_owners(f'{{"positions": {{"p": {text}}}}}', "a")


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "null"])
def test_other_text_is_no_record_of_former_owners(text: str) -> None:
    with pytest.raises(IntegrityError, match='the record of former owners of table "a" cannot be read'):
        former_owners(text, "a")


def test_table_without_former_owners() -> None:
    assert former_owners(None, "a") == former_owners('{"format": 1, "positions": {}}', "a") == {}


@pytest.mark.parametrize(
    ("one", "other", "later"),
    [
        ({"t": {"0": 7, "1": 3}}, {"t": {"0": 5, "1": 4}}, {"t": {"0": 7, "1": 4}}),
        ({"t": {"0": 7}}, {"t": {"1": 4}, "u": {"0": 1}}, {"t": {"0": 7, "1": 4}, "u": {"0": 1}}),
        ({"n": 9}, {"n": 4}, {"n": 9}),
        ({}, {"n": 4}, {"n": 4}),
        ({"n": 4}, {}, {"n": 4}),
        # a source of a plugin may have other values: there the second one counts, whatever it is
        ({"n": "b"}, {"n": "a"}, {"n": "a"}),
        ({"n": 9}, {"n": "a"}, {"n": "a"}),
        ({"n": "a"}, {"n": 4}, {"n": 4}),
        ({"t": {"0": 7}}, {"t": 4}, {"t": 4}),
        ({"t": 9}, {"t": {"0": 7}}, {"t": {"0": 7}}),
    ],
)
def test_later_offsets(one: dict[str, object], other: dict[str, object], later: dict[str, object]) -> None:
    assert later_offsets(one, other) == later


PLACES = st.dictionaries(st.sampled_from("tu"), st.dictionaries(st.sampled_from("012"), st.integers(0, 9)))


@given(PLACES, PLACES)
def test_later_offsets_are_those_of_every_place(
    one: dict[str, dict[str, int]], other: dict[str, dict[str, int]]
) -> None:
    found = later_offsets(one, other)
    assert found == later_offsets(other, one)
    places = {(name, part) for each in (one, other) for name, parts in each.items() for part in parts}
    flat = {(name, part): offset for name, parts in found.items() for part, offset in parts.items()}  # type: ignore[attr-defined]
    assert flat == {
        (name, part): max(each[name][part] for each in (one, other) if part in each.get(name, {}))
        for name, part in places
    }
