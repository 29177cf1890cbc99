"""The explode decorator."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.explode import Explode
from ingest.api import DecorateError, Event, Origin
from ingest.pipeline.chain import Chain
from ingest.pipeline.outcomes import BoundDecorator
from ingest.testing.events import event_of, settings_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


def make(text):
    return Explode(settings_of(Explode.settings_class(), text))


def bodies(settings, body):
    return [event.body for event in make(settings).decorate(event_of(body))]


@pytest.mark.parametrize(
    ("settings", "body", "expected"),
    [
        ("{}", b"[]", []),
        ("{}", b"\xef\xbb\xbf[1]", [b"1"]),  # RFC 8259, 8.1
        ("{form: values}", b'\xef\xbb\xbf{"a": 1}{}', [b'{"a": 1}', b"{}"]),
        ("{on_empty: keep}", b"[]", [b"[]"]),
        ("{}", b" [ ]\n", []),
        ("{}", b'["a"]', [b"a"]),
        (
            "{}",
            b"[1,-0,1.50,1e400,123456789012345678901234567890]",
            [b"1", b"-0", b"1.50", b"1e400", b"123456789012345678901234567890"],
        ),
        ("{}", b'[ {"a" : 1} ,\r\n[1, 2] , true,null ]', [b'{"a" : 1}', b"[1, 2]", b"true", b"null"]),
        ("{}", rb'["\u00e9\n", ""]', ["é\n".encode(), b""]),
        ("{form: values}", b" \n", []),
        (
            "{form: values}",
            b'{"a":"}{"}{"a" : 2}\r\n[3, 4]"x\\n"null 1.50 -0',
            [
                b'{"a":"}{"}',
                b'{"a" : 2}',
                b"[3, 4]",
                b"x\n",
                b"null",
                b"1.50",
                b"-0",
            ],
        ),
        ("{form: values}", b'1"a"2[3]true{}false', [b"1", b"a", b"2", b"[3]", b"true", b"{}", b"false"]),
        ("{form: lines}", b"", []),
        ("{form: lines}", b"a", [b"a"]),
        ("{form: lines}", b"a\nb\n", [b"a", b"b"]),
        ("{form: lines}", b"a\r\n\r\n\nb\rc", [b"a", b"b\rc"]),
        ("{form: lines, skip_empty: false}", b"a\r\n\r\n\nb\n", [b"a", b"", b"", b"b"]),
        ("{form: lines, skip_empty: false}", b"\n", [b""]),
        ("{form: separated, separator: '||'}", b"a||b|c||", [b"a", b"b|c"]),
        ("{form: separated, separator: ';', skip_empty: false}", b";a;", [b"", b"a", b""]),
        ("{form: separated, separator: '\u00e9'}", b"\xff\xc3\xa9\xfe", [b"\xff", b"\xfe"]),
    ],
)
def test_each_part_becomes_an_event(settings, body, expected):
    assert bodies(settings, body) == expected


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8
)


@given(st.lists(VALUES, max_size=6), st.sampled_from([",", " ,\n\t"]))
def test_emits_the_elements_of_an_array(elements, comma):
    body = "[" + comma.join(map(json.dumps, elements)) + "]"
    expected = [element if isinstance(element, str) else json.dumps(element) for element in elements]
    assert bodies("{}", body) == [text.encode() for text in expected]


@given(st.lists(VALUES, max_size=6), st.sampled_from([" ", "\n", "\r\n\t"]))
def test_emits_values_one_after_another(values, space):
    body = space.join(map(json.dumps, values)).encode()
    assert bodies("{form: values, on_empty: drop}", body) == bodies("{}", json.dumps(values).encode())


@given(st.lists(st.dictionaries(TEXTS, VALUES, max_size=3) | st.lists(VALUES, max_size=3) | TEXTS, max_size=6))
def test_objects_arrays_and_texts_need_no_white_space(values):
    body = "".join(map(json.dumps, values)).encode()
    assert bodies("{form: values}", body) == bodies("{}", json.dumps(values).encode())


@pytest.mark.parametrize(
    "body",
    [b'{"a":1},{"a":2}', b'{"a":1}{"a":', b"truefalse", b"1-2", b'{"a":1}NaN', b'{"a":1}\xff', b"x", rb'"\ud83e"'],
)
@pytest.mark.parametrize("on_invalid", ["error", "keep", "drop"])
def test_not_values(body, on_invalid):
    settings = f"{{form: values, on_invalid: {on_invalid}}}"
    if on_invalid == "error":
        with pytest.raises(DecorateError) as caught:
            bodies(settings, body)
        assert caught.value.code == "bad_json"
    else:
        assert bodies(settings, body) == ([body] if on_invalid == "keep" else [])


@given(st.lists(st.binary(min_size=1, max_size=5).filter(lambda line: b"\n" not in line and not line.endswith(b"\r"))))
def test_lines_round_trip(lines):
    assert bodies("{form: lines}", b"".join(line + b"\n" for line in lines)) == lines


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"1",
        b"[",
        b"[1",
        b"[1,",
        b"[1,]",
        b"[,1]",
        b"[1 2]",
        b"[1] 2",
        b"{}",
        b"[NaN]",
        b"[\xff]",
        b'["\\ud800"]',
        b"[01]",
    ],
)
@pytest.mark.parametrize("on_invalid", ["error", "keep", "drop"])
def test_not_an_array(body, on_invalid):
    event = event_of(body)
    decorator = make(f"{{on_invalid: {on_invalid}}}")
    if on_invalid == "error":
        with pytest.raises(DecorateError) as caught:
            decorator.decorate(event)
        assert caught.value.code == "bad_json"
    else:
        assert decorator.decorate(event) == ([event] if on_invalid == "keep" else [])


@pytest.mark.parametrize("on_invalid", ["error", "keep", "drop"])
@pytest.mark.parametrize("on_missing", ["error", "keep", "drop"])
def test_absent_attribute_follows_on_missing(on_missing, on_invalid):
    def became(event):
        try:
            return len(decorator.decorate(event))
        except DecorateError as error:
            return error.code

    decorator = make(f"{{source: a, on_missing: {on_missing}, on_invalid: {on_invalid}}}")
    counts = {"keep": 1, "drop": 0}
    assert became(event_of("[1]")) == counts.get(on_missing, "no_attribute")
    assert became(event_of("", {"a": "{"})) == counts.get(on_invalid, "bad_json")


@pytest.mark.parametrize("form", ["json", "values", "lines"])
def test_absent_attribute_follows_on_invalid(form):
    event = event_of("[1]")
    assert make(f"{{source: a, form: {form}, on_invalid: keep}}").decorate(event) == [event]
    assert make(f"{{source: a, form: {form}, on_invalid: drop}}").decorate(event) == []


@pytest.mark.parametrize(("on_invalid", "count"), [("keep", 1), ("drop", 0)])
def test_array_nested_too_deep_follows_on_invalid(on_invalid, count):
    body = "[" + "[" * 100_000 + "]" * 100_001
    assert len(make(f"{{on_invalid: {on_invalid}}}").decorate(event_of(body))) == count


@pytest.mark.parametrize(
    ("settings", "body", "code"),
    [
        ("{}", b"[" + b"[" * 100_000 + b"]" * 100_001, "too_deep"),
        ("{form: values}", b"[" * 100_000 + b"]" * 100_000, "too_deep"),
        ("{form: values, max_events: 2}", b"1 2 3", "too_many_parts"),
        ("{form: values, on_empty: error}", b"", "no_parts"),
        ("{max_events: 2}", b"[1,2,3]", "too_many_parts"),
        ("{max_events: 2, form: lines}", b"1\n2\n3", "too_many_parts"),
        ("{on_empty: error}", b"[]", "no_parts"),
        ("{source: a}", b"[]", "no_attribute"),
    ],
)
def test_body_without_valid_parts_fails(settings, body, code):
    with pytest.raises(DecorateError) as caught:
        make(settings).decorate(event_of(body))
    assert caught.value.code == code


def test_events_are_independent_copies():
    event = event_of("b", {"s": "[1,2]"}, host="h", key="k", origin=Origin("t", 1, 2))
    (first, second) = Chain([BoundDecorator(make("{source: s, attribute: part, number_attribute: n}"), "explode")]).run(
        event
    )
    assert isinstance(first, Event)
    assert isinstance(second, Event)
    assert (first.attributes, second.attributes) == (
        {"s": b"[1,2]", "part": b"1", "n": b"0"},
        {"s": b"[1,2]", "part": b"2", "n": b"1"},
    )
    assert (first.origin, second.origin) == (Origin("t", 1, 2, 0), Origin("t", 1, 2, 1))
    assert (second.body, second.host, second.key) == (b"b", "h", b"k")


def test_existing_attribute_fails_if_written_once():
    event = event_of("[1]", {"n": "0"}, write_once=True)
    with pytest.raises(DecorateError) as caught:
        list(make("{number_attribute: n}").decorate(event))
    assert caught.value.code == "attribute_exists"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{form: separated}", [("conflict", ())]),
        ("{separator: ','}", [("conflict", ())]),
        ("{form: separated, separator: ''}", [("string_too_short", ("separator",))]),
        ("{max_events: 0}", [("greater_than_equal", ("max_events",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Explode, settings) == expected


@pytest.mark.parametrize("settings", ["{}", "{form: values}"])
def test_message_names_the_byte_that_is_not_utf8(settings):
    with pytest.raises(DecorateError, match=r"^the text is not UTF-8 \(byte 2 is FF\)$"):
        bodies(settings, b'["\xff"]')
