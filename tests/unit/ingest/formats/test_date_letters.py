"""The table of date letters: writing, parsing and Java's fields."""

import re
from datetime import UTC, datetime

import pytest

from ingest.formats.date_letters import CALENDAR, JAVA_WRITTEN, LETTERS, READ, WRITTEN

TIME = datetime(2011, 6, 8, 15, 4, 9, tzinfo=UTC)


def test_each_letter_is_listed_once_and_used():
    assert len({each.letter for each in LETTERS}) == len(LETTERS)
    assert WRITTEN.keys() | READ.keys() == {each.letter for each in LETTERS}
    assert WRITTEN.keys() - CALENDAR.keys() == {"s", "t"}


@pytest.mark.parametrize("letter", sorted(CALENDAR.keys() & READ.keys()))
def test_letter_parses_what_it_writes(letter):
    assert re.fullmatch(READ[letter], CALENDAR[letter](TIME).decode())


@pytest.mark.parametrize(
    ("field", "written"), [("yyyy", "2011"), ("H", "15"), ("h", "3"), ("MMM", "Jun"), ("DDD", "159")]
)
def test_field_of_java_has_a_letter(field, written):
    assert CALENDAR[JAVA_WRITTEN[field][1]](TIME).decode() == written
