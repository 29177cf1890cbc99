"""The function `if`: its condition, its choice, and what it reads."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Event, ExpressionError
from ingest.decorating.choices import OnMissing
from ingest.expressions import Condition, ExpressionSyntaxError, Template


def rendered(text: str, **attributes: bytes) -> bytes:
    return Template.parse(text).render(Event(b"", attributes))


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("%{if()}", 3, "if(condition, then, otherwise) takes 3 arguments, not 0"),
        ("%{if(exists(a))}", 3, "takes 3 arguments, not 1"),
        ("%{if(exists(a), 1)}", 3, "takes 3 arguments, not 2"),
        ("%{if(exists(a), 1, 2, 3)}", 3, "takes 3 arguments, not 4"),
        ("%{if(a == 1, 1, 2)}", 6, "write %{a} for the value"),
        ("%{if(%{a} = 1, 1, 2)}", 11, 'did you mean "=="'),
        ("%{if(exists(a) 1, 2)}", 16, 'expected "and", "or" or "," after the condition of if, found "1"'),
        ("%{if(exists(a), 1, 2}", 21, 'expected "," or ")"'),
        ("%{if(%{a} matches '(', 1, 2)}", 20, "bad pattern"),
        ("%{if(%{lowr(a)} == 'x', 1, 2)}", 8, 'did you mean "lower"'),
        ("%{if(exists(a), lowr(a), 2)}", 17, 'did you mean "lower"'),
        ("%{if(1 == 1 and %{1 / 0} == 1, 1, 2)}", 21, "division by zero"),
        ("%{ifelse(exists(a), 1, 2)}", 3, 'did you mean "if"'),
        ("%{" + "if(exists(a), 1, " * 41, 6 + 17 * 39, "nested"),
    ],
)
def test_misuse_is_an_error_with_the_column(text: str, column: int, says: str) -> None:
    with pytest.raises(ExpressionSyntaxError) as raised:
        Template.parse(text)
    assert says in raised.value.message
    assert column == raised.value.column


@given(st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from([b"", b"1", b"x", b"20"])))
def test_choice_follows_the_condition(attributes: dict[str, bytes]) -> None:
    for condition in ("exists(a)", "%{a} == %{b}", "%{a} > 5 or not exists(b)", "(%{a} in ('x', 20)) and exists(b)"):
        holds = Condition.parse(condition).holds(Event(b"", dict(attributes)))
        assert (b"yes" if holds else b"no") == rendered(f"%{{if({condition}, 'yes', 'no')}}", **attributes)


def test_other_argument_is_not_evaluated() -> None:
    text = "%{if(%{n} == 0, 'none', div(100, n))}"
    assert rendered(text, n=b"0") == b"none"
    assert rendered(text, n=b"7") == b"14"
    with pytest.raises(ExpressionError):
        rendered(text, n=b"x")


def test_condition_that_fails_fails_the_event() -> None:
    with pytest.raises(ExpressionError) as raised:
        rendered("%{if(%{div(1, n)} == 1, 1, 2)}", n=b"0")
    assert raised.value.code == "division_by_zero"


def test_absent_choice_is_absent() -> None:
    assert rendered("%{if(exists(a), a, b)}") == b""
    assert rendered("%{default(if(exists(a), a, b), 'none')}") == b"none"
    assert rendered("%{1 + if(exists(a), a, b)}") == b""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("%{if(%{n} == 1, a, b)}", 'no attribute "a"'),
        ("%{if(%{n} == 2, a, b)}", 'no attribute "b"'),
        ("%{lower(if(%{n} == 2, a, concat(n, lower(b))))}x", None),
        ("%{if(%{n} == 2, a, lower(b))} %{n}", 'no attribute "b"'),
        ("%{if(exists(zz), a, key)}", "no key"),
        ("%{if(exists(zz), 1, 2)}", None),
        ("%{if(exists(zz), zz, n)}", None),
    ],
)
def test_on_missing_names_what_the_choice_lacks(text: str, says: str | None) -> None:
    render = Template.parse(text).renderer(OnMissing.ERROR)
    event = Event(b"", {"n": b"1"})
    if says is None:
        assert render(event)
    else:
        with pytest.raises(ExpressionError, match=says):
            render(event)


def test_references_are_those_of_the_condition_and_both_arguments() -> None:
    template = Template.parse("%{lower(if(%{a} == 1 and %{offset} > 2, b, if(exists(c), host, 'x')))}")
    assert {"attribute:a", "attribute:b", "attribute:c", "offset", "host"} == template.references
    assert template.constant is None
    assert template == pickle.loads(pickle.dumps(template))  # noqa: S301 - our own bytes


def test_condition_that_reads_nothing_is_a_warning() -> None:
    template = Template.parse("%{if(1 == 1, a, b)}")
    assert [each.message for each in template.lint_warnings] == ["the condition of if is the same for every event"]
    assert {"attribute:a"} == template.references


def test_choice_between_numbers_compares_as_a_number() -> None:
    event = Event(b"", {"n": b"9.0"})
    assert Condition.parse("%{if(exists(n), 9, 10)} == %{n}").holds(event)
    assert not Condition.parse("%{if(exists(n), '9', 10)} == %{n}").holds(event)
    assert rendered("%{if(exists(n), n, 9) + 1}") == b"10"
