"""The leef decorator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.leef import Leef
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of

NAMES = ("leefVersion", "deviceVendor", "deviceProduct", "deviceVersion", "eventId")
ONE, TWO = b"LEEF:1.0|V|P|1|7|", b"LEEF:2.0|V|P|1|7|"


def header(*fields):
    return dict(zip(NAMES, fields or (b"1.0", b"V", b"P", b"1", b"7"), strict=True))


def leef(settings="{}"):
    return Leef(settings_of(Leef.settings_class(), settings))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (b"", {}),
        (b"\n", {}),
        (b"a=1", {"a": b"1"}),
        (b"\ta=1\t\tb=2\t\r\n", {"a": b"1", "b": b"2"}),
        (b"a=x y = z\tb=", {"a": b"x y = z", "b": b""}),
        (b"a=1\t b = 2 ", {"a": b"1", "b": b" 2 "}),
        (b"a=1\ta=2", {"a": b"2"}),
        (b"a=x^y|z\\\tb=\xff", {"a": b"x^y|z\\", "b": b"\xff"}),
        (b"eventId=9\ta=1", {"a": b"1"}),
    ],
)
def test_pairs_of_version_one(attributes_after, pairs, expected):
    assert attributes_after(Leef, "{}", ONE + pairs) == header() | expected


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (b"", {}),
        (b"^|", {}),
        (b"^|a=1^b=2", {"a": b"1", "b": b"2"}),
        (b"\t|a=1\tb=2", {"a": b"1", "b": b"2"}),
        (b"|a=1\tb=2", {"a": b"1", "b": b"2"}),
        (b"a=1\tb=2|3", {"a": b"1", "b": b"2|3"}),
        (b"x5E|a=1^b=2", {"a": b"1", "b": b"2"}),
        (b"0x5e|a=1^b=2", {"a": b"1", "b": b"2"}),
        (b"0X09|a=1\tb=2", {"a": b"1", "b": b"2"}),
        (b"x|a=1xb=2", {"a": b"1", "b": b"2"}),
        (b"0|a=10b=2", {"a": b"1", "b": b"2"}),
        (b"\\|a=1\\b=2", {"a": b"1", "b": b"2"}),
        (b"xA6|a=1\xc2\xa6b=2", {"a": b"1", "b": b"2"}),
        (b"\xc2\xa6|a=1\xc2\xa6b=2", {"a": b"1", "b": b"2"}),
        (b"\xa6|a=1\xa6b=2", {"a": b"1", "b": b"2"}),
    ],
)
def test_pairs_of_version_two(attributes_after, rest, expected):
    assert attributes_after(Leef, "{}", TWO + rest) == header(b"2.0", b"V", b"P", b"1", b"7") | expected


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b"LEEF:1.0|V|P|1|7", (b"1.0", b"V", b"P", b"1", b"7")),
        (b"<13>Jan 18 11:07:53 h LEEF:1||||", (b"1", b"", b"", b"", b"")),
        (rb"LEEF:2.0|a\|b|c\\|x\y|=|", (b"2.0", b"a|b", b"c\\", rb"x\y", b"=")),
    ],
)
def test_header_sets_five_fields(attributes_after, body, fields):
    assert attributes_after(Leef, "{}", body) == header(*fields)


@pytest.mark.parametrize("separator", ["' '", "'0x20'", "x20"])
def test_separator_of_the_option(attributes_after, separator):
    settings = f"{{separator: {separator}}}"
    assert attributes_after(Leef, settings, ONE + b"a=1 b=2") == header() | {"a": b"1", "b": b"2"}
    assert attributes_after(Leef, settings, TWO + b"^|a=1 2^b=2")["a"] == b"1 2"


def test_only_and_prefix(attributes_after):
    found = attributes_after(Leef, "{prefix: '2hb_l:', only: [b]}", ONE + b"a=1\tb=2")
    assert found == {f"2hb_l:{name}": value for name, value in header().items()} | {"2hb_l:b": b"2"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"it works",
        b"leef:1.0|V|P|1|7|",
        b"LEEF:3.0|V|P|1|7|",
        b"LEEF:1.0|V|P|1",
        rb"LEEF:1.0|V|P\|1|7",
        ONE + b"allowed",
        ONE + b"a=1\tallowed",
        ONE + b"=1",
        TWO + b"xD800|a=1",
        TWO + b"x3D|a=1",
    ],
)
def test_invalid_message_fails(refusal_of, body):
    assert refusal_of(Leef, "{}", body) == "bad_leef"


def test_reads_an_attribute(attributes_after):
    assert attributes_after(Leef, "{source: s}", b"x", {"s": (ONE + b"a=1").decode()})["a"] == b"1"


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(Leef, "{source: s}") == "no_attribute"


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(Leef, "{}", ONE + b"a=1", {"a": "0"}, write_once=True) == "attribute_exists"


@pytest.mark.parametrize("separator", ["''", "'|'", "'='", "'ab'", "'0x'", "'0x3D'", "xD800", "x12345"])
def test_invalid_separators_are_rejected(errors_of, separator):
    assert errors_of(Leef, f"{{separator: {separator}}}") == [("bad_character", ("separator",))]


KEYS = st.from_regex(r"[A-Za-z0-9_.]{1,6}", fullmatch=True).filter(lambda key: key not in NAMES)
DELIMITERS = st.characters(exclude_characters="|=", exclude_categories=["Cs", "L", "N", "Zs"], max_codepoint=0xFFFF)


@given(
    st.tuples(*[st.binary(max_size=6)] * 4),
    st.dictionaries(KEYS, st.text(max_size=8), max_size=5),
    DELIMITERS.filter(lambda letter: letter not in "_."),
    st.booleans(),
)
def test_round_trip(fields, pairs, separator, as_number):
    values = {key: text.replace(separator, "") for key, text in pairs.items()} | {"last": "x"}
    escaped = b"|".join(field.replace(b"\\", b"\\\\").replace(b"|", b"\\|") for field in fields)
    said = f"0x{ord(separator):02x}" if as_number else separator
    rest = separator.join(f"{key}={text}" for key, text in values.items())
    event = event_of(b"LEEF:2.0|" + escaped + f"|{said}|{rest}".encode())
    leef().decorate(event)
    assert event.attributes == header(b"2.0", *fields) | {key: text.encode() for key, text in values.items()}


@given(st.binary(max_size=60), st.sampled_from([ONE, TWO]))
def test_any_bytes_parse_or_fail(tail, head):
    event = event_of(head + tail)
    failed = ""
    try:
        leef().decorate(event)
    except DecorateError as error:
        failed = error.code
    assert (failed, event.attributes.get("deviceVendor")) in [("bad_leef", None), ("", b"V")]
