"""Lint warnings: expressions and options that are valid but probably a mistake."""

import pytest

from tests.support.problems import chain_file, problems_of

FILE = chain_file("DECORATOR", 'value: {attribute: "2hb_", value: "%{key}-%{nanos}"}')


@pytest.fixture
def problems(tmp_path):
    path = tmp_path / "p.yaml"

    def found(decorator):
        path.write_text(FILE.replace("DECORATOR", decorator))
        return problems_of(path)

    return found


def value(template):
    return f'value: {{attribute: x, value: "{template}"}}'


@pytest.mark.parametrize(
    ("decorator", "place", "call", "hint"),
    [
        (value("k%{pad_left('2hb_a:h', 8)}"), "7:42", "pad_left('2hb_a:h', 8)", "%{'2hb_a:h'}"),
        (value("%{lower('user')}"), "7:41", "lower('user')", "%{user}, inside a function user without quotes"),
        (value("%{md5('a b')}"), "7:41", "md5('a b')", None),
        (value("%{concat(lower('2hb_a:h'), user)}"), "7:48", "lower('2hb_a:h')", "%{'2hb_a:h'}"),
        ("template: {attributes: {x: '%{id}', y: \"%{upper('a:h')}\"}}", "7:51", "upper('a:h')", "%{'a:h'}"),
        ("row_key: {parts: [{value: '%{id}'}, {value: \"%{upper('a:h')}\"}]}", "7:56", "upper('a:h')", "%{'a:h'}"),
        ("static: {attributes: {x: y}, when: \"%{x} == %{lower('a:b')}\"}", "7:55", "lower('a:b')", "%{'a:b'}"),
    ],
)
def test_function_of_quoted_text_is_a_warning(problems, decorator, place, call, hint):
    hint_part = "" if hint is None else f"; for the attribute write {hint}"
    expected = (
        f"{place}: doubtful: warning: {call} is the same for every event, because quoted text is a constant{hint_part}"
    )
    assert problems(decorator) == [expected]


def test_comparison_of_two_constants_is_a_warning(problems):
    (warning,) = problems("filter: {keep: \"%{host} == 'a' and '2hb_a:h' == 'b'\"}")
    assert warning == (
        "7:44: doubtful: warning: '2hb_a:h' is text and the same for every event; for the attribute write %{'2hb_a:h'}"
    )


def test_order_of_a_number_and_text_is_a_warning(problems):
    (warning,) = problems("filter: {keep: \"%{timestamp} > '2024-01-01'\"}")
    assert warning == (
        "7:40: doubtful: warning: '2024-01-01' is text, so a number is compared with it byte by byte; "
        "write a number, without quotes"
    )
    assert len(problems("filter: {keep: \"'9' <= %{offset}\"}")) == 1
    for valid in ("%{timestamp} > 1704067200000", "%{offset} == '7'", "%{status} >= '500'", "%{date('%Y')} > '2024'"):
        assert problems(f'filter: {{keep: "{valid}"}}') == []


@pytest.mark.parametrize(
    "decorator",
    [
        value("%{pad_left(%{'2hb_a:h'}, 8)}"),
        value("%{pad_left(user, 8)}"),
        value("%{decode('00ff', 'hex')}"),
        value("%{long_bytes(5)}"),
        value("%{default(user, '2hb_a:h')}"),
        value("%{concat('a:b', user)}"),
        value("%{uuid('salt')}"),
        value("%{origin()}"),
        "filter: {keep: \"'a:b' == %{host}\"}",
        "filter: {keep: \"%{host} in ('a:b')\"}",
    ],
)
def test_intended_constant_is_no_warning(problems, decorator):
    assert problems(decorator) == []


@pytest.mark.parametrize(
    ("condition", "text"),
    [("'2hb_a:h' == 'web1'", "'2hb_a:h'"), ("'2hb_a:h' in ('a', 'b')", "'2hb_a:h'"), ("'a:b' matches 'x'", "'a:b'")],
)
def test_constant_condition_is_unreachable(problems, condition, text):
    (warning,) = problems(f'static: {{attributes: {{x: y}}, when: "{condition}"}}')
    assert warning == (
        "7:44: unreachable: static is never used: `when` is never true; "
        f"{text} is text and the same for every event: for the attribute write %{{{text}}}"
    )


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("yyyy", "write '%Y' instead of Java's letters"),
        ("yyyy-MM-dd HH:mm:ss", "write '%Y-%m-%d %H:%M:%S' instead of Java's letters"),
        ("YYYY", "a date letter needs a percent sign, as in '%Y-%m-%d'"),
        ("", "a date letter needs a percent sign, as in '%Y-%m-%d'"),
    ],
)
def test_date_format_without_date_letters_is_a_warning(problems, text, hint):
    (warning,) = problems(value(f"%{{date('{text}')}}"))
    assert warning == (
        f"7:46: doubtful: warning: the date format '{text}' has no date letter, so it is the same for every event; "
        f"{hint}"
    )
    assert problems(value("%{date('on %Y')}")) == []


def test_group_that_the_pattern_does_not_have_is_a_warning(problems):
    regex = "regex: {pattern: '(.)(x)', index: INDEX, attribute: y}"
    (warning,) = problems(regex.replace("INDEX", "3"))
    assert warning == "7:43: doubtful: warning: the pattern has 2 groups, so no text matches"
    assert problems(regex.replace("INDEX", "2")) == []


def test_fewer_names_than_groups_are_a_warning(problems):
    regex = "regex: {pattern: '(.)(x)(y)', attributes: NAMES}"
    assert problems(regex.replace("NAMES", "[a, b]")) == [
        (
            "7:51: doubtful: warning: the pattern has 3 groups, and 2 of them have names: add the others, with '' for "
            "a group that sets no attribute, or write (?:…) for a group that is not captured"
        )
    ]
    assert problems(regex.replace("NAMES", "[a, '', b]")) == []
