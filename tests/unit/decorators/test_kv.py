"""The kv decorator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.kv import Kv
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("settings", "body", "expected"),
    [
        ("{}", b"a=1", {"a": b"1"}),
        ("{}", b" a=1\tb=2  c=3 ", {"a": b"1", "b": b"2", "c": b"3"}),
        ("{}", b"a= b=2", {"a": b"", "b": b"2"}),
        ("{}", b'a="" b=""', {"a": b"", "b": b""}),
        ("{}", b"a=b=c", {"a": b"b=c"}),
        ("{}", b"a=1 a=2", {"a": b"2"}),
        ("{}", b'a="x y" b', {"a": b"x y", "b": b"true"}),
        ("{}", rb'a="\"\\\n\t\r\x"', {"a": b'"\\\n\t\rx'}),
        ("{}", b"a=\xff \xfe=1", {"a": b"\xff", "\udcfe": b"1"}),
        ("{}", b'a=x"y', {"a": b'x"y'}),
        ("{on_bare: empty}", b"a b=1", {"a": b"", "b": b"1"}),
        ("{on_bare: skip}", b"a b=1", {"b": b"1"}),
        ("{separator: '&'}", b"q=a b&&page=2&", {"q": b"a b", "page": b"2"}),
        ("{separator: ',', assign: ':'}", b'a : 1, b:"x, y" ,c', {"a": b"1", "b": b"x, y", "c": b"true"}),
        ("{separator: ';'}", b"the key = a value ; b=2", {"the key": b"a value", "b": b"2"}),
        ("{separator: '&'}", b"a =  b c & d&e=  &f=  ", {"a": b"b c", "d": b"true", "e": b"", "f": b""}),
        ("{separator: '|'}", b"a=1|b=2", {"a": b"1", "b": b"2"}),
        ("{separator: '^', assign: ']'}", b"a]1^b]2", {"a": b"1", "b": b"2"}),
        ("{separator: '-', assign: '.'}", b"a.1-b.2", {"a": b"1", "b": b"2"}),
        ("{prefix: '2hb_f:', only: [b]}", b"a=1 b=2", {"2hb_f:b": b"2"}),
    ],
)
def test_pairs_become_attributes(attributes_after, settings, body, expected):
    assert attributes_after(Kv, settings, body) == expected


KEYS = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"], exclude_characters='="'), min_size=1, max_size=6)


@given(st.dictionaries(KEYS, st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=6))
def test_round_trip(pairs):
    escapes = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
    line = " ".join(
        f'{key}="{"".join(escapes.get(letter, letter) for letter in value)}"' for key, value in pairs.items()
    )
    event = event_of(line)
    Kv(settings_of(Kv.settings_class())).decorate(event)
    assert event.attributes == {key: value.encode() for key, value in pairs.items()}


@pytest.mark.parametrize(
    "body", [b"", b"  \n", b"a", b"it works", b'a="x', b'a="x\\"', b"=1", b'"a"=1', b'a="x"y', b"a=1 =2"]
)
def test_invalid_pair_fails(refusal_of, body):
    assert refusal_of(Kv, "{}", body) == "bad_pairs"


@pytest.mark.parametrize(("settings", "body"), [("", 'a=1 b="2'), ("", "it works"), ("source: x, ", "a=1")])
def test_invalid_pair_may_pass_or_be_dropped(settings, body):
    for choice, kept in (("keep", True), ("drop", False)):
        event = event_of(body)
        kv = Kv(settings_of(Kv.settings_class(), f"{{{settings}on_invalid: {choice}}}"))
        assert (kv.decorate(event), event, kv.drop_reason) == (kept, event_of(body), "bad_pairs")


def test_bare_key_follows_on_bare(refusal_of):
    assert refusal_of(Kv, "{on_bare: error, on_invalid: keep}", "a") == "bare_key"


def test_bare_key_fails_with_on_bare_error(refusal_of):
    assert refusal_of(Kv, "{on_bare: error}", b"a=1 b") == "bare_key"


def test_reads_an_attribute(attributes_after):
    assert attributes_after(Kv, "{source: s}", b"x=1", {"s": "a=1"})["a"] == b"1"


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(Kv, "{source: s}", b"x=1") == "no_attribute"


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(Kv, "{}", b"b=1 a=2", {"a": "0"}, write_once=True) == "attribute_exists"


def test_many_blanks_and_quotes_take_linear_time(attributes_after):
    assert attributes_after(Kv, "{separator: ','}", b"a=1" + b" " * 20_000 + b",b=2") == {"a": b"1", "b": b"2"}


@pytest.mark.parametrize(
    ("settings", "body"),
    [
        ("{}", b'{"data":"%s="}' % (b"A" * 200_000)),
        ("{separator: ';'}", b"word " * 40_000 + b'="b"c'),
        ("{separator: '&'}", b"a=" + b" " * 200_000 + b'"x'),
    ],
)
def test_long_text_without_pairs_takes_linear_time(refusal_of, settings, body):
    # the square of it would take minutes, and ends in `decorator_timeout`
    assert refusal_of(Kv, settings, body) == "bad_pairs"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{separator: ''}", [("bad_character", ("separator",))]),
        ("{separator: '::'}", [("bad_character", ("separator",))]),
        ("{assign: '\"'}", [("bad_character", ("assign",))]),
        ("{separator: '=' }", [("conflict", ())]),
        ("{only: []}", [("too_short", ("only",))]),
        ("{on_bare: maybe}", [("enum", ("on_bare",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Kv, settings) == expected
