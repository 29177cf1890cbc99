"""Properties files: parsing as java.util.Properties does, and places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.flume.ng.properties import properties_of
from ingest.flume.original import Original


def read(text):
    return {name: found.value for name, found in properties_of(Original("f", text)).items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b c ", {"a": "b c"}),
        ("a: b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("  a = b=c", {"a": "b=c"}),
        ("a\\ b=c", {"a b": "c"}),
        ("a\\:b=c", {"a:b": "c"}),
        ("# a=b\n! c=d\ne=f", {"e": "f"}),
        ("a = b, \\\n    c", {"a": "b, c"}),
        ("a = b\\\\\nc = d", {"a": "b\\", "c": "d"}),
        ("a = x\\\n", {"a": "x"}),
        ("a = x\\\n# no comment", {"a": "x# no comment"}),
        ("# comment \\\na = b", {"a": "b"}),
        ("a = \\\\d+\\d\\t\\u0041", {"a": "\\d+d\tA"}),
        ("a=b\r\nc=d\r\n", {"a": "b", "c": "d"}),
        ("a=b\rc=d\r\re=f", {"a": "b", "c": "d", "e": "f"}),
        ("a=b\n\rc=d", {"a": "b", "c": "d"}),
        ("a=fo\x0cobar\nb=c", {"a": "fo\x0cobar", "b": "c"}),
        ("a=1\x0b2\x1c3\x1d4\x1e5\x856\u20287\u20298", {"a": "1\x0b2\x1c3\x1d4\x1e5\x856\u20287\u20298"}),
        ("\x0ca\x0c=\x0cb", {"a": "b"}),
        ("# a\u2028b=c\nd=e", {"d": "e"}),
        (r"a=\uD83D\uDE00", {"a": "\N{GRINNING FACE}"}),
        (r"\uD83D=a", {"\N{REPLACEMENT CHARACTER}": "a"}),
        ("\n\n", {}),
    ],
)
def test_properties_are_parsed(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a.ssl.truststore.password=hunter2", "a.ssl.truststore.password=***"),
        ("a.keyPassword : hunter2", "a.keyPassword : ***"),
        ("  a.clientSecret hunter2", "  a.clientSecret ***"),
        ('a.sasl.jaas.config = X \\\n  user="ann" \\\r\n  password="hunter2";', "a.sasl.jaas.config = ***"),
        ("a.pass\\\nword = hunter2", "***"),
        (r"a.pass\u0077ord = hunter2", r"a.pass\u0077ord = ***"),
        ("a.password", "a.password***"),
        ("a.host = hunter2", "a.host = hunter2"),
    ],
)
def test_secrets_are_not_shown_with_problems(text, shown):
    original = Original("f", f"# secret\n{text}\na.x = 1\n{text}\na.y = 2\n")
    properties_of(original)
    for at, character in enumerate(original.text):
        if character == "a" and original.text[:at].endswith(("\n", "\n  ")):
            original.warning(at, "look")
    lines = original.report().to_text().splitlines()
    first = original.text.splitlines().index("a.x = 1") + 1
    assert f"    2 | {shown}" in lines
    assert f"{first:>5} | a.x = 1" in lines
    assert f"{first + 1:>5} | {shown}" in lines
    assert ("hunter2" in "".join(lines)) is ("hunter2" in shown)


def test_places_and_comments():
    original = Original("f", "# one\n\n# two\n  a = 1\nb = \\\n  2\n# three")
    found = properties_of(original)
    assert [(str(original.place(each.at)), each.comments) for each in found.values()] == [
        ("f:4:3", ("one", "two")),
        ("f:5:1", ("three",)),
    ]


def test_repeated_key_is_a_warning():
    original = Original("f", "a = 1\na = 2")
    assert properties_of(original)["a"].value == "2"
    assert [str(problem.location) for problem in original.problems] == ["f:2:1"]


PIECES = [*"ab=: \\\n\r#!\t.u0\x0b\x0c\x85\u2028", r"\uD83D", r"\uDE00"]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_text_can_be_read(text):
    original = Original("f", text)
    for name, found in properties_of(original).items():
        (name + found.value).encode()  # with no half of a character
        assert 1 <= original.place(found.at).line <= text.count("\n") + 1
