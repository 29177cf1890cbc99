"""The json decorator."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.json import Json
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("settings", "body", "expected"),
    [
        ("{}", '{"a": "x", "b": 1, "c": true, "d": false}', {"a": b"x", "b": b"1", "c": b"true", "d": b"false"}),
        ("{}", '{"a": {"b": {"c": "x"}}, "d": {}}', {"a.b.c": b"x"}),
        ("{}", '{"a.b": "x", "": "y"}', {"a.b": b"x", "": b"y"}),
        ("{}", '{"a": 1, "a": 2}', {"a": b"2"}),
        ("{}", '{"ö": "\\u00fc\\ud83d\\ude00"}', {"ö": "ü😀".encode()}),
        ("{}", "{}", {}),
        ("{prefix: '2hb_f:', separator: _}", '{"a": {"b": "x"}}', {"2hb_f:a_b": b"x"}),
        ("{only: [a.b, c]}", '{"a": {"b": 1, "x": 2}, "c": 3, "d": 4}', {"a.b": b"1", "c": b"3"}),
        ("{only: [a], prefix: p}", '{"a": null, "b": null}', {}),
    ],
    ids=["leaves", "nested", "odd-names", "twice", "unicode", "empty", "names", "only", "only-null"],
)
def test_members_become_attributes(attributes_after, settings, body, expected):
    assert attributes_after(Json, settings, body) == expected


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ("arrays: index, only: [user]", ["user.id", "user.mail.home", "user.tags.0", "user.tags.1.x"]),
        ("only: [user.mail]", ["user.mail.home"]),
        ("only: [user.mail.home]", ["user.mail.home"]),
        ("arrays: index, only: [user.tags.1]", ["user.tags.1.x"]),
        ("only: [user.tags]", ["user.tags"]),
        ("only: [user.tags], arrays: unset", []),
        ("only: [user.mai, use, user.id.x, x]", []),
        ("only: [a.b]", ["a.b.c.d"]),
        ("only: [a.b.c.d]", ["a.b.c.d"]),
        ("only: [a.b.c]", []),
        ("only: [useri], separator: ''", []),
        ("only: [usermail], separator: ''", ["usermailhome"]),
        ("only: [userid, usermailhome], separator: ''", ["userid", "usermailhome"]),
    ],
)
def test_only_includes_all_members_of_an_object(attributes_after, settings, names):
    body = '{"user": {"id": 7, "mail": {"home": "h"}, "tags": ["a", {"x": 1}]}, "a.b": {"c.d": 1}, "users": 2}'
    assert list(attributes_after(Json, f"{{{settings}}}", body)) == names


def leaves(content, path=()):
    """The path of each value that is neither an object nor an array."""
    if isinstance(content, int):
        yield path
        return
    for name, inner in content.items() if isinstance(content, dict) else enumerate(content):
        yield from leaves(inner, (*path, str(name)))


members = st.sampled_from(["a", "b", "a.b", "", "."])
values = st.recursive(st.integers(), lambda inner: st.dictionaries(members, inner) | st.lists(inner), max_leaves=8)


@given(
    st.dictionaries(members, values),
    st.lists(st.sampled_from(["a", "b", "a.b", "a.a", "a.b.a", "a.0", "", ".", "a.", "ab", "aaa"]), min_size=1),
    st.sampled_from([".", "", "a", "::"]),
)
def test_only_is_a_subset_of_all_members(content, only, separator):
    event = event_of(json.dumps(content))
    Json(Json.settings_class()(arrays="index", separator=separator, only=only)).decorate(event)
    assert event.attributes.keys() == {
        separator.join(path)
        for path in leaves(content)
        if any(separator.join(path[:length]) in only for length in range(1, len(path) + 1))
    }


@pytest.mark.parametrize(
    "number",
    [
        "0",
        "-1",
        "1.10",
        "1.0",
        "1e3",
        "-2.5E-10",
        "18446744073709551615",
        "18446744073709551616",
        "0.1000000000000000055",
        "-0",
        "-0.0",
        "-0e1",
        "1e-400",
        "1e400",
        "-1E+400",
        "1" * 400,
    ],
)
def test_numbers_keep_their_digits(attributes_after, number):
    body = f'{{"a": {number}, "b": [0,{number}], "c": {{"d":{number}}}, "e": "1.5"}}'
    written = number.encode()
    expected = {"a": written, "b": b"[0," + written + b"]", "c.d": written, "e": b"1.5"}
    assert attributes_after(Json, "{}", body) == expected
    for other in ("1.5", '", -0,"', '"2024-03-01"'):
        assert attributes_after(Json, "{arrays: index}", f'{{"a":[{number}\n,-0],"b":{other},"c":0}}') == {
            "a.0": written,
            "a.1": b"-0",
            "b": other.strip('"').encode(),
            "c": b"0",
        }


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ("text", {"a": b'[1,"x",{"b":[null]}]', "e": b"[]"}),
        ("index", {"a.0": b"1", "a.1": b"x"}),
        ("unset", {}),
    ],
)
def test_array_follows_its_option(attributes_after, arrays, expected):
    assert attributes_after(Json, f"{{arrays: {arrays}}}", '{"a": [1, "x", {"b": [null]}], "e": []}') == expected


@pytest.mark.parametrize(("policy", "expected"), [("unset", {}), ("empty", {"a": b"", "b.c": b""})])
def test_null_follows_on_null(attributes_after, policy, expected):
    assert attributes_after(Json, f"{{on_null: {policy}}}", '{"a": null, "b": {"c": null}}') == expected


def test_null_fails_with_on_null_error(refusal_of):
    assert refusal_of(Json, "{on_null: error}", '{"x": 1, "a": null}') == "null_value"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        "1",
        '"a"',
        "null",
        "NaN",
        b"\xff",
        '{"a": "\\ud800"}',
        '{"a": 1} x',
        "1e400",
        '{"a": 1e400',
        '{"a": 1e400, "b": NaN}',
        '{"a": 1e400, "b": "\\udcff"}',
        '{"\\ud800": 1e400}',
        '{"a": 1e400} x',
        b'{"a": 1e400, "b": "\xff"}',
        '{"a": 1e400, "b": "\t"}',
    ],
)
def test_not_an_object(refusal_of, attributes_after, body):
    assert refusal_of(Json, "{}", body) == "bad_json"
    assert attributes_after(Json, "{on_invalid: keep}", body) == {}
    assert Json(settings_of(Json.settings_class(), "{on_invalid: drop}")).decorate(event_of(body)) is False


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[1]", "not a JSON object; `explode` makes events of an array"),
        (b"7", "not a JSON object"),
        (b"\xff{}", "the text is not UTF-8 (byte 0 is FF)"),
        (b'{"n": 1e400, "t": "\xc3"}', "the text is not UTF-8 (byte 19 is C3)"),
        (b"{", "not JSON: unexpected end of data: line 1 column 2 (char 1)"),
    ],
)
def test_message_says_what_the_text_is(body, message):
    with pytest.raises(DecorateError) as caught:
        Json(settings_of(Json.settings_class(), "{}")).decorate(event_of(body))
    assert str(caught.value) == message


def test_reads_an_attribute(attributes_after):
    assert attributes_after(Json, "{source: s}", "{", {"s": '{"a": 1}'})["a"] == b"1"


def test_absent_attribute_fails_or_follows_on_invalid(refusal_of, attributes_after):
    assert refusal_of(Json, "{source: s}", "{}") == "no_attribute"
    assert attributes_after(Json, "{source: s, on_invalid: keep}", "{}") == {}
    assert Json(settings_of(Json.settings_class(), "{source: s, on_invalid: drop}")).decorate(event_of("{}")) is False


@pytest.mark.parametrize(
    "body",
    [
        '{"a":' * 101 + "1" + "}" * 101,
        '{"a":' * 2000 + "1" + "}" * 2000,
        '{"f": 1.5, "a": ' + "[" * 900 + "]" * 900 + "}",
        '{"a": ' + "[" * 900 + "1.5" + "]" * 900 + "}",
    ],
    ids=["objects", "beyond-the-parser", "arrays-with-a-float", "float-in-arrays"],
)
def test_too_deep_nesting_fails_the_event(refusal_of, body):
    assert refusal_of(Json, "{}", body) in {"too_deep", "bad_json"}


def test_total_length_of_repeated_names_is_limited(refusal_of, attributes_after):
    """Without the limit, 60 KB of JSON would become gigabytes of names, which grow quadratically."""
    long, members = "n" * 100_000, ",".join(f'"{number}":1' for number in range(200))
    body = f'{{"{long}": {{{members}}}}}'
    assert refusal_of(Json, "{}", body) == "too_large"
    assert refusal_of(Json, "{arrays: index}", f'{{"{long}": [{",".join("1" * 200)}]}}') == "too_large"
    assert refusal_of(Json, "{only: [a]}", f'{{"a": {{"{long}": {{{members}}}}}}}') == "too_large"
    assert attributes_after(Json, "{only: [a]}", f'{{"a": 1, "{long}": {{{members}}}}}') == {"a": b"1"}


def test_too_deep_nesting_may_pass(attributes_after):
    body = '{"f": 1.5, "a": ' + "[" * 900 + "]" * 900 + "}"
    assert attributes_after(Json, "{on_invalid: keep}", body) == {}


def test_a_hundred_levels_are_allowed(attributes_after):
    body = '{"a":' * 100 + "1" + "}" * 100
    assert attributes_after(Json, "{}", body) == {".".join("a" * 100): b"1"}


def test_failed_event_is_unchanged_if_written_once(refusal_of):
    assert refusal_of(Json, "{}", '{"a": 1, "b": 2}', {"b": "0"}, write_once=True) == "attribute_exists"


_leaves = st.text(alphabet=st.characters(codec="utf-8")) | st.booleans() | st.integers(-(2**63), 2**64 - 1)


@given(st.dictionaries(st.text(alphabet=st.characters(codec="utf-8")), _leaves))
def test_flat_objects_round_trip(members):
    event = event_of(json.dumps(members))
    assert Json(settings_of(Json.settings_class())).decorate(event) is True
    expected = {
        name: (value if isinstance(value, str) else json.dumps(value)).encode() for name, value in members.items()
    }
    assert event.attributes == expected


@given(
    st.recursive(st.none() | _leaves | st.floats(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_any_json_parses_or_fails(content):
    event = event_of(json.dumps(content))
    for arrays in ("text", "index"):
        decorator = Json(settings_of(Json.settings_class(), f"{{on_invalid: keep, arrays: {arrays}}}"))
        assert decorator.decorate(event) is True


def int64(number):
    return struct.pack(">q", number)


def float64(number):
    return struct.pack(">d", number)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("0", int64(0)),
        ("-0", int64(0)),
        ("-7", int64(-7)),
        ("9223372036854775807", int64(2**63 - 1)),
        ("-9223372036854775808", int64(-(2**63))),
        ("1.0", float64(1.0)),
        ("1.50", float64(1.5)),
        ("-0.0", float64(-0.0)),
        ("1e3", float64(1000.0)),
        ("9223372036854775808.0", float64(2.0**63)),
        ("-1e300", float64(-1e300)),
        ("1e-400", float64(0.0)),
    ],
)
def test_number_has_the_type_of_its_notation(attributes_after, number, expected):
    """Also if the text must be parsed again for its other numbers, and whatever the array beside it contains."""
    for other, more in (
        ("x", {}),
        (", -0", {}),
        ('"', {}),
        ("x", {"c": "1e300"}),
        ("x", {"c": "-0"}),
        ("x", {"c": "[1.5]"}),
    ):
        members = "".join(f', "{name}": {value}' for name, value in more.items())
        found = attributes_after(Json, "{numbers: auto}", f'{{"a": {number}, "b": {json.dumps(other)}{members}}}')
        assert (found["a"], found["b"]) == (expected, other.encode())


def test_other_values_stay_text_with_binary_numbers(attributes_after):
    body = '{"a": "7", "b": true, "c": [1, 2.50, 1e400], "d": null, "e": {"f": 1}, "g": ""}'
    for numbers, one in (("auto", int64(1)), ("float64", float64(1.0))):
        found = attributes_after(Json, f"{{numbers: {numbers}, on_null: empty}}", body)
        assert found == {"a": b"7", "b": b"true", "c": b"[1,2.50,1e400]", "d": b"", "e.f": one, "g": b""}


@pytest.mark.parametrize(
    ("number", "expected"),
    [("7", 7.0), ("1.5", 1.5), ("9007199254740992", 2.0**53), ("18446744073709551616", 2.0**64), ("1e300", 1e300)],
)
def test_all_numbers_may_be_float64(attributes_after, number, expected):
    assert attributes_after(Json, "{numbers: float64}", f'{{"a": {number}}}') == {"a": float64(expected)}


@pytest.mark.parametrize(
    ("numbers", "number"),
    [
        ("auto", "9223372036854775808"),
        ("auto", "-9223372036854775809"),
        ("auto", "18446744073709551615"),
        ("auto", "18446744073709551616"),
        ("auto", "1" * 400),
        ("auto", "1" * 5_000),
        ("auto", "1e400"),
        ("float64", "9007199254740993"),
        ("float64", "18446744073709551615"),
        ("float64", "1" * 5_000),
        ("float64", "-1e400"),
    ],
)
def test_number_that_does_not_fit_fails(refusal_of, attributes_after, numbers, number):
    body = f'{{"x": "y", "a": {number}}}'
    assert refusal_of(Json, f"{{numbers: {numbers}, on_invalid: keep}}", body) == "number_too_large"
    assert attributes_after(Json, f"{{numbers: {numbers}, only: [x]}}", body) == {"x": b"y"}


@given(st.dictionaries(st.text(alphabet=st.characters(codec="utf-8")), _leaves | st.floats(allow_nan=False)))
def test_binary_numbers_round_trip(members):
    event, as_text = event_of(json.dumps(members)), event_of(json.dumps(members))
    fits = all(not isinstance(value, int) or -(2**63) <= value < 2**63 for value in members.values())
    finite = {name: value for name, value in members.items() if value not in (float("inf"), float("-inf"))}
    if not fits or len(finite) < len(members):
        return
    Json(settings_of(Json.settings_class(), "{numbers: auto}")).decorate(event)
    Json(settings_of(Json.settings_class())).decorate(as_text)
    for name, value in members.items():
        match value:
            case str() | bool():
                assert event.attributes[name] == as_text.attributes[name]
            case int():
                assert event.attributes[name] == int64(value)
            case float():
                assert event.attributes[name] == float64(value)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'\xef\xbb\xbf{"a": 1.50}', {"a": b"1.50"}),
        (b'\xef\xbb\xbf{"a": -0, "b": 1e999}', {"a": b"-0", "b": b"1e999"}),
        (b'\xef\xbb\xbf {"\xef\xbb\xbfa": "\xef\xbb\xbf"}', {"\ufeffa": b"\xef\xbb\xbf"}),
    ],
)
def test_byte_order_mark_before_the_text_is_ignored(attributes_after, body, expected):
    assert attributes_after(Json, "{}", body) == expected


def test_second_byte_order_mark_fails(refusal_of):
    assert refusal_of(Json, "{}", b"\xef\xbb\xbf" * 2 + b"{}") == "bad_json"
