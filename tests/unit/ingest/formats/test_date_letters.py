"""The table of date letters: writing, parsing and Java's patterns."""

import re
from datetime import UTC, datetime

import pytest

from ingest.formats.date_letters import CALENDAR, JAVA_READ, JAVA_WRITTEN, LETTERS, READ, WRITTEN

TIME = datetime(2011, 6, 8, 15, 4, 9, tzinfo=UTC)


def test_each_letter_is_listed_once_and_used():
    assert len({each.letter for each in LETTERS}) == len(LETTERS)
    assert WRITTEN.keys() | READ.keys() == {each.letter for each in LETTERS}
    assert WRITTEN.keys() - CALENDAR.keys() == {"s", "t"}


@pytest.mark.parametrize("letter", sorted(CALENDAR.keys() & READ.keys()))
def test_letter_parses_what_it_writes(letter):
    assert re.fullmatch(READ[letter], CALENDAR[letter](TIME).decode())


@pytest.mark.parametrize(
    ("field", "written", "read"),
    [("yyyy", "2011", "%Y"), ("H", "15", "%H"), ("h", "3", "%I"), ("MMM", "Jun", "%b"), ("DDD", "159", "%j")],
)
def test_field_of_java_has_a_letter(field, written, read):
    assert CALENDAR[JAVA_WRITTEN[field][1]](TIME).decode() == written
    assert JAVA_READ[field] == read


def test_number_of_digits_matters_only_for_writing():
    assert {field for field in ("d", "M", "m", "s", "SSS") if field in JAVA_READ and field not in JAVA_WRITTEN} == {
        "d", "M", "m", "s", "SSS",
    }  # fmt: skip
