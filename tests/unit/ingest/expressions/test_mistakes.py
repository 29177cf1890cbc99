"""All syntax errors of a template are found, each once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.expressions import Template
from ingest.expressions.grammar import ExpressionSyntaxError
from ingest.expressions.mistakes import further_mistakes


def columns(text):
    try:
        Template.parse(text)
    except ExpressionSyntaxError as first:
        return [first.column, *(error.column for error in further_mistakes(text, first, Template.parse))]
    return []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%{key}", []),
        ("%{a", [1]),
        ("%", [1]),
        ("100% of %{x y}", [4, 9]),
        ("%{a 'b}%{c d}", [5]),  # the end of the tag is unknown
        ("%{upper(nope(%{b}))}%{}", [9, 21]),
        ("%{upper(%{b c}, 1)}%{f g}", [9, 20]),
        ("%{}" * 30, list(range(1, 63, 3))),
    ],
)
def test_columns_of_all_errors(text, expected):
    assert sorted(columns(text)) == expected


@given(st.text(alphabet="%{}()',ab t", max_size=40))
def test_search_terminates_with_columns_inside_the_text(text):
    assert all(1 <= column <= len(text) + 1 for column in columns(text))
