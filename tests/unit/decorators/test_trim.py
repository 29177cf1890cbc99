"""The trim decorator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.trim import Trim
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("options", "before", "after"),
    [
        ("", b" \t\r\n\v\fa b\n ", b"a b"),
        ("", b" \n", b""),
        ("", "\u00a0a\u3000".encode(), "\u00a0a\u3000".encode()),
        (", end: start", b"  a  ", b"a  "),
        (", end: end", b"  a  ", b"  a"),
        (", characters: '[]'", b"[[a]b]", b"a]b"),
        (', characters: "\\0"', b"a\0b\0\0", b"a\0b"),
        (", characters: '„“'", "„a“".encode(), b"a"),
        # the last byte of “ is one of ”, too, and stays with it
        (", characters: '“'", "“a”".encode(), "a”".encode()),
        (", characters: 'é', end: end", b"\xffa\xc3\xa9\xc3\xa9", b"\xffa"),
        (", characters: 'éx', end: start", b"x\xc3\xa9\xc3", b"\xc3"),
    ],
)
def test_ends_are_trimmed(attributes_after, options, before, after):
    assert attributes_after(Trim, f"{{source: a{options}}}", attributes={"a": before}) == {"a": after}


@given(st.binary(), st.sampled_from(["both", "start", "end"]))
def test_trimming_is_idempotent_and_yields_a_substring(body, end):
    trim = Trim(settings_of(Trim.settings_class(), f"{{end: {end}}}"))
    event = event_of(body)
    trim.decorate(event)
    trimmed = event.body
    trim.decorate(event)
    assert trimmed in body
    assert event.body == trimmed
    assert end == "end" or trimmed == trimmed.lstrip()
    assert end == "start" or trimmed == trimmed.rstrip()


@given(st.text("aé字 "), st.text("aé字 ", min_size=1))
def test_characters_are_removed_as_a_whole(text, characters):
    event = event_of(text)
    Trim(settings_of(Trim.settings_class(), f"{{characters: '{characters}'}}")).decorate(event)
    assert event.body.decode() == text.strip(characters)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{characters: ''}", [("string_too_short", ("characters",))]),
        ("{end: left}", [("enum", ("end",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Trim, settings) == expected
