"""Java's regular expressions: what they find, ours find."""

import re

import pytest

from ingest.flume.patterns import UntranslatableError, in_full, pattern_of


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
        (r"x(?=y)", "xy", "x"),
        (r"a\ b\-c\/", "a b-c/", "a b-c/"),
    ],
)
def test_same_match(java, text, found):
    match = pattern_of(java).search(text.encode())
    assert (None if match is None else match[0].decode()) == found


def test_flags_from_outside_stand_in_front():
    assert pattern_of("(?m)^a.b$", "is").search(b"x\nA\nB") is not None


@pytest.mark.parametrize(
    ("java", "text", "is_found"),
    [("a|ab", "ab", True), ("a", "ab", False), ("(?i)A", "a", True), ("a", "a\n", False), (".*", "a\nb", False)],
)
def test_in_full(java, text, is_found):
    assert (in_full(java).search(text.encode()) is not None) is is_found


@pytest.mark.parametrize(
    ("java", "column", "message"),
    [
        ("(a", 1, "missing )"),
        (r"\p{L}", 1, "patterns work on bytes"),
        (r"a[a-z&&[^b]]", 6, "a class inside a class"),
        (r"a[ä]", 3, "outside ASCII"),
        (r"a(?i)b", 2, "flags stand in front"),
        (r"(?x)b", 1, "flags stand in front"),
        (r"\G", 1, "can not be translated"),
        (r"[\R]", 2, "inside a class"),
    ],
)
def test_what_can_not_be_said(java, column, message):
    with pytest.raises(UntranslatableError, match=re.escape(message)) as caught:
        pattern_of(java)
    assert caught.value.column == column
