"""Patterns on bytes: search, split, replacement, and the places of errors."""

import pickle
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingest.api import DecorateError
from ingest.api.notation import name_to_bytes
from ingest.expressions import ExpressionSyntaxError, Pattern
from ingest.expressions.matching import tried_once_a_line
from ingest.expressions.texts import replacer


def test_search_finds_the_first_match() -> None:
    match = Pattern.parse(r"(\d+):(\d+)").search(b"a 55:66 77:88")
    assert match is not None
    assert (match[0], match[1], match[2]) == (b"55:66", b"55", b"66")


_PIECES = st.sampled_from(
    ["a", "b", "|", "(", ")", "(?:", "[|]", "[)b]", r"\|", r"\)", ".", ".*", "+", "?", "^", "$", "\n", r"(?<=a)", r"\1"]
)


@example(flags="", start=".*", rest="c|b", data=b"ab")
@example(flags="", start=".*?", rest="(?#(|)c|(b)", data=b"a\nab")
@given(
    flags=st.sampled_from(["", "(?s)", "(?m)", "(?is)"]),
    start=st.sampled_from([".*", ".+", ".*?", ".++", ".*|"]),
    rest=st.lists(_PIECES, max_size=6).map("".join),
    data=st.text("aAb|)\n", max_size=12).map(str.encode),
)
def test_a_pattern_that_begins_with_any_text_finds_the_same_match(flags, start, rest, data) -> None:
    text = flags + start + rest
    try:
        pattern = Pattern.parse(text)
    except ExpressionSyntaxError:
        return
    found, expected = pattern.search(data), re.compile(text.encode()).search(data)
    assert (found and (found.span(), found.groups())) == (expected and (expected.span(), expected.groups()))


@pytest.mark.parametrize("text", [".*error.*", ".+error", "(?s).*?(error|fatal)", r".*[|(]\|error", ".*error|fatal"])
def test_a_pattern_that_begins_with_any_text_is_tried_once_a_line(text) -> None:
    """A look-behind says that nothing precedes the start, so the rest of the line is read once."""
    assert tried_once_a_line(text) == text.replace(".", "(?<!.).", 1)


def test_fullmatch_is_anchored() -> None:
    pattern = Pattern.parse("ab")
    assert pattern.fullmatch(b"xab") is None
    assert pattern.fullmatch(b"abx") is None
    assert pattern.fullmatch(b"ab") is not None


def test_groups_are_counted_and_named() -> None:
    pattern = Pattern.parse(r"(?P<ip>\S+) (\S+) (?P<user>\S+)")
    assert pattern.groups == 3
    assert dict(pattern.names) == {"ip": 1, "user": 3}


def test_dot_matches_one_byte_except_a_newline() -> None:
    pattern = Pattern.parse("a.b")
    assert pattern.fullmatch(b"a\xffb") is not None
    assert pattern.search(b"a\nb") is None


def test_non_ascii_pattern_is_utf8() -> None:
    assert Pattern.parse("größe").search("die größe".encode()) is not None


@pytest.mark.parametrize(
    ("separator", "data", "expected"),
    [
        (":", b"a:b::", [b"a", b"b", b"", b""]),
        (r"\|", b"a|b", [b"a", b"b"]),
        (r"\.", b"a.b", [b"a", b"b"]),
        ("--", b"a--b-c", [b"a", b"b-c"]),
        (r"\s+", b"a \t b", [b"a", b"b"]),
        ("[,;]", b",a;b", [b"", b"a", b"b"]),
        ("(,)|(;)", b"a,b;c", [b"a", b"b", b"c"]),
        ("(x)", b"abc", [b"abc"]),
        (r"\t", b"a\tb", [b"a", b"b"]),
        (r"\d", b"a1b", [b"a", b"b"]),
        (":", b"", [b""]),
        ("é", "aéb".encode(), [b"a", b"b"]),
    ],
)
def test_split_returns_all_pieces_without_groups(separator: str, data: bytes, expected: list[bytes]) -> None:
    assert Pattern.parse(separator).split(data) == expected


@given(st.text(min_size=1, max_size=3), st.binary(max_size=20))
def test_escaped_text_splits_as_literal(separator: str, data: bytes) -> None:
    literal = separator.encode()
    assert Pattern.parse(re.escape(separator)).split(data + literal + data) == (data + literal + data).split(literal)


@given(st.lists(st.binary(max_size=4), min_size=1, max_size=5))
def test_group_in_a_separator_does_not_change_the_split(pieces: list[bytes]) -> None:
    data = b", ".join(pieces)
    assert Pattern.parse(r"(,)( )").split(data) == Pattern.parse(r",[ ]").split(data)


def test_replacement_is_literal() -> None:
    assert Pattern.parse("[0-9]+").literal_replacer(rb"\1\n")(b"a1b22") == rb"a\1\nb\1\n"


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("(", 1),
        ("ab(", 3),
        ("é(", 2),
        ("a**", 3),
        ("[a", 1),
        ("a{99999999999}", 1),
        ("a{" + "9" * 5000 + "}", 1),
        ("(" * 5000 + ")" * 5000, 1),
        ("(?a)(?L)x", 8),
    ],
    ids=lambda given: str(given)[:20],
)
def test_invalid_pattern_is_an_error_with_the_column(text: str, column: int) -> None:
    with pytest.raises(ExpressionSyntaxError, match="bad pattern") as raised:
        Pattern.parse(text)
    assert raised.value.column == column


@pytest.mark.parametrize(
    ("text", "column", "hint"),
    [
        ("x(?<a>x)", 3, r"(?P<name>…)"),
        ("(?P<2hb_f:a>x)", 5, "`prefix`"),
        (r"é[[:alpha:]]+ (?P<a>\d+)", 3, "[:alpha:]"),
        ("[^[:space:]]", 3, "[:space:]"),
        ("[a[:^digit:]]", 3, "[:^digit:]"),
    ],
)
def test_syntax_of_another_dialect_has_a_hint(text: str, column: int, hint: str) -> None:
    with pytest.raises(ExpressionSyntaxError, match="bad pattern") as raised:
        Pattern.parse(text)
    assert raised.value.column == column
    assert hint in raised.value.message


@pytest.mark.parametrize("text", [r"\[:alpha:]", "[[:alpha]", "[[:name:]]", "(?P<a>x)(?<=x)(?<!y)"])
def test_valid_pattern_similar_to_another_dialect(text: str) -> None:
    assert Pattern.parse(text).text == text


def test_pattern_with_a_future_warning_of_python_is_valid() -> None:
    assert Pattern.parse("[[a]").search(b"[") is not None


def test_equality_and_pickling_use_the_text() -> None:
    pattern = Pattern.parse("a(b)")
    again = pickle.loads(pickle.dumps(pattern))  # noqa: S301 - our own bytes
    assert again == pattern
    assert hash(again) == hash(pattern)
    assert again != Pattern.parse("ab")
    assert again.groups == 1
    assert str(again) == "a(b)"


@pytest.mark.parametrize(("text", "column"), [("(?L)x", 4), ("(?iL)x", 5), ("é(?L:x)", 5), ("(?a:x)(?L-i:x)", 10)])
def test_locale_flag_is_rejected(text: str, column: int) -> None:
    with pytest.raises(ExpressionSyntaxError, match="locale") as raised:
        Pattern.parse(text)
    assert raised.value.column == column


@pytest.mark.parametrize("text", [r"\(?L:x", "[(?L:x)]", "(?P<L>x)", "(?#(?L)L", "(?x)L # (?L)", "(?i:L)[[L]"])
def test_letter_of_the_locale_flag_is_valid_elsewhere(text: str) -> None:
    assert Pattern.parse(text).text == text


@given(st.text(max_size=20) | st.text(alphabet="(?iaLux-:)\\[]#é", max_size=20))
def test_any_text_compiles_or_is_a_syntax_error(text: str) -> None:
    try:
        Pattern.parse(text)
        column = 1
    except ExpressionSyntaxError as error:
        column = error.column
    assert 1 <= column <= len(text) + 1


class TestReplacer:
    @pytest.mark.parametrize(
        ("pattern", "replacement", "before", "after"),
        [
            ("[0-9]+", "N", b"a1b22", b"aNbN"),
            ("[0-9]+", "", b"a1b22", b"ab"),
            ("[0-9]+", r"<\0>", b"a1b22", b"a<1>b<22>"),
            (r"(\w)=(\w)", r"\2=\1", b"a=b c=d", b"b=a d=c"),
            ("(?P<first>.)(x)?", r"\g<first>\g<2>\\", b"axb", b"ax\\b\\"),
            ("(a)", r"\10", b"a", b"a0"),
            ("(a)(b)?", r"%\1%s\2%b", b"ab a", b"%a%sb%b %a%s%b"),
            ("(.)b?", r"100%\1", b"ab\xc3\xa9", b"100%a100%\xc3\xa9"),
            ("^", "é", b"\xff", b"\xc3\xa9\xff"),
            ("x", r"\\1", b"x", rb"\1"),
            ("", "-", b"ab", b"-a-b-"),
        ],
    )
    def test_text_and_groups(self, pattern: str, replacement: str, before: bytes, after: bytes) -> None:
        assert Pattern.parse(pattern).replacer(replacement)(before) == after

    def test_number_of_replacements_is_limited(self) -> None:
        assert Pattern.parse("(a)").replacer(r"\1b", 2)(b"aaa") == b"ababa"

    @pytest.mark.parametrize(
        ("replacement", "column"),
        [(r"\2", 1), (r"a\n", 2), ("x\\", 2), (r"\g<n>", 1), (r"\g<>", 1), (r"\g", 1), (r"\²", 1)],
    )
    def test_unknown_group_is_rejected(self, replacement: str, column: int) -> None:
        with pytest.raises(ExpressionSyntaxError) as caught:
            Pattern.parse("(a)").replacer(replacement)
        assert caught.value.column == column

    @given(st.text(st.characters(exclude_categories=["Cs"])), st.binary(), st.integers(0, 3))
    def test_replacement_without_a_backslash_is_literal(self, text: str, data: bytes, most: int) -> None:
        literal = text.replace("\\", r"\\")
        count = most or -1
        assert Pattern.parse("a").replacer(literal, most)(data) == data.replace(b"a", name_to_bytes(text), count)


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replacements may make 1,000 bytes."""
    for module in ("ingest.api.growth", "ingest.expressions.pattern", "ingest.expressions.texts"):
        monkeypatch.setattr(f"{module}.MAX_GROWN_BYTES", 1_000)


@pytest.mark.usefixtures("low")
@pytest.mark.parametrize(
    ("pattern", "replacement", "largest"),
    [("a", "x" * 50, 20), ("", "x" * 50, 19), ("(.*)", r"\1" * 5, 200), ("(?P<all>.+)", r"\g<all>" * 10, 100)],
)
def test_replacement_that_grows_too_much_fails(pattern: str, replacement: str, largest: int) -> None:
    replace = Pattern.parse(pattern).replacer(replacement)
    assert len(replace(b"a" * largest)) <= 1_000 + largest
    with pytest.raises(DecorateError, match="would become one of more than") as caught:
        replace(b"a" * (largest + 1))
    assert caught.value.code == "too_large"
    assert caught.value.hint is not None


@pytest.mark.usefixtures("low")
def test_literal_and_computed_replacements_are_limited_too() -> None:
    pattern = Pattern.parse("a")
    literal = pattern.literal_replacer(b"x" * 50)
    with pytest.raises(DecorateError, match="would become"):
        literal(b"a" * 21)
    with pytest.raises(DecorateError, match="would become"):
        pattern.each_replacer(lambda match: match[0] * 50, 50)(b"a" * 21)
    assert literal(b"b" * 500 + b"a") == b"b" * 500 + b"x" * 50


@pytest.mark.usefixtures("low")
def test_text_that_is_replaced_by_a_longer_one_is_limited() -> None:
    replace = replacer(b"ab", b"x" * 100)
    assert replace(b"ab" * 9 + b"c" * 500) == b"x" * 900 + b"c" * 500
    assert replacer(b"ab", b"x" * 100, 2)(b"ab" * 400) == b"x" * 200 + b"ab" * 398
    with pytest.raises(DecorateError, match="would become") as caught:
        replace(b"ab" * 11)
    assert caught.value.code == "too_large"


@pytest.mark.usefixtures("low")
def test_a_large_text_may_grow_fourfold() -> None:
    assert len(replacer(b"a", b"xxxx")(b"a" * 500)) == 2_000
    with pytest.raises(DecorateError, match="would become"):
        replacer(b"a", b"xxxxx")(b"a" * 500)
