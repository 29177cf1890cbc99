"""Java's regular expressions and their translations have the same matches."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.flume.patterns import UntranslatableError, each_of, in_full, pattern_of, separator_of


@pytest.mark.parametrize(
    ("java", "text", "found"),
    [
        (r"(\d+):(\d+)", "a 12:3", "12:3"),
        (".*", "ab\rc", "ab"),
        (".*", "ab\nc", "ab"),
        ("(?s).*", "ab\r\nc", "ab\r\nc"),
        ("b$", "ab\r\n", "b"),
        ("b$", "ab\nb", "b"),
        (r"b\z", "b\n", None),
        (r"b\Z", "b\n", "b"),
        (r"(?<y>\d+)-\k<y>", "12-12", "12-12"),
        (r"\Qa.b\E+", "a.bb", "a.bb"),
        (r"\p{Alpha}+", "12ab", "ab"),
        (r"\P{Alpha}+", "ab12", "12"),
        (r"[\p{Digit}_]+", "a1_2", "1_2"),
        (r"\h+x", "a \tx", " \tx"),
        (r"[.$]+", "a.$b", ".$"),
        (r"[]a]+", "]a", "]a"),
        (r"[^]a]+", "]ab", "b"),
        (r"[\[]+", "[[", "[["),
        (r"\u0041\x42\x{43}\0104", "ABCD", "ABCD"),
        (r"\uD83D\uDE00+", "\N{GRINNING FACE}" * 2, "\N{GRINNING FACE}" * 2),
        (r"\uD83D\uDE00|\x{10FFFF}", "a\U0010ffff", "\U0010ffff"),
        (r"\cA", "\x01", "\x01"),
        (r"\e", "\x1b", "\x1b"),
        (r"é+", "éé", "éé"),
        (r"a\Rb", "a\r\nb", "a\r\nb"),
        *(
            (rf"a{escape}+b", f"a{end}b", f"a{end}b")
            for escape in (r"\R", r"\v")
            for end in "\n\x0b\x0c\r\x85\u2028\u2029"
        ),
        (r"a\Rb", "a b", None),
        (r"a[\v]b", "a\x0cb", "a\x0cb"),
        (r"(?i)AB", "ab", "ab"),
        (r"a++b", "aab", "aab"),
        (r"(?>a+)b", "aab", "aab"),
        (r"(?i:A)b", "ab", "ab"),
        (r"(?i)A(?-i:B)", "aB", "aB"),
        (r"(?i)A(?-i:B)", "ab", None),
        (r"(?sm)a.b$", "a\nb\nc", "a\nb"),
        (r"[(?s:.)]+", "(?s:.)", "(?s:.)"),
        (r"x(?=y)", "xy", "x"),
        (r"a\ b\-c\/", "a b-c/", "a b-c/"),
        (r"^.{2}", "aé5", "aé"),
        (r"[äö]x", "üx öx", "öx"),
        (r"[^a]x", "éx", "éx"),
        (r"\uD83D\uDE00?x", "x", "x"),
        (r"[\v]", "\u2028", "\u2028"),
        (r"\w+", "Müller", "M"),
        (r"\d+", "٣4", "4"),
        (r"\S+", "a\u00a0b", "a\u00a0b"),
        ("(?i)ä", "Ä", None),
        ("(?i:k)", "\N{KELVIN SIGN}", None),
    ],
)
def test_java_pattern_finds_the_same_match(java, text, found):
    match = pattern_of(java).search(text.encode())
    assert (None if match is None else match[0].decode()) == found


def test_global_flags_are_at_the_start():
    assert pattern_of("(?m)^a.b$", "is").search(b"x\nA\nB") is not None


@pytest.mark.parametrize(
    ("java", "text", "is_found"),
    [("a|ab", "ab", True), ("a", "ab", False), ("(?i)A", "a", True), ("a", "a\n", False), (".*", "a\nb", False)],
)
def test_java_pattern_matches_the_whole_text(java, text, is_found):
    assert (in_full(java).search(text.encode()) is not None) is is_found


@pytest.mark.parametrize("translate", [in_full, each_of, separator_of])
def test_place_of_an_error_does_not_depend_on_the_use(translate):
    with pytest.raises(UntranslatableError, match=re.escape("missing )")) as caught:
        translate(r"(\S*)|(.*")
    assert caught.value.column == 7


@pytest.mark.parametrize(
    ("java", "ours"),
    [
        ("a+", "a+"),
        ("a{1,2}|b", "a{1,2}|b"),
        ("(a|b)+?", "(a|b)+?"),
        (r"\x41", r"\x41"),
        (r"\Qa*\E", r"a\*"),
        ("[a*]", "[a*]"),
        ("a*", "(?>a*)"),
        ("a{0,2}", "(?>a{0,2})"),
        ("a|", "(?>a|)"),
        ("(?:a|b?)", "(?>(?:a|b?))"),
        ("(ab)?", "(?>(ab)?)"),
        (r"\x41?", r"(?>\x41?)"),
        ("(?=a)", "(?>(?=a))"),
        ("(a)?\\1", "(?>(a)?\\1)"),
        ("^", "(?>^)"),
        ("[a]*", "(?>[a]*)"),
        ("(?i:a?)", "(?a)(?>(?i:a?))"),
        (r"\Q\E", "(?>)"),
    ],
)
def test_expression_that_may_match_nothing_matches_as_one_unit(java, ours):
    assert each_of(java).text == ours


@pytest.mark.parametrize(
    ("java", "column", "message"),
    [
        ("(a", 1, "missing )"),
        (r"\p{L}", 1, "cannot be translated"),
        (r"a[a-z&&[^b]]", 6, "a class inside a class"),
        (r"a(?i)b", 2, "only the flags i, m, s and d"),
        (r"(?-i)b", 1, "only the flags i, m, s and d"),
        (r"(?x)b", 1, "only the flags i, m, s and d"),
        *(
            (f"BEGIN{flags}.*$)END", 6, f'"{flags}" cannot be translated: only the flags i, m, s and d')
            for flags in ("(?x:", "(?u:", "(?U:", "(?sx:", "(?s-u:")
        ),
        (r"\p{IsAlpha}", 1, "cannot be translated"),
        (r"\G", 1, "cannot be translated"),
        (r"[\R]", 2, "inside a class"),
        (r"a\x{110000}", 2, "is not a character"),
        (r"a\x{D83D}\x{DE00}", 2, "is not a character"),
        (r"a\uD83Db", 2, "is not a character"),
        (r"\uDE00\uD83D", 1, "is not a character"),
        (r"[\uD83D]", 2, "is not a character"),
        (f"a{{{'9' * 5_000}}}", 1, "too large"),
        (r"(\S+) (.*", 7, "missing )"),
        (r"\p{Alpha}.é.*(a", 14, "missing )"),
        ("(?i)é+(", 7, "missing )"),
        ("$.**", 4, "multiple repeat"),
        ("(?<n>.)(?<n>b)", 8, "redefinition"),
    ],
)
@pytest.mark.parametrize("flags", ["", "s", "is"])
def test_expression_without_an_equivalent_is_an_error(java, column, message, flags):
    with pytest.raises(UntranslatableError, match=re.escape(message)) as caught:
        pattern_of(java, flags)
    assert caught.value.column == column


PIECES = [
    *r"ab.$*+?^|()[]{}\-&,19∞",
    *("(?i)", "(?s:", "(?i-m:", "(?-", "(?<n>", r"\Q", r"\E", r"\x{FFFFFF}", r"\x{41}", r"\uD83D", r"\uDE00", "a{∞}"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_text_is_translated_or_an_error(text):
    java = text.replace("∞", "7" * 5_000)  # more digits than Python makes a number of
    column = 1
    try:
        ours = "".join(translate(java).text for translate in (pattern_of, in_full, each_of, separator_of))
    except UntranslatableError as error:
        ours, column = "", error.column
    ours.encode()  # with no half of a character
    assert 1 <= column <= len(java) + 1
