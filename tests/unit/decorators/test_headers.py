"""The headers decorator."""

import base64
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.headers import Headers
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of


def headers(settings="{}"):
    return Headers(settings_of(Headers.settings_class(), settings))


@pytest.mark.parametrize(
    ("settings", "body", "expected"),
    [
        ("{}", b"", {}),
        ("{}", b"\r\n", {}),
        ("{}", b"A: 1", {"a": b"1"}),
        ("{}", b"A: 1\r\nB:2\nC :\t3 \n", {"a": b"1", "b": b"2", "c": b"3"}),
        ("{}", b"A:\nB: \r\n", {"a": b"", "b": b""}),
        ("{}", b"A: b: c=d", {"a": b"b: c=d"}),
        ("{}", b"A: 1\n\nB: 2", {"a": b"1"}),
        ("{}", b"A: 1\r\n\r\nno header", {"a": b"1"}),
        ("{}", b"A: one\r\n two\n\t three \nB: x", {"a": b"one two three", "b": b"x"}),
        ("{}", b"A:\n one\n \n two\n", {"a": b"one two"}),
        ("{}", b"X-\xc3\xa4: 1", None),
        ("{}", b"A: \xff\xc3\xa4", {"a": b"\xff\xc3\xa4"}),
        ("{}", b"A: one\rtwo", {"a": b"one\rtwo"}),
        ("{}", b"A: 1\na: 2\nB: 3\nA: 4", {"a": b"1, 2, 4", "b": b"3"}),
        ("{separator: '|'}", b"Set-Cookie: a=1\nSet-Cookie: b=2", {"set-cookie": b"a=1|b=2"}),
        ("{on_repeated: first}", b"A: 1\nA: 2", {"a": b"1"}),
        ("{on_repeated: last}", b"A: 1\nA: 2", {"a": b"2"}),
        ("{case: keep}", b"A: 1\na: 2", {"A": b"1", "a": b"2"}),
        ("{prefix: '2hb_h:', only: [HOST]}", b"Host: x\nAccept: y", {"2hb_h:host": b"x"}),
        ("{on_bad_line: skip}", b">From x\n folded\nA: 1\nno header\n: 2\nB: 3", {"a": b"1", "b": b"3"}),
        ("{first_line_attribute: l}", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", {"l": b"GET / HTTP/1.1", "host": b"x"}),
        ("{first_line_attribute: l, rest_attribute: r}", b"GET /", {"l": b"GET /", "r": b""}),
        ("{rest_attribute: r}", b"A: 1\r\n\r\nB: 2\r\n\r\nC", {"a": b"1", "r": b"B: 2\r\n\r\nC"}),
        ("{rest_attribute: r}", b"\nit works", {"r": b"it works"}),
        ("{rest_attribute: r}", b"A: 1", {"a": b"1", "r": b""}),
    ],
)
def test_lines_become_attributes_or_fail(attributes_after, refusal_of, settings, body, expected):
    if expected is None:
        assert refusal_of(Headers, settings, body) == "bad_header_line"
    else:
        assert attributes_after(Headers, settings, body) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"plain", "plain"),
        (b"=?UTF-8?B?w7xiZXI=?=", "über"),
        (b"=?iso-8859-1?q?caf=E9_au_lait?= x", "café au lait x"),
        (b"=?utf-8*en?Q?a?= =?utf-8?Q?b?=", "ab"),
        (b"=?utf-8?Q?a?=\n =?utf-8?Q?b?= c", "ab c"),
        (b"=?utf-8?Q?a?= x =?utf-8?Q?b?=", "a x b"),
        (b"=?utf-8?Q?a?= =?x-foo?Q?b?=", "a =?x-foo?Q?b?="),
        (b"=?x-foo?Q?a?= \t=?utf-8?Q?b?= =?utf-8?Q?c?=", "=?x-foo?Q?a?= \tbc"),
        (b"=?utf-8?Q?a?= =?utf-8?Q?=FF?= =?utf-8?Q?b?=", "a =?utf-8?Q?=FF?= b"),
        (b"=?koi8-r?B?8NLJ18XU?=", "Привет"),
        (b"=?iso-2022-jp?B?GyRCJDMbKEI=?=", "こ"),
        (b"=?no-such?Q?a?=", "=?no-such?Q?a?="),
        (b"=?unicode_escape?Q?a?=", "=?unicode_escape?Q?a?="),
        (b"=?utf-8?B?w?=", "=?utf-8?B?w?="),
        (b"=?utf-8?Q?=FF?=", "=?utf-8?Q?=FF?="),
        (b"=?utf-8?X?a?= =?", "=?utf-8?X?a?= =?"),
    ],
)
def test_encoded_words_are_decoded(attributes_after, value, expected):
    body = b"Subject: " + value
    assert attributes_after(Headers, "{decode_words: true}", body) == {"subject": expected.encode()}


def test_encoded_words_stay_without_the_option(attributes_after):
    assert attributes_after(Headers, "{}", b"A: =?utf-8?Q?a?=") == {"a": b"=?utf-8?Q?a?="}


@pytest.mark.parametrize("body", [b"it works", b"A: 1\nit works", b": 1", b" A: 1", b"A B: 1", b"\x00: 1"])
def test_invalid_header_fails(refusal_of, body):
    assert refusal_of(Headers, "{}", body) == "bad_header_line"


def test_reads_an_attribute(attributes_after):
    assert attributes_after(Headers, "{source: s}", b"x", {"s": "A: 1"})["a"] == b"1"


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(Headers, "{source: s}") == "no_attribute"


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(Headers, "{}", b"B: 1\nA: 2", {"a": "0"}, write_once=True) == "attribute_exists"


def test_many_lines_of_one_name_take_linear_time(attributes_after):
    assert attributes_after(Headers, "{separator: ''}", b"A: x\n" * 100_000) == {"a": b"x" * 100_000}


def test_long_folds_take_linear_time(attributes_after):
    assert attributes_after(Headers, "{}", b"A: x" + b"\n " * 100_000 + b" " * 100_000 + b"y") == {"a": b"x y"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{only: []}", [("too_short", ("only",))]),
        ("{case: upper}", [("enum", ("case",))]),
        ("{on_repeated: all}", [("enum", ("on_repeated",))]),
        ("{on_bad_line: drop}", [("enum", ("on_bad_line",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Headers, settings) == expected


NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=":"), min_size=1, max_size=8)
LINES = st.text(st.characters(exclude_categories=["Cc", "Z", "Cs"]), min_size=1, max_size=8)


@given(
    st.dictionaries(NAMES, st.lists(LINES, min_size=1, max_size=3), max_size=6),
    st.sampled_from(["\n", "\r\n"]),
    st.text(max_size=10),
)
def test_round_trip(fields, end, rest):
    folded = {name: f"{end}\t".join(lines) for name, lines in fields.items()}
    text = "".join(f"{name}: {value}{end}" for name, value in folded.items()) + end + rest
    event = event_of(text)
    headers("{case: keep, rest_attribute: ' '}").decorate(event)
    assert event.attributes == {name: " ".join(lines).encode() for name, lines in fields.items()} | {" ": rest.encode()}


@given(st.text(max_size=20), st.sampled_from(["utf-8", "utf-16"]))
def test_encoded_words_round_trip(text, charset):
    word = base64.b64encode(text.encode(charset)).decode()
    event = event_of(f"A: =?{charset}?B?{word}?=")
    headers("{decode_words: true}").decorate(event)
    assert event.attributes == {"a": text.encode()}


@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_parse_or_fail(text, skip):
    decorator = headers("{on_bad_line: skip, decode_words: true}" if skip else "{first_line_attribute: l}")
    failed = ""
    try:
        decorator.decorate(event_of(text))
    except DecorateError as error:
        failed = error.code
    assert failed in ({""} if skip else {"", "bad_header_line"})


@pytest.mark.parametrize(
    ("charset", "data", "expected"),
    [
        ("utf8", "é".encode(), "é"),
        ("UTF8", "é".encode(), "é"),
        ("cp1252", b"\x80", "€"),
        ("CP1251", b"\xff", "я"),
        ("latin1", b"\xe9", "é"),
        ("iso8859-15", b"\xa4", "€"),
        ("iso-8859-8-i", b"\xf9", "ש"),
        ("iso-8859-6-e", b"\xc8", "ب"),
        ("x-sjis", "日".encode("shift_jis"), "日"),
        ("x-gbk", "日".encode("gbk"), "日"),
        ("ascii", b"a", "a"),
    ],
)
def test_charset_by_another_name(attributes_after, charset, data, expected):
    """RFC 1556 has iso-8859-8-i; the others are the names of mailers, of which most are labels of WHATWG's Encoding."""
    body = f"Subject: =?{charset}?B?{b64encode(data).decode()}?=\n"
    assert attributes_after(Headers, "{decode_words: true}", body) == {"subject": expected.encode()}
