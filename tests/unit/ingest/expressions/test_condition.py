"""Conditions: comparisons of bytes and numbers, and Boolean operators."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Event, ExpressionError, Origin, Priority
from ingest.expressions import CONDITION_EXAMPLES, Condition, ConditionExample, ExpressionSyntaxError


def event(**attributes: bytes) -> Event:
    return Event(
        b"GET /index 200",
        attributes,
        timestamp_ms=1_309_275_728_123,
        host="web1",
        priority=Priority.DEBUG,
        origin=Origin("ticks", 3, 7),
    )


def holds(text: str, **attributes: bytes) -> bool:
    return Condition.parse(text).holds(event(**attributes))


TRUE = [
    "%{priority} == 'DEBUG'",
    "%{priority} != 'INFO'",
    '%{host} == "web1"',
    "'web1' == %{host}",
    "%{a} == 'x'",
    "%{a} != 'y'",
    "%{a} < 'y'",
    "%{a} <= 'x'",
    "%{a} > 'w'",
    "%{a} >= 'x'",
    "%{a} == %{same}",
    "%{n} == 7",
    "%{n} == 7.0",
    "%{n} < 10",
    "not %{n} < '10'",
    "%{n} >= -1",
    "%{d} > 0.4",
    "%{d} == 0.5",
    "%{partition} == 3",
    "%{offset} == %{n}",
    "%{offset} == '7'",
    "%{timestamp} > 1309275728122",
    "%{a} != 7",
    "not %{a} == 7",
    "not %{a} < 7",
    "not %{a} >= 7",
    "%{absent} == ''",
    "%{absent} != 7",
    "%{a} in ('w', 'x')",
    "%{a} not in ('y')",
    "%{n} in (1, 7.0)",
    "%{n} in ('7')",
    "%{n} in ('x', 7)",
    "%{a} not in (1, 2)",
    "%{body} matches ' [0-9]{3}$'",
    "%{body} not matches '^POST'",
    "%{absent} matches '^$'",
    "%{body} contains ' /index'",
    "%{body} contains ''",
    "%{body} not contains 'POST'",
    "%{body} starts_with 'GET '",
    "%{body} starts_with %{absent}",
    "%{a} starts_with %{same}",
    "%{body} not starts_with 'get'",
    "%{lower(body)} starts_with 'get'",
    "%{body} ends_with 200",
    "%{body} not ends_with 'GET'",
    "%{a} not ends_with 'xx'",
    "%{timestamp} ends_with '8123'",
    "'.example.com' ends_with '.com'",
    "%{absent} not contains 'x'",
    "exists(a)",
    "exists('a')",
    "exists(%{a})",
    "exists(%{'2hb_cf:q'})",
    "exists(empty)",
    "exists(host)",
    "exists(%{lower(a)})",
    "not exists(absent)",
    "not exists('host')",
    "not exists(key)",
    "not exists(%{lower(absent)})",
    "exists(absent) or exists(a) and not exists(absent)",
    "(exists(absent) or exists(a)) and not (exists(absent) or exists(key))",
    "exists(absent) or exists(key) or exists(a)",
    "exists(a) and exists(n) and exists(d)",
    "not not exists(a)",
    "%{lower(priority)} == 'debug'",
    "%{mod(offset, 2)} == 1",
    "%{length(a)} < %{n}",
    "%{date('%Y')} == 2011",
    "5 < 6",
    "'5' != '5.0'",
]


@pytest.mark.parametrize("text", TRUE)
def test_condition_is_true(text: str) -> None:
    of = event(a=b"x", same=b"x", n=b"7", d=b"0.50", empty=b"", **{"2hb_cf:q": b"v"})
    assert Condition.parse(text).holds(of) is True
    assert Condition.parse(f"not ({text})").holds(of) is False


@pytest.mark.parametrize("example", CONDITION_EXAMPLES, ids=lambda example: example.written)
def test_example_of_the_reference(example: ConditionExample) -> None:
    attributes = {name: value.encode() for name, value in example.attributes.items()}
    assert holds(example.written, **attributes) is example.holds


@pytest.mark.parametrize("value", [b"", b"x", b"7x", b" 7", b"\xff", b"0x7", b"1_0", b"nan", b"inf", b"9" * 101])
def test_text_that_is_not_a_number_has_no_order_and_equals_no_number(value: bytes) -> None:
    results = [holds(f"%{{v}} {operator} 7", v=value) for operator in ("==", "!=", "<", "<=", ">", ">=")]
    assert results == [False, True, False, False, False, False]


def test_quoted_text_is_compared_as_bytes() -> None:
    assert holds("%{v} > 'z'", v=b"\xff") is True


def test_bad_pattern_has_the_column_inside_the_condition() -> None:
    with pytest.raises(ExpressionSyntaxError) as raised:
        Condition.parse("%{a} matches 'ab('")
    assert raised.value.column == 17


def test_unknown_function_has_its_column() -> None:
    with pytest.raises(ExpressionSyntaxError) as raised:
        Condition.parse("exists(a) and %{lowr(a)} == 'x'")
    assert (raised.value.column, raised.value.message) == (17, 'unknown function "lowr"; did you mean "lower"?')


def test_function_that_fails_fails_the_event() -> None:
    with pytest.raises(ExpressionError):
        holds("%{add(a, 1)} == 2", a=b"x")


def test_references_are_all_names_it_reads() -> None:
    condition = Condition.parse("%{x} == 'a' or exists('host') and %{offset} in (1) and %{lower(y)} matches 'z'")
    assert condition.references == {"attribute:x", "attribute:host", "offset", "attribute:y"}


def test_equality_and_pickling_use_text_and_zone() -> None:
    condition = Condition.parse("%{date('%H')} == 0", "Asia/Tokyo")
    again = pickle.loads(pickle.dumps(condition))  # noqa: S301 - our own bytes
    assert again == condition
    assert hash(again) == hash(condition)
    assert again != Condition.parse("%{date('%H')} == 0")
    assert again.holds(event()) is True
    assert str(again) == "%{date('%H')} == 0"


ATOMS = st.sampled_from(
    ["%{a} == 'x'", "%{a} < 'm'", "%{n} > 5", "%{n} in (1, 'x', 9)", "exists(a)", "%{a} matches '^.$'", "%{n} == %{a}"]
)
VALUES = st.one_of(st.none(), st.binary(max_size=3), st.integers(0, 12).map(lambda number: b"%d" % number))


@given(ATOMS, ATOMS, ATOMS, VALUES, VALUES)
def test_conditions_obey_boolean_laws(p: str, q: str, r: str, a: bytes | None, n: bytes | None) -> None:
    of = Event(b"", {name: value for name, value in (("a", a), ("n", n)) if value is not None})

    def true(text: str) -> bool:
        return Condition.parse(text).holds(of)

    assert true(f"not ({p} and {q})") == true(f"not {p} or not {q}")
    assert true(f"not ({p} or {q})") == true(f"not {p} and not {q}")
    assert true(f"{p} and ({q} or {r})") == true(f"{p} and {q} or {p} and {r}")
    assert true(f"{p} or {q} and {r}") == true(f"({p} or {q}) and ({p} or {r})")
    assert true(f"{p} and {q} and {r}") == (true(p) and true(q) and true(r))
    assert true(f"{p} or {q} or {r}") == (true(p) or true(q) or true(r))
    assert true(f"not not ({p})") == true(p)


@given(st.sampled_from(["'x'", "7", "%{b}"]), VALUES, VALUES)
def test_equal_is_the_negation_of_not_equal(right: str, a: bytes | None, b: bytes | None) -> None:
    of = Event(b"", {name: value for name, value in (("a", a), ("b", b)) if value is not None})
    equal = Condition.parse(f"%{{a}} == {right}").holds(of)
    assert Condition.parse(f"%{{a}} != {right}").holds(of) is not equal


@given(st.text())
def test_any_text_compiles_or_is_a_syntax_error(text: str) -> None:
    try:
        Condition.parse(text).holds(event())
        column = 1
    except ExpressionSyntaxError as error:
        column = error.column
    assert 1 <= column <= len(text) + 1
