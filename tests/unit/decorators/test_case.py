"""The case decorator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.case import Case
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("to", "before", "after"),
    [
        ("upper", b"warn-7", b"WARN-7"),
        ("upper", "größe".encode(), "GRÖSSE".encode()),
        ("upper", b"a\xff\xc3", b"A\xff\xc3"),
        ("lower", b"WARN", b"warn"),
        ("lower", "ÀÉ\udcff".encode("utf-8", "surrogateescape"), "àé\udcff".encode("utf-8", "surrogateescape")),
        ("lower", b"", b""),
        ("title", b"it's a TEST_case, jean-luc; 3rd \tx", b"It's A Test_Case, Jean-Luc; 3rd \tX"),
        ("title", "ÉCOLE d\u2019été É".encode(), "École D\u2019été É".encode()),
        ("title", b"'tis rock'n'roll'", b"'Tis Rock'n'roll'"),
        ("title", b"\xffab \xfeCD", b"\xffAb \xfeCd"),
    ],
)
def test_letters_change_to_the_case(attributes_after, to, before, after):
    assert attributes_after(Case, f"{{source: a, to: {to}}}", attributes={"a": before}) == {"a": after}


def test_changes_the_body_by_default():
    event = event_of("Ab", {"a": "x"})
    Case(settings_of(Case.settings_class(), "{to: upper}")).decorate(event)
    assert event == event_of("AB", {"a": "x"})


@given(st.text(st.characters(max_codepoint=127)), st.sampled_from(["upper", "lower", "title"]))
def test_ascii_path_equals_unicode_path(text, to):
    """Text with a caseless non-ASCII letter takes the path that decodes."""
    results = []
    for body in (text, f"{text} 字"):
        event = event_of(body)
        Case(settings_of(Case.settings_class(), f"{{to: {to}}}")).decorate(event)
        results.append(event.body)
    assert results[1] == results[0] + " 字".encode()


@given(st.binary(), st.sampled_from(["upper", "lower", "title"]))
def test_bytes_that_are_not_utf_8_stay(body, to):
    event = event_of(body)
    Case(settings_of(Case.settings_class(), f"{{to: {to}}}")).decorate(event)
    if not any(byte < 0x80 or byte >= 0xC2 for byte in body):
        assert event.body == body
    if body.isascii():
        assert event.body.lower() == body.lower()


@pytest.mark.parametrize(("settings", "expected"), [("{}", [("missing", ("to",))]), ("{to: Up}", [("enum", ("to",))])])
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Case, settings) == expected
