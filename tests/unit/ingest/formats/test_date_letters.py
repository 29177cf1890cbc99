"""The letters of dates: one table for writing, reading and Java's patterns."""

import re
from datetime import UTC, datetime

import pytest

from ingest.formats.date_letters import CALENDAR, JAVA_READ, JAVA_WRITTEN, LETTERS, READ, WRITTEN

TIME = datetime(2011, 6, 8, 15, 4, 9, tzinfo=UTC)


def test_each_letter_stands_once_and_does_something():
    assert len({each.letter for each in LETTERS}) == len(LETTERS)
    assert WRITTEN.keys() | READ.keys() == {each.letter for each in LETTERS}
    assert WRITTEN.keys() - CALENDAR.keys() == {"s", "t"}


@pytest.mark.parametrize("letter", sorted(CALENDAR.keys() & READ.keys()))
def test_what_a_letter_writes_it_reads(letter):
    assert re.fullmatch(READ[letter], CALENDAR[letter](TIME).decode())


@pytest.mark.parametrize(
    ("field", "written", "read"),
    [("yyyy", "2011", "%Y"), ("H", "15", "%H"), ("h", "3", "%I"), ("MMM", "Jun", "%b"), ("DDD", "159", "%j")],
)
def test_a_field_of_java_is_a_letter(field, written, read):
    assert CALENDAR[JAVA_WRITTEN[field][1]](TIME).decode() == written
    assert JAVA_READ[field] == read


def test_width_matters_only_where_a_date_is_written():
    assert {field for field in ("d", "M", "m", "s", "SSS") if field in JAVA_READ and field not in JAVA_WRITTEN} == {
        "d", "M", "m", "s", "SSS",
    }  # fmt: skip
