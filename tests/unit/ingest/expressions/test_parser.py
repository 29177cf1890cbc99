"""Parsing of templates and conditions, and the places of syntax errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.expressions import ExpressionSyntaxError, nodes, quoted
from ingest.expressions.grammar import CORE_NAMES, DATE_LETTERS, MAX_DEPTH, OPERATORS, TEXT_COMPARISONS, is_number
from ingest.expressions.nodes import Attribute, Call, Core, DateLetter, Node, Number, Text
from ingest.expressions.parser import parse_condition, parse_template


class TestTemplate:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("", ()),
            ("plain", (Text("plain"),)),
            ("100%%", (Text("100%"),)),
            ("%%{henry}", (Text("%{henry}"),)),
            ("%{host}", (Core("host"),)),
            ("%{ host }", (Core("host"),)),
            ("%{user}", (Attribute("user"),)),
            ("%{2hb_}", (Attribute("2hb_"),)),
            ("%{123}", (Attribute("123"),)),
            ("%{a.b-c_d}", (Attribute("a.b-c_d"),)),
            ("%{'host'}", (Attribute("host", quoted=True),)),
            ("%{'2hb_cf:q'}", (Attribute("2hb_cf:q", quoted=True),)),
            ('%{"it\'s"}', (Attribute("it's", quoted=True),)),
            ("%{'it''s'}", (Attribute("it's", quoted=True),)),
            ("%{''}", (Attribute("", quoted=True),)),
            ("%Y-%m", (DateLetter("Y"), Text("-"), DateLetter("m"))),
            ("%{lower(host)}", (Call("lower", (Core("host"),)),)),
            ("%{f()}", (Call("f", ()),)),
            ("%{f( 'x' , -1.5, g(a), %{'b:c'} )}", (
                Call("f", (Text("x"), Number("-1.5"), Call("g", (Attribute("a"),)), Attribute("b:c", quoted=True))),
            )),
        ],
    )  # fmt: skip
    def test_text_becomes_nodes(self, text: str, expected: tuple[Node, ...]) -> None:
        assert parse_template(text) == expected

    @pytest.mark.parametrize(
        ("text", "column", "says"),
        [
            ("100%", 4, 'stray "%"'),
            ("a % b", 3, 'stray "%"'),
            ("%é", 1, 'stray "%"'),
            ("%P", 1, 'a percent sign itself is written "%%"; did you mean "%p"?'),
            ("ab%Q", 3, 'unknown tag "%Q"'),
            ("%_", 1, "unknown tag"),
            ("%5", 1, "unknown tag"),
            ("%{", 1, "unclosed tag"),
            ("x%{host", 2, "unclosed tag"),
            ("%{}", 1, "empty tag"),
            ("%{ }", 1, "empty tag"),
            ("ab%{a:b}", 3, "%{'a:b'}"),
            ("%{größe}", 1, "%{'größe'}"),
            ("%{a b}", 1, "%{'a b'}"),
            ("%{'a}", 3, "never closed"),
            ("%{'a' b}", 7, 'unexpected "b"'),
            ("%{lower(host}", 13, 'expected "," or ")"'),
            ("%{lower(host", 13, "found the end"),
            ("%{lower(,)}", 9, "expected an argument"),
            ("%{lower('x)}", 9, "never closed"),
            ("%{1x(a)}", 3, "cannot be the name of a function"),
            ("%{" + "f(" * (MAX_DEPTH + 1), 3 + 2 * MAX_DEPTH, "nested"),
        ],
    )
    def test_invalid_template_is_an_error_with_the_column(self, text: str, column: int, says: str) -> None:
        with pytest.raises(ExpressionSyntaxError) as raised:
            parse_template(text)
        assert raised.value.column == column
        assert says in raised.value.message

    def test_error_has_a_caret(self) -> None:
        with pytest.raises(ExpressionSyntaxError) as raised:
            parse_template("ab%{a:b}")
        assert raised.value.caret == "ab%{a:b}\n  ^"
        assert str(raised.value).startswith("column 3: ")


class TestCondition:
    @pytest.mark.parametrize(
        ("text", "column", "says"),
        [
            ("", 1, "found the end"),
            ("%{a}", 5, "expected a comparison"),
            ("host == 'x'", 1, "write %{host}"),
            ("lower(host) == 'x'", 1, "write %{lower(…)}"),
            ("%{a} = 'x'", 6, 'did you mean "=="'),
            ("%{a} == 'x' && %{b} == 'y'", 13, 'did you mean "and"'),
            ("%{a} == 'x' || %{b} == 'y'", 13, 'did you mean "or"'),
            ("! exists(a)", 1, 'did you mean "not"?'),
            ("%{a} == 'x' AND %{b} == 'y'", 13, 'did you mean "and"?'),
            ("%{a} IN ('x')", 6, 'did you mean "in"?'),
            ("NOT exists(a)", 1, '"NOT" is not a keyword; did you mean "not"?'),
            ("%{a} not == 'x'", 10, '"not" cannot precede a sign; did you mean "!="?'),
            ("%{a} not < 5", 10, 'did you mean ">="?'),
            ("exist('s')", 1, '"exist" is not a keyword; did you mean "exists"?'),
            ("exists(2hb_a:id)", 8, "must be quoted: exists('2hb_a:id')"),
            ("%{a} =~ 'x'", 6, 'did you mean "matches"'),
            ("%{a} like 'x'", 6, "expected a comparison (== != < <= > >= in matches contains starts_with ends_with)"),
            ("%{a} starts_with", 17, "expected a value"),
            ("%{a} contains b", 15, "write %{b} for the value, 'b' for the text"),
            ("%{a} not contains", 18, "found the end"),
            ("starts_with(%{a}, 'x')", 1, "needs a value before it: %{name} starts_with"),
            ("%{a} ends_with ('x')", 16, "expected a value"),
            ("%{a} in 'x'", 9, "expected a list"),
            ("%{a} in ('b'", 13, 'expected "," or ")"'),
            ("%{a} matches '(' and exists(b", 30, 'expected ")"'),
            ("not", 4, "expected a value"),
            ("%{a == 1", 1, 'a "}" is missing'),
            ("%{} == 1", 1, "empty tag"),
            ("%{a} in ()", 10, "expected a value"),
            ("%{a} in (%{b})", 10, "only quoted text and numbers"),
            ("%{a} in ('b' 'c')", 14, 'expected "," or ")"'),
            ("%{a} matches b", 14, "expected a quoted pattern"),
            ("(%{a} == 1", 11, 'expected "and", "or" or ")"'),
            ("%{a} == 1)", 10, 'expected "and", "or" or the end'),
            ("exists", 7, 'expected "("'),
            ("exists()", 8, "expected a name"),
            ("exists(%{a}", 12, 'expected ")"'),
            ("exists(lower(a))", 13, "exists(%{name(…)})"),
            ("%{a} == 'x", 9, "never closed"),
            ("%{a:b} == 1", 1, "%{'a:b'}"),
            ("%{a} == 1 or", 13, "found the end"),
            ("not " * (MAX_DEPTH + 1) + "exists(a)", 1 + 4 * MAX_DEPTH, "nested"),
        ],
    )
    def test_invalid_condition_is_an_error_with_the_column(self, text: str, column: int, says: str) -> None:
        with pytest.raises(ExpressionSyntaxError) as raised:
            parse_condition(text)
        assert raised.value.column == column
        assert says in raised.value.message

    def test_precedence_of_not_and_or(self) -> None:
        plain = parse_condition("exists(a) or not exists(b) and exists(c)")
        grouped = parse_condition("exists(a) or ((not exists(b)) and exists(c))")
        assert plain == grouped


TEXTS = st.text(max_size=8)
NAMES = st.from_regex(r"[A-Za-z0-9_.-]{1,6}", fullmatch=True)
ATTRIBUTES = st.one_of(
    TEXTS.map(lambda name: Attribute(name, quoted=True)),
    NAMES.filter(lambda name: name not in CORE_NAMES).map(Attribute),
)
CORES = st.sampled_from(CORE_NAMES).map(Core)
NUMBERS = st.from_regex(r"-?[0-9]{1,4}(\.[0-9]{1,3})?", fullmatch=True).map(Number)
ARGUMENTS = st.recursive(
    st.one_of(TEXTS.map(Text), NUMBERS, ATTRIBUTES, CORES),
    lambda inner: st.builds(
        Call, st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True), st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=6,
)
ARGUMENTS = st.recursive(
    ARGUMENTS,
    lambda inner: st.builds(
        lambda sign, left, right: Call(OPERATORS[sign], (left, right), sign=sign),
        st.sampled_from(sorted(OPERATORS)),
        inner,
        inner,
    ),
    max_leaves=4,
)
TAGS = ARGUMENTS.filter(lambda node: not isinstance(node, Text | Number))
PARTS = st.one_of(TEXTS.filter(bool).map(Text), st.sampled_from(DATE_LETTERS).map(DateLetter), TAGS)


def _texts_joined(parts: list[Node]) -> tuple[Node, ...]:
    joined: list[Node] = []
    for part in parts:
        if joined and isinstance(part, Text) and isinstance(joined[-1], Text):
            joined[-1] = Text(joined[-1].text + part.text)
        else:
            joined.append(part)
    return tuple(joined)


OPERANDS = st.one_of(TAGS, TEXTS.map(Text), NUMBERS)
CLAUSES = st.recursive(
    st.one_of(
        st.builds(
            nodes.Comparison, st.sampled_from(["==", "!=", "<", "<=", ">", ">=", *TEXT_COMPARISONS]), OPERANDS, OPERANDS
        ),
        st.builds(nodes.Membership, OPERANDS, st.lists(st.one_of(TEXTS.map(Text), NUMBERS), min_size=1).map(tuple)),
        st.builds(nodes.Match, OPERANDS, TEXTS.map(Text)),
        st.builds(nodes.Exists, TAGS),
    ),
    lambda inner: st.one_of(
        inner.map(nodes.Not),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: nodes.And(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: nodes.Or(tuple(parts))),
    ),
    max_leaves=5,
)


def _operand(node: Node) -> str:
    match node:
        case Attribute():
            return node.tag()
        case Text() | Number():
            return node.written()
        case _:
            return "%{" + node.written() + "}"


def _template(parts: tuple[Node, ...]) -> str:
    return "".join(part.text.replace("%", "%%") if isinstance(part, Text) else _part(part) for part in parts)


def _part(node: Node) -> str:
    return node.written() if isinstance(node, DateLetter) else _operand(node)


def _condition(clause: nodes.Clause) -> str:
    match clause:
        case nodes.Comparison(operator, left, right):
            return f"{_operand(left)} {operator} {_operand(right)}"
        case nodes.Membership(left, items):
            return f"{_operand(left)} in ({', '.join(item.written() for item in items)})"
        case nodes.Match(left, pattern):
            return f"{_operand(left)} matches {pattern.written()}"
        case nodes.Exists(node):
            return f"exists({_operand(node)})"
        case nodes.Not(inner):
            return f"not ({_condition(inner)})"
        case nodes.And(inner) | nodes.Or(inner):
            word = " and " if isinstance(clause, nodes.And) else " or "
            return word.join(f"({_condition(each)})" for each in inner)


class TestRoundTrips:
    @given(st.lists(PARTS, max_size=6).map(_texts_joined))
    def test_written_template_is_parsed_back(self, template: tuple[Node, ...]) -> None:
        assert parse_template(_template(template)) == template

    @given(CLAUSES)
    def test_written_condition_is_parsed_back(self, clause: nodes.Clause) -> None:
        assert parse_condition(_condition(clause)) == clause

    @given(st.text())
    def test_quoted_text_is_parsed_back(self, text: str) -> None:
        assert parse_template(f"%{{f({quoted(text)})}}") == (Call("f", (Text(text),)),)

    @given(st.text(alphabet=st.sampled_from("%{}()'\",.aY0-= \nén<>!+*/"), max_size=30))
    def test_any_text_parses_or_is_a_syntax_error(self, text: str) -> None:
        for parse in (parse_template, parse_condition):
            try:
                parse(text)
                column = 1
            except ExpressionSyntaxError as error:
                column = error.column
            assert 1 <= column <= len(text) + 1

    def test_a_number_is_digits_with_at_most_one_point(self) -> None:
        words = ["1", "-1", "1.5", "1.", ".5", "1.5.2", "1e3", "--1", "", "٣"]
        assert [word for word in words if is_number(word)] == ["1", "-1", "1.5"]
