"""Expressions that only characters can have find the same in values of ASCII, for which they are compiled for bytes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.expressions import Pattern
from ingest.expressions.matching import expression_of, tried_once_a_line

PIECES = [
    *("a", "k", "[^\\n\\u2028]", "[a\\u2028]", "\\u0041", "[\\u0041-\\u00e9]", "\\u00e9", "é", "[éè]", "(?u:\\b)"),
    *("(?u:(?!\\b))", "\\\\u", "*", "?", "|", "(", ")", "\\w", ".", "\\x85"),
]


def spans(found):
    return None if found is None else found.span()


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join), st.text("akAK\\u \n", max_size=8))
def test_search_in_ascii_is_that_in_characters(text, value):
    try:
        in_text = re.compile(text)
    except re.error:
        return
    expression = expression_of(text)
    if expression.in_ascii is not None and expression.in_bytes is None:
        assert spans(in_text.search(value)) == spans(expression.in_ascii.search(value.encode()))


@pytest.mark.parametrize("text", ["[^\\n\\u2028]+", "(?a)(?u:\\b)\\w", "é|a", "(?ai)k|é"])
def test_value_of_ascii_needs_no_decoding(text):
    assert expression_of(text).in_ascii is not None


@pytest.mark.parametrize("text", ["(?i)é|\\u212a", "(?i:\\u212a)", "(?u:\\w)é", "\\N{KELVIN SIGN}a"])
def test_others_work_on_characters(text):
    assert expression_of(text).in_ascii is None


def test_case_of_ascii_is_found_in_letters_beyond_it():
    assert Pattern.parse("(?i)\\u212a").search(b"k")[0] == b"k"


@pytest.mark.parametrize(
    ("text", "tried"),
    [
        (".*a", "(?<!.).*a"),
        ("(?s).+a|b", "(?s)(?<!.).+a|b"),
        (r"[^\n\r\x85\u2028]*a", r"(?<![^\n\r\x85\u2028])[^\n\r\x85\u2028]*a"),
        (r"(?a)[^\n\]]+a", r"(?a)(?<![^\n\]])[^\n\]]+a"),
        ("[^a]*a", "[^a]*a"),
        ("a.*", "a.*"),
    ],
)
def test_expression_that_begins_with_any_is_tried_once_a_line(text, tried):
    assert tried_once_a_line(text) == tried


@given(st.text("ab\n\r", max_size=12))
def test_expression_that_is_tried_once_a_line_finds_the_same(value):
    for text in (r"[^\n\r]*b", r"[^\n\r]+?b|a", r"[^\n\r]*(a)b"):
        assert spans(re.search(text, value)) == spans(re.search(tried_once_a_line(text), value))
