"""What is right in an expression or option and can hardly be meant is told where it stands, and nothing else is."""

import pytest

from tests.support.problems import chain_file, problems_of

FILE = chain_file("STEP", 'value: {attribute: "2hb_", value: "%{key}-%{nanos}"}')


@pytest.fixture
def problems(tmp_path):
    path = tmp_path / "p.yaml"

    def found(step):
        path.write_text(FILE.replace("STEP", step))
        return problems_of(path)

    return found


def value(template):
    return f'value: {{attribute: x, value: "{template}"}}'


@pytest.mark.parametrize(
    ("step", "place", "call", "hint"),
    [
        (value("k%{bucket('2hb_a:h', 8)}"), "7:42", "bucket('2hb_a:h', 8)", "%{'2hb_a:h'}"),
        (value("%{lower('user')}"), "7:41", "lower('user')", "%{user}, inside a function user without quotes"),
        (value("%{md5('a b')}"), "7:41", "md5('a b')", None),
        (value("%{concat(lower('2hb_a:h'), user)}"), "7:48", "lower('2hb_a:h')", "%{'2hb_a:h'}"),
        ("template: {attributes: {x: '%{id}', y: \"%{upper('a:h')}\"}}", "7:51", "upper('a:h')", "%{'a:h'}"),
        ("row_key: {parts: [{value: '%{id}'}, {value: \"%{upper('a:h')}\"}]}", "7:56", "upper('a:h')", "%{'a:h'}"),
        ("static: {attributes: {x: y}, when: \"%{x} == %{lower('a:b')}\"}", "7:55", "lower('a:b')", "%{'a:b'}"),
    ],
)
def test_text_that_may_be_a_name(problems, step, place, call, hint):
    way_out = "" if hint is None else f"; for the attribute write {hint}"
    told = f"{place}: doubtful: warning: {call} is the same for every event, as quoted text stands for itself{way_out}"
    assert problems(step) == [told]


def test_text_that_is_compared_with_text(problems):
    (told,) = problems("filter: {keep: \"%{host} == 'a' and '2hb_a:h' == 'b'\"}")
    assert told == (
        "7:44: doubtful: warning: '2hb_a:h' is text and the same for every event; for the attribute write %{'2hb_a:h'}"
    )


def test_a_number_beside_text(problems):
    (told,) = problems("filter: {keep: \"%{timestamp} > '2024-01-01'\"}")
    assert told == (
        "7:40: doubtful: warning: '2024-01-01' is text, so a number is compared with it byte by byte; "
        "write a number, without quotes"
    )
    assert len(problems("filter: {keep: \"'9' <= %{offset}\"}")) == 1
    for meant in ("%{timestamp} > 1704067200000", "%{offset} == '7'", "%{status} >= '500'", "%{date('%Y')} > '2024'"):
        assert problems(f'filter: {{keep: "{meant}"}}') == []


@pytest.mark.parametrize(
    "step",
    [
        value("%{bucket(%{'2hb_a:h'}, 8)}"),
        value("%{bucket(user, 8)}"),
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
def test_text_that_is_meant(problems, step):
    assert problems(step) == []


@pytest.mark.parametrize(
    ("condition", "text"),
    [("'2hb_a:h' == 'web1'", "'2hb_a:h'"), ("'2hb_a:h' in ('a', 'b')", "'2hb_a:h'"), ("'a:b' matches 'x'", "'a:b'")],
)
def test_a_condition_of_text_alone(problems, condition, text):
    (told,) = problems(f'static: {{attributes: {{x: y}}, when: "{condition}"}}')
    assert told == (
        "7:44: unreachable: static is never used: `when` never holds; "
        f"{text} is text and the same for every event: for the attribute write %{{{text}}}"
    )


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("yyyy", "write '%Y'; yyyy and the like are Java's"),
        ("yyyy-MM-dd HH:mm:ss", "write '%Y-%m-%d %H:%M:%S'; yyyy and the like are Java's"),
        ("YYYY", "date letters are written with a percent sign, as in '%Y-%m-%d'"),
        ("", "date letters are written with a percent sign, as in '%Y-%m-%d'"),
    ],
)
def test_a_date_format_without_letters(problems, text, hint):
    (told,) = problems(value(f"%{{date('{text}')}}"))
    assert told == (
        f"7:46: doubtful: warning: the date format '{text}' has no date letter, so it is the same for every event; "
        f"{hint}"
    )
    assert problems(value("%{date('on %Y')}")) == []


def test_a_group_that_the_pattern_does_not_have(problems):
    regex = "regex: {pattern: '(.)(x)', index: INDEX, attribute: y}"
    (told,) = problems(regex.replace("INDEX", "3"))
    assert told == "7:43: doubtful: warning: the pattern has 2 groups, so no text matches"
    assert problems(regex.replace("INDEX", "2")) == []
