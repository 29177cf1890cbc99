"""Random conditions give the same results as an independent implementation in plain Python."""

import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Event, Origin, Priority
from ingest.expressions import Condition, ExpressionSyntaxError, Template

OFFSET = 7
BODY = b"GET /index 7"

NUMBER = re.compile(rb"[+-]?[0-9]+(\.[0-9]+)?")
ORDER = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OF_TEXT: dict[str, Callable[[bytes, bytes], bool]] = {
    "contains": lambda left, right: left.find(right) >= 0,
    "starts_with": lambda left, right: left[: len(right)] == right,
    "ends_with": lambda left, right: left[max(len(left) - len(right), 0) :] == right,
}
PATTERNS = {
    "^7": lambda value: value[:1] == b"7",
    "x": lambda value: b"x" in value,
    "^$": lambda value: value == b"",
    "^[0-9]+$": lambda value: re.sub(rb"\n\Z", b"", value).isdigit(),
}

Attributes = dict[str, bytes]


class Operand(NamedTuple):
    """Its source, its value for an event (None if absent), and whether it is a text or number literal."""

    written: str
    value: Callable[[Attributes], bytes | None]
    is_text: bool = False
    is_number: bool = False


class Clause(NamedTuple):
    """Its source, and its result for an event."""

    written: str
    holds: Callable[[Attributes], bool]


def number_of(value: bytes | None) -> Fraction | None:
    return Fraction(value.decode()) if value is not None and NUMBER.fullmatch(value) else None


def quoted(text: str, mark: str) -> str:
    return mark + text.replace(mark, mark * 2) + mark


def attribute(name: str) -> Operand:
    return Operand(f"%{{{name}}}", lambda attributes: attributes.get(name))


NAMES = st.sampled_from(["a", "b", "n"])
TEXTS = st.one_of(st.text(max_size=2), st.sampled_from(["7", "7.0", "x", "it's", '"', "GET"]))
LITERALS = st.builds(
    lambda text, mark: Operand(quoted(text, mark), lambda _: text.encode(), is_text=True),
    TEXTS,
    st.sampled_from("'\""),
)
NUMBERS = st.one_of(
    st.sampled_from(["7", "-7", "7.0", "1"]), st.from_regex(r"-?[0-9]{1,2}(\.[0-9])?", fullmatch=True)
).map(lambda text: Operand(text, lambda _: text.encode(), is_number=True))
FIXED = st.sampled_from(
    [
        Operand("%{offset}", lambda _: b"%d" % OFFSET, is_number=True),
        Operand("%{byte_length(a)}", lambda event: b"%d" % len(event["a"]) if "a" in event else None, is_number=True),
        Operand("%{body}", lambda _: BODY),
        Operand("%{ priority }", lambda _: b"DEBUG"),
        Operand("%{concat(a, b)}", lambda event: event.get("a", b"") + event.get("b", b"")),
    ]
)
OPERANDS = st.one_of(NAMES.map(attribute), LITERALS, NUMBERS, FIXED)
BLANKS = st.sampled_from(["", " ", "  ", "\n"])
NOT = st.sampled_from(["", "not "])


def compared(left: Operand, sign: str, right: Operand, blank: str) -> Clause:
    as_numbers = (left.is_number or right.is_number) and not (left.is_text or right.is_text)

    def holds(event: Attributes) -> bool:
        one, other = left.value(event), right.value(event)
        if not as_numbers:
            return bool(ORDER[sign](one or b"", other or b""))
        first, second = number_of(one), number_of(other)
        if first is None or second is None:
            return sign == "!="
        return bool(ORDER[sign](first, second))

    return Clause(f"{left.written}{blank}{sign}{blank}{right.written}", holds)


def text_compared(left: Operand, negated: str, word: str, right: Operand) -> Clause:
    def holds(event: Attributes) -> bool:
        return OF_TEXT[word](left.value(event) or b"", right.value(event) or b"") is not bool(negated)

    return Clause(f"{left.written} {negated}{word} {right.written}", holds)


def listed(left: Operand, negated: str, items: list[Operand]) -> Clause:
    def holds(event: Attributes) -> bool:
        one = left.value(event)
        texts = [item.value(event) for item in items if item.is_text]
        numbers = [number_of(item.value(event)) for item in items if item.is_number]
        number = number_of(one)
        return ((one or b"") in texts or (number is not None and number in numbers)) is not bool(negated)

    return Clause(f"{left.written} {negated}in ({', '.join(item.written for item in items)})", holds)


def matched(left: Operand, negated: str, pattern: str) -> Clause:
    def holds(event: Attributes) -> bool:
        return PATTERNS[pattern](left.value(event) or b"") is not bool(negated)

    return Clause(f"{left.written} {negated}matches '{pattern}'", holds)


def existing(name: str, form: str) -> Clause:
    return Clause(f"exists({form.format(name)})", lambda event: name in event)


def joined(word: str, parts: list[Clause], blank: str) -> Clause:
    every = all if word == "and" else any
    written = f"{blank or ' '}{word}{blank or ' '}".join(f"({part.written})" for part in parts)
    return Clause(written, lambda event: every(part.holds(event) for part in parts))


def bare(first: Clause, second: Clause, third: Clause) -> Clause:
    """No parentheses: `not` binds closest, then `and`, then `or`."""
    return Clause(
        f"{first.written} or not {second.written} and {third.written}",
        lambda event: first.holds(event) or (not second.holds(event) and third.holds(event)),
    )


ATOMS = st.one_of(
    st.builds(compared, OPERANDS, st.sampled_from(sorted(ORDER)), OPERANDS, BLANKS),
    st.builds(text_compared, OPERANDS, NOT, st.sampled_from(sorted(OF_TEXT)), OPERANDS),
    st.builds(listed, OPERANDS, NOT, st.lists(st.one_of(LITERALS, NUMBERS), min_size=1, max_size=3)),
    st.builds(matched, OPERANDS, NOT, st.sampled_from(sorted(PATTERNS))),
    st.builds(existing, NAMES, st.sampled_from(["{}", "'{}'", "%{{{}}}", '%{{"{}"}}', "%{{lower({})}}"])),
)
CLAUSES = st.recursive(
    st.one_of(ATOMS, st.builds(bare, ATOMS, ATOMS, ATOMS)),
    lambda inner: st.one_of(
        inner.map(lambda part: Clause(f"not ({part.written})", lambda event: not part.holds(event))),
        st.builds(joined, st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=4), BLANKS),
    ),
    max_leaves=8,
)
VALUES = st.one_of(  # few and alike, so that they are often equal, or one the end of the other
    st.binary(max_size=2),
    st.sampled_from([b"", b"7", b"7x", b"x7", b"7.0", b"-7", b"07", b"10", b"x", b"it's", b"7\n", b"GET", b"\xff"]),
)
EVENTS = st.dictionaries(NAMES, VALUES)


@given(st.one_of(ATOMS, CLAUSES), EVENTS)
def test_condition_agrees_with_the_oracle(clause: Clause, attributes: Attributes) -> None:
    event = Event(BODY, dict(attributes), priority=Priority.DEBUG, origin=Origin("ticks", 3, OFFSET))
    assert Condition.parse(clause.written).holds(event) is clause.holds(attributes), clause.written


@given(CLAUSES, st.data())
def test_mutated_condition_compiles_or_is_a_syntax_error(clause: Clause, data: st.DataObject) -> None:
    """Mutations are closer to valid conditions than random text."""
    place = data.draw(st.integers(0, len(clause.written)))
    rest = data.draw(st.sampled_from(["", clause.written[place:], clause.written[place + 1 :]]))
    text = (
        clause.written[:place] + data.draw(st.sampled_from(["", "(", ")", "'", "%", "}", ",", "and", "=", "é"])) + rest
    )
    for parse in (Condition.parse, Template.parse):
        try:
            parse(text)
            column = 1
        except ExpressionSyntaxError as error:
            column = error.column
        assert 1 <= column <= len(text) + 1
