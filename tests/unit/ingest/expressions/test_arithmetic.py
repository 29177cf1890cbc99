"""Arithmetic in tags: its syntax, its errors, and its results against fractions."""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingest.api import Event, ExpressionError
from ingest.expressions import ARITHMETIC_EXAMPLES, Condition, ExpressionSyntaxError, FunctionExample, Template
from ingest.expressions.grammar import MAX_DEPTH, MAX_OPERATORS


def rendered(text: str, **attributes: bytes) -> bytes:
    return Template.parse(text).render(Event(b"", attributes))


@pytest.mark.parametrize("shown", ARITHMETIC_EXAMPLES, ids=lambda shown: f"{shown.template} {shown.attributes}")
def test_documented_example_has_its_result(shown: FunctionExample) -> None:
    template = Template.parse(shown.template)
    if shown.error is None:
        assert str(shown.result).encode() == template.render(shown.input())
    else:
        with pytest.raises(ExpressionError) as raised:
            template.render(shown.input())
        assert shown.error == raised.value.code


class TestSyntax:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("%{a-b}", b"name"),
            ("%{a-1}", b"name"),
            ("%{-a}", b"name"),
            ("%{-}", b"name"),
            ("%{ - }", b"name"),
            ("%{concat(-, a-b)}", b"namename"),
            ("%{5}", b"name"),
            ("%{'a + b'}", b"name"),
            ("%{if}", b"name"),
            ("%{a} - %{b}", b"12 - 4"),
        ],
    )
    def test_what_was_a_name_or_text_still_is(self, text: str, expected: bytes) -> None:
        attributes = dict.fromkeys(["a-b", "a-1", "-a", "-", "5", "a + b", "if"], b"name")
        assert expected == rendered(text, a=b"12", b=b"4", **attributes)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("%{a + b * 2}", b"20"),
            ("%{(a + b) * 2}", b"32"),
            ("%{a - b - 1}", b"7"),
            ("%{a - (b - 1)}", b"9"),
            ("%{a / b / 2}", b"1.5"),
            ("%{a * b % 10}", b"8"),
            ("%{-(a) + b}", b"-8"),
            ("%{- a + b}", b"-8"),
            ("%{a - -4}", b"16"),
            ("%{a - - b}", b"16"),
            ("%{a * -(b)}", b"-48"),
            ("%{%{a} + %{'b'}}", b"16"),
            ("%{a\n+\tb}", b"16"),
            ("%{length(concat(a, b)) + 1}", b"4"),
            ("%{pad_left(a + b, 4, '0')}", b"0016"),
            ("%{a % %{b}}", b"0"),
            ("x%{a + b}y%{a - b}", b"x16y8"),
        ],
    )
    def test_precedence_is_as_everywhere(self, text: str, expected: bytes) -> None:
        assert expected == rendered(text, a=b"12", b=b"4")

    @pytest.mark.parametrize(
        ("text", "column", "says"),
        [
            ("%{a+b}", 1, "%{'a+b'}; arithmetic is inside of braces, with a blank on both sides"),
            ("%{a -1}", 1, "with a blank on both sides"),
            ("%{lower(a+1)}", 10, "with a blank on both sides"),
            ("%{a ** 2}", 1, "with a blank on both sides"),
            ("%{a + }", 7, "expected an argument"),
            ("%{a + * 2}", 7, "expected an argument"),
            ("%{(a + 1}", 9, 'expected an operator or ")"'),
            ("%{a + 1)}", 8, 'unexpected ")" in a tag'),
            ("%{2 * a-1}", 7, '"a-1" is a name'),
            ("%{2 * -a}", 7, "the attribute is written %{-a} in arithmetic"),
            ("%{2 * 1e3}", 7, '"1e3" is a name'),
            ("%{a + 'x'}", 7, '"+": "other" must be a number, not \'x\''),
            ("%{'a:b' + 1}", 3, "must be a number, not 'a:b'"),
            ("%{lower('x') * 2}", 3, "must be a number"),
            ("%{a + if(exists(b), 'x', 1)}", 21, "must be a number, not 'x'"),
            ("%{a / 0}", 5, "division by zero"),
            ("%{a % 0.0}", 5, "division by zero"),
            ("%{a / (1 - 1)}", 5, "division by zero"),
            ("%{div(a, 0)}", 3, "division by zero"),
            ("%{1 + 2 / 0}", 9, "division by zero"),
            ("%{" + "a + " * (MAX_OPERATORS + 1) + "a}", 5 + 4 * MAX_OPERATORS, "more than 40 operators"),
            ("%{" + "(" * (MAX_DEPTH + 1), 3 + MAX_DEPTH, "nested"),
            ("%{" + "- " * (MAX_DEPTH + 1) + "a}", 3 + 2 * MAX_DEPTH, "nested"),
        ],
    )
    def test_misuse_is_an_error_with_the_column(self, text: str, column: int, says: str) -> None:
        with pytest.raises(ExpressionSyntaxError) as raised:
            Template.parse(text)
        assert says in raised.value.message
        assert column == raised.value.column

    def test_deepest_expression_compiles_and_runs(self) -> None:
        text = "%{" + "int(" * (MAX_DEPTH // 2) + "a" + " + a" * MAX_OPERATORS + ")" * (MAX_DEPTH // 2) + "}"
        assert rendered(text, a=b"1") == b"41"

    def test_operators_are_counted_in_each_tag(self) -> None:
        assert rendered("%{a + a}" * 100, a=b"1") == b"2" * 100

    def test_condition_compares_arithmetic_as_a_number(self) -> None:
        holds = Condition.parse("%{n % 2} == 0 and %{n * 10} > %{n + 17}").holds
        assert holds(Event(b"", {"n": b"2"}))
        assert not holds(Event(b"", {"n": b"3"}))

    def test_arithmetic_outside_of_braces_has_a_hint(self) -> None:
        with pytest.raises(ExpressionSyntaxError, match=r"inside of braces.*%\{a \+ b\}"):
            Condition.parse("%{n} + 1 > 2")


class Term(NamedTuple):
    """Its source, and its value; None if a divisor is zero."""

    written: str
    value: Fraction | None


OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction | None]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "%": lambda left, right: left - left // right * right if right else None,
}
NUMBERS = st.integers(-(2**65), 2**65).map(str) | st.from_regex(r"-?[0-9]{1,20}(\.[0-9]{1,9})?", fullmatch=True)


def joined(left: Term, sign: str, right: Term) -> Term:
    known = left.value is not None and right.value is not None
    return Term(
        f"({left.written} {sign} {right.written})", OPERATIONS[sign](left.value, right.value) if known else None
    )


TERMS = st.recursive(
    NUMBERS.map(lambda text: Term(text, Fraction(text))),
    lambda inner: (
        st.builds(joined, inner, st.sampled_from(sorted(OPERATIONS)), inner)
        | inner.map(lambda term: Term(f"-({term.written})", None if term.value is None else -term.value))
    ),
    max_leaves=6,
)


@given(TERMS)
def test_sums_products_and_remainders_are_exact(term: Term) -> None:
    text = f"%{{if(exists(x), 0, {term.written})}}"  # not folded into another error
    if term.value is None:
        with pytest.raises(ExpressionSyntaxError, match="division by zero"):
            Template.parse(text)
    else:
        assert term.value == Fraction(rendered(text).decode())


@given(st.lists(st.tuples(st.sampled_from("+-*"), st.integers(-99, 99)), min_size=1, max_size=8))
def test_precedence_is_that_of_python(parts: list[tuple[str, int]]) -> None:
    text = "7" + "".join(f" {sign} {number}" for sign, number in parts)
    assert b"%d" % eval(text) == rendered(f"%{{{text}}}")  # noqa: S307 - digits and signs


@given(NUMBERS, NUMBERS)
@example("1", "3")
@example(str(2**64 + 1), str(2**64 + 1))
@example("1" + "0" * 40, "8")
@example("-0.0", "7")
def test_quotient_is_exact_or_has_34_digits(a: str, b: str) -> None:
    left, right = Fraction(a), Fraction(b)
    if not right:
        with pytest.raises(ExpressionError) as raised:
            rendered("%{a / b}", a=a.encode(), b=b.encode())
        assert raised.value.code == "division_by_zero"
        return
    text = rendered("%{a / b}", a=a.encode(), b=b.encode()).decode()
    exact, quotient = left / right, Fraction(text)
    assert abs(quotient - exact) * 2 * 10**33 <= abs(exact)
    rest = exact.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1 and exact.denominator < 2**60:  # it ends, within 100 digits
        assert exact == quotient


HUGE = [b"9" * 100, b"1e99", b"9" * 50 + b"e99", b"0." + b"0" * 49 + b"1e-99"]


@pytest.mark.parametrize("x", HUGE)
@pytest.mark.parametrize("sign", "*/+-%")
def test_huge_numbers_have_a_result_or_fail_the_event(x: bytes, sign: str) -> None:
    divisor = " / ".join(["y"] * 20) if sign == "/" else "y"
    power = " * ".join(["x"] * 20)
    event = Event(b"", {"x": x, "y": b"0.7"})
    try:
        found, code = Template.parse(f"%{{{power} {sign} {divisor}}}").render(event), "number_too_large"
    except ExpressionError as error:
        found, code = b"", error.code
    assert len(found) < 10_000
    assert code == "number_too_large"


def test_whole_number_of_more_than_4300_digits_fails_the_event() -> None:
    product = " * ".join(["x"] * 41)
    assert rendered(f"%{{{product}}}", x=b"1" + b"0" * 99) == b"1" + b"0" * 4059
    with pytest.raises(ExpressionError) as raised:
        rendered(f"%{{mul({', '.join(['x'] * 10_000)})}}", x=b"9" * 100)
    assert raised.value.code == "number_too_large"


@pytest.mark.parametrize("text", [b"seven", b"", b"7 ms", b"1e999", b"nan", b"0x10", b"1,5", b"\xff"])
def test_text_that_is_no_number_fails_the_event(text: bytes) -> None:
    with pytest.raises(ExpressionError) as raised:
        rendered("%{1 + n}", n=text)
    assert raised.value.code == "not_a_number"
    assert raised.value.message.startswith('"+": ')


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("%{price * 100}", '"*": "abc" of attribute "price" is not a number'),
        ("%{round(price, 2)}", 'round: "abc" of attribute "price" is not a number'),
        ("%{epoch_s(price)}", 'epoch_s: "abc" of attribute "price" is not a time in milliseconds'),
    ],
)
def test_error_names_the_attribute(template: str, message: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        Template.parse(template).render(Event(b"", {"price": b"abc"}))
    assert raised.value.message == message
