"""A pattern works on characters where the value is UTF-8, and on bytes elsewhere."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingest.api import DecorateError
from ingest.expressions import ExpressionSyntaxError, Pattern
from ingest.expressions.matching import around

PIECES = (
    *(
        "a",
        "é",
        "K",
        "1",
        ".",
        "[éè]",
        "[^a]",
        "[a-z]",
        "[à-ÿ]",
        "[^é]",
        r"\w",
        r"\W",
        r"\d",
        r"\s",
        r"\S",
        r"\b",
        r"\B",
    ),
    *(
        "(",
        ")",
        "(?:",
        "(?P<n>",
        "|",
        "*",
        "+",
        "?",
        "*?",
        "++",
        "{2}",
        "{0,1}",
        "^",
        "$",
        r"\A",
        r"\Z",
        "(?=é)",
        "(?<!é)",
    ),
    *(r"\xe9", r"\u00e9", r"\n", r"\.", "[.-]", "[]a]", "x|é"),
)
PATTERNS = st.tuples(
    st.sampled_from(["", "", "(?i)", "(?a)", "(?s)", "(?m)", "(?ai)"]), st.lists(st.sampled_from(PIECES), max_size=7)
).map(lambda parts: parts[0] + "".join(parts[1]))
TEXTS = st.text(st.sampled_from("aAkKéÉèß1٣ .-_x\n\u3000\N{KELVIN SIGN}日😀"), max_size=10)
REPLACEMENTS = st.sampled_from(["", "-", "ü", r"<\0>", r"\\"])


def compiled(text):
    try:
        return Pattern.parse(text)
    except ExpressionSyntaxError:
        return None


@given(PATTERNS, TEXTS)
@example("[^a]+", "é")
@example("a*", "éa")
@example("(?i)k", "\N{KELVIN SIGN}")
@example("[.-]?é", "é")
@example("(?:a|(?:))", "é")
def test_finds_in_utf8_what_re_finds_in_text(text, value):
    pattern = compiled(text)
    if pattern is None:
        return
    ours, data = re.compile(text), value.encode()
    for found, expected in (
        (pattern.search(data), ours.search(value)),
        (pattern.fullmatch(data), ours.fullmatch(value)),
    ):
        assert (None if found is None else (found[0], found.groups())) == (
            None
            if expected is None
            else (expected[0].encode(), tuple(None if group is None else group.encode() for group in expected.groups()))
        )
    assert [piece.decode() for piece in pattern.split(data)] == re.compile(_without_groups(text)).split(value)


def _without_groups(text):
    return text.replace("(?P<n>", "(?:").replace("(?", "\0").replace("(", "(?:").replace("\0", "(?")


@given(PATTERNS, TEXTS, REPLACEMENTS, st.integers(0, 2))
def test_what_is_made_of_utf8_is_utf8(text, value, replacement, most):
    pattern = compiled(text)
    if pattern is None:
        return
    data = value.encode()
    changed = pattern.replacer(replacement, most)(data).decode()
    if "\\" not in replacement:
        assert changed == re.compile(text).sub(replacement, value, count=most)
    pattern.each_replacer(lambda match: b"".join(around(match, 0)), 0)(data).decode()


@given(PATTERNS, st.text(st.characters(max_codepoint=0x7F), max_size=12).map(str.encode))
def test_ascii_is_matched_as_in_bytes(text, data):
    pattern = compiled(text) if text.isascii() and "\\u" not in text else None
    if pattern is None:
        return
    ours = re.compile(text.encode())
    expected = ours.search(data)
    for found in (pattern.search(data), pattern.search_ascii(data)):
        assert (found and (found.span(), found.groups())) == (expected and (expected.span(), expected.groups()))
    assert pattern.replacer("-")(data) == ours.sub(b"-", data)


@given(PATTERNS, st.binary(max_size=12))
def test_any_pattern_takes_any_bytes(text, data):
    pattern = compiled(text)
    if pattern is not None:
        pattern.search(data)
        pattern.split(data)
        pattern.replacer(r"<\0>")(data)


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("[éè]", "à la carte, détour", "é"),
        ("[^a]", "é", "é"),
        ("^.{2}", "aé5", "aé"),
        (r"\w+", "Müller & Söhne", "Müller"),
        (r"(?a)\w+", "Müller", "M"),
        (r"\w+", "слово", "слово"),
        (r"\d+", "x٣٤", "٣٤"),
        (r"\s", "a\u3000b", "\u3000"),
        (r"\bster\b", "Büster ster", "ster"),
        ("(?i)FEHLER|ÄRGER", "ärger", "ärger"),
        (r"é\Z", "café", "é"),
        ("é?x", "x", "x"),
        (r"\u00e9", "é", "é"),
        (r"\N{LATIN SMALL LETTER E WITH ACUTE}", "é", "é"),
        (r"\xe9", "é", "é"),
        ("(?u)é.", "éü", "éü"),
        (r"[à-ÿ]+", "Gröée", "öé"),
        ("(?<=[aé])x", "éx", "x"),
        ("[^\x00-\x7f]+", "abcждf", "жд"),
    ],
)
def test_characters(text, value, found):
    assert Pattern.parse(text).search(value.encode())[0] == found.encode()


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("^.{2}", b"\xff\xc3\xa9", b"\xff\xc3"),
        (r"\xe9", b"caf\xe9", b"\xe9"),
        (r"\w+", b"M\xfcller", b"M"),
        ("(?i)[a-z]+", b"\xe9AB", b"AB"),
        (r"\x00\xff", b"\x00\xff\x01", b"\x00\xff"),
        ("größe", b"\xff gr\xc3\xb6\xc3\x9fe", "größe".encode()),
        ("[éè]", b"\xc3\xa0 \xc3\xa9 \xc3", "é".encode()),
        ("é.", b"\xc3\xa9\xff\xfe", b"\xc3\xa9\xff"),
    ],
)
def test_a_value_that_is_not_utf8(text, value, found):
    assert Pattern.parse(text).search(value)[0] == found


@pytest.mark.parametrize(
    ("text", "column"),
    [
        (r"^\xe9\xa0", 2),
        (r"x\xef\xbb\xbf\xC3\xA9\xE2\x82", 2),
        (r"(?:[\x00-\x7f]|[\xc2-\xf4][\x80-\xbf]+)", 27),
    ],
)
def test_bytes_of_a_part_of_a_character_are_refused(text, column):
    with pytest.raises(ExpressionSyntaxError, match="are characters, not the bytes of one; write the char") as caught:
        Pattern.parse(text)
    assert caught.value.column == column


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"\xD2\xBB\xD4\xC2", "一月".encode("gbk")),
        (r"\xc4\xe3\xba\xc3", "你好".encode("gbk")),
        (r"\xbb\xb6\xd3\xad+", "欢迎".encode("gbk")),
        (r"\x83\x65\x83\x58", "テス".encode("shift_jis")),
        (r"\xc7\xd1\xb1\xdb", "한글".encode("euc-kr")),
        (r"\xc0\xaf", b"\xc0\xaf"),
    ],
)
def test_bytes_of_another_encoding_are_bytes_where_the_value_is_not_utf8(text, value):
    """A part of them may be a character of UTF-8; in UTF-8 they are the characters of these numbers, as `\\xe9` is."""
    replace = Pattern.parse(text).replacer("-")
    assert replace(b"a" + value + b"\xff") == b"a-\xff"
    assert replace(f"a{value.decode('latin-1')}é".encode()) == "a-é".encode()


SPACES = [chr(code) for code in range(0x3100) if chr(code).isspace() and not 0x1C <= code <= 0x1F]


@pytest.mark.parametrize(
    ("text", "is_space"),
    [
        (r"\s", True),
        (r"\S", False),
        (r"[\s,]", True),
        (r"[^\S]", True),
        (r"[]\S]", False),
        (r"[^\s]", False),
        (r"(?#[)\s", True),
        (r"\\?\s", True),
    ],
)
def test_white_space_is_that_of_unicode(text, is_space):
    """White_Space, without the separators of ASCII (1C to 1F), which Python's `\\s` has in characters alone."""
    search = Pattern.parse(rf"(?s)a{text}b").search
    found = [chr(code) for code in range(0x3100) if (search(f"é a{chr(code)}b".encode()) is not None) is is_space]
    in_ascii = [chr(code) for code in range(128) if (search(f"a{chr(code)}b".encode()) is not None) is is_space]
    extra = [","] if "," in text else []
    assert (found, in_ascii) == (sorted(SPACES + extra), sorted(SPACES[:6] + extra))


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        (r"^\xef\xbb\xbf", "\ufeffa", "\ufeff"),
        (r"x\xC3\xA9+", "xééa", "xéé"),
        (r"\xe2\x82\xac\d", "€1", "€1"),
        (r"(?:\xf0\x9f\x98\x80|b)\xc2\xa0", "a😀\xa0", "😀\xa0"),
        (r"\xc3\xa9\xc3\xa8", "éè", "éè"),
    ],
)
def test_the_bytes_of_a_character_are_that_character(text, value, found):
    assert Pattern.parse(text).search(value.encode())[0] == found.encode()
    assert Pattern.parse(text).text == text


def test_an_error_beside_the_bytes_of_a_character_has_its_column():
    with pytest.raises(ExpressionSyntaxError) as caught:
        Pattern.parse(r"\xc3\xa9(")
    assert caught.value.column == 9


@pytest.mark.parametrize("text", [r"[\xe0-\xff]", r"\xff\xd8", r"\\xc3\\xa9", r"[\xe9\xa0]", r"[^\x00-\x7f]"])
def test_other_escapes_are_characters(text):
    assert Pattern.parse(text).text == text


def test_a_character_in_the_plain_part_of_a_pattern_needs_no_decoding():
    """So do sets of ASCII in a pattern that cannot match nothing."""
    for text in ("größe", "ERROR|FATAL", "^/api/v[0-9]+/", r"user=([a-z]+)\.", "(?:GET|POST) ", r"\.css$", "a?[0-9]"):
        pattern = Pattern.parse(text)
        assert pattern.search == pattern.search_ascii


@pytest.mark.parametrize("text", [".", "[^a]", r"\d", "a*", "a?", "(?i)k", "(?:a|)", "()", "(ab)?", "é+", "a{0}", "^"])
def test_any_other_pattern_may_tell_characters_from_bytes(text):
    pattern = Pattern.parse(text)
    assert pattern.expression.in_bytes is None or pattern.search != pattern.search_ascii


def test_parts_around_a_group():
    match = Pattern.parse("ä(ö)ü|a(b)c").search("xäöü".encode())
    assert around(match, 1) == ("ä".encode(), "ü".encode())
    assert around(Pattern.parse("a(b)c").search(b"xabc"), 1) == (b"a", b"c")


@pytest.mark.parametrize(("replacement", "largest"), [("x" * 50, 20), (r"<\0\0\0\0\0\0>", 71), ("é" * 25, 20)])
def test_characters_may_not_become_too_many_bytes(replacement, largest, monkeypatch):
    for module in ("ingest.api.growth", "ingest.expressions.pattern"):
        monkeypatch.setattr(f"{module}.MAX_GROWN_BYTES", 1_000)
    replace = Pattern.parse("[éa]").replacer(replacement)
    assert len(replace("é".encode() * largest)) <= 1_000
    with pytest.raises(DecorateError, match="would become one of more than") as caught:
        replace("é".encode() * (largest + 1))
    assert caught.value.code == "too_large"
