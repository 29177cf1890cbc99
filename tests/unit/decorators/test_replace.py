"""The replace decorator; the tests of patterns cover replacements and groups."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.replace import Replace
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("options", "before", "after"),
    [
        ("text: /, replacement: ''", b"/a/b", b"ab"),
        ("text: a, replacement: aa", b"aXa", b"aaXaa"),
        (r"text: '\', replacement: '\1'", rb"a\b", rb"a\1b"),
        ("text: é, replacement: e", "né\udcff".encode("utf-8", "surrogateescape"), b"ne\xff"),
        ("text: x, replacement: y", b"abc", b"abc"),
        ("text: a, replacement: b, max_places: 2", b"aaa", b"bba"),
        ("pattern: 'a+', replacement: b", b"aaXa", b"bXb"),
        ("pattern: 'a+', replacement: b, max_places: 1", b"aaXa", b"bXa"),
        (r"pattern: '(?i)Pass=(\S)\S*', replacement: 'pass=\1***'", b"x PASS=secret y", b"x pass=s*** y"),
        (r"pattern: '[^\x20-\x7e]', replacement: '?'", b"a\0\xffb\n", b"a??b?"),
    ],
)
def test_matches_are_replaced(attributes_after, options, before, after):
    assert attributes_after(Replace, f"{{source: a, {options}}}", attributes={"a": before}) == {"a": after}


@given(st.text("ab/.\\").map(str.encode), st.sampled_from(["a", "/", "."]), st.text("xa\\", max_size=3))
def test_text_is_replaced_like_its_pattern(body, text, replacement):
    results = []
    for options in (
        {"text": text, "replacement": replacement},
        {"pattern": f"[{text}]", "replacement": replacement.replace("\\", r"\\")},
    ):
        event = event_of(body)
        Replace(settings_of(Replace.settings_class(), json.dumps(options))).decorate(event)
        results.append(event.body)
    assert results == [body.replace(text.encode(), replacement.encode())] * 2


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{replacement: a}", [("conflict", ())]),
        ("{text: a, pattern: b, replacement: c}", [("conflict", ())]),
        ("{text: a}", [("missing", ("replacement",))]),
        ("{text: '', replacement: c}", [("string_too_short", ("text",))]),
        ("{pattern: '[', replacement: c}", [("bad_pattern", ("pattern",))]),
        (r"{pattern: a, replacement: '\1'}", [("bad_pattern", ())]),
        ("{text: a, replacement: b, max_places: 0}", [("greater_than_equal", ("max_places",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Replace, settings) == expected
