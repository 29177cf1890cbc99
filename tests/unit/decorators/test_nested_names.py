"""Names of nested members: those that several members get, and the levels that become attributes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.avro import Avro
from decorators.flatten import Flatten
from decorators.json import Json
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("settings", "body"),
    [
        ("{}", '{"a.b": 1, "a": {"b": 2}}'),
        ("{}", '{"a": {"b": 2}, "a.b": 1}'),
        ("{}", '{"a": {"b": {"c": "x"}}, "a.b": {"c": "y"}}'),
        ("{}", '{"a": {"b": ""}, "a.b": "y"}'),
        ("{separator: _}", '{"a_b": true, "a": {"b": false}}'),
        ("{separator: ''}", '{"ab": [1], "a": {"b": [2]}}'),
        ("{arrays: index}", '{"a": ["x"], "a.0": "y"}'),
        ("{on_null: empty}", '{"a": {"b": null}, "a.b": "y"}'),
        ("{only: [a]}", '{"a": {"b.c": 1, "b": {"c": 2}}}'),
        ("{numbers: float64}", '{"a.b": 1, "a": {"b": 2}}'),
        ("{elements: {tags: t.}}", '{"tags": ["x"], "t": {"x": 2}}'),
        ("{elements: {u.tags: t.}}", '{"t.x": 2, "u": {"tags": ["x"]}}'),
        ("{elements: {u.tags: t.}}", '{"u": {"tags": ["x"]}, "t.x": 2}'),
        ("{elements: {u.tags: t.}}", '{"t": {"x": 2}, "u": {"tags": ["x", "x"]}}'),
        ("{elements: {u.tags: 'p:'}, prefix: 'p:'}", '{"x": "no", "u": {"tags": ["x"]}}'),
        ("{elements: {u.tags: t.}, on_null: empty}", '{"t.": "y", "u": {"tags": [null]}}'),
        ("{prefix: 'p:', max_levels: 2}", '{"a.b": 1, "a": {"b": {"c": 1}}}'),
    ],
)
def test_name_of_members_with_different_values_fails(refusal_of, settings, body):
    assert refusal_of(Json, settings, body) == "repeated_name"


@pytest.mark.parametrize(
    ("settings", "body", "expected"),
    [
        ("{}", '{"a.b": 1, "a": {"b": 1}}', {"a.b": b"1"}),
        ("{}", '{"a.b": "1", "a": {"b": 1}}', {"a.b": b"1"}),
        ("{}", '{"a.b": 1, "a": {"b": null}}', {"a.b": b"1"}),
        ("{}", '{"a.b": 1.0, "a": {"b": {}}}', {"a.b": b"1.0"}),
        ("{}", '{"a": 1, "a": 2}', {"a": b"2"}),
        ("{separator: /}", '{"a.b": 1, "a": {"b": 2}}', {"a.b": b"1", "a/b": b"2"}),
        ("{only: [a.b]}", '{"a.b": 1, "a": {"b": 1, "c": 2}, "d": 1}', {"a.b": b"1"}),
        ("{arrays: unset}", '{"a.0": 1, "a": [2]}', {"a.0": b"1"}),
        ("{elements: {tags: t.}}", '{"tags": ["x", "x", "y"], "t": {"x": 1}}', {"t.x": b"1", "t.y": b"1"}),
        ("{elements: {u.tags: t.}}", '{"t.x": 1, "u": {"tags": ["x", "x", "y"]}}', {"t.x": b"1", "t.y": b"1"}),
    ],
)
def test_name_of_equal_values_is_set(attributes_after, settings, body, expected):
    assert attributes_after(Json, settings, body) == expected


def test_flatten_and_avro_refuse_it_too(refusal_of):
    assert refusal_of(Flatten, "{attributes: [x]}", "", {"x": '{"a.b": 1, "a": {"b": 2}}'}) == "repeated_name"
    schema = '{"type": "map", "values": ["int", {"type": "map", "values": "int"}]}'
    record = f'{{"type": "record", "name": "R", "fields": [{{"name": "m", "type": {schema}}}]}}'
    # {"a.b": 1, "a": {"b": 2}}
    body = b"\4\6a.b\0\2\2a\2\2\2b\4\0\0"
    assert refusal_of(Avro, f"{{schema_text: '{record}'}}", body) == "repeated_name"


def test_the_message_names_it_and_a_way_out():
    decorator = Json(settings_of(Json.settings_class(), "{prefix: 'p:'}"))
    event = event_of('{"x": 1, "a.b": 1, "a": {"b": 2}}')
    with pytest.raises(DecorateError, match=r'"p:a\.b"') as caught:
        decorator.decorate(event)
    assert "separator" in caught.value.hint
    assert event.attributes == {}


def test_the_message_about_the_name_of_an_element_names_the_option():
    decorator = Json(settings_of(Json.settings_class(), "{elements: {u.tags: t.}}"))
    with pytest.raises(DecorateError) as caught:
        decorator.decorate(event_of('{"t.x": 2, "u": {"tags": ["x"]}}'))
    assert "`elements`" in caught.value.hint


NAMES = st.text("ab.", max_size=3)
OBJECTS = st.recursive(
    st.integers(0, 1) | st.sampled_from(["x", "y"]),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=8,
)


def leaves(value, path, sep):
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for name, inner in pairs:
        if isinstance(inner, dict | list):
            yield from leaves(inner, f"{path}{name}{sep}", sep)
        else:
            yield f"{path}{name}", str(inner).encode()


TAGS = st.lists(st.sampled_from(["a", "b", "a.b", ""]), max_size=3)


@given(st.dictionaries(NAMES, OBJECTS, max_size=4), TAGS, st.permutations(["x", "y", "z"]))
def test_no_value_is_lost_to_the_name_of_an_element(content, tags, order):
    decorator = Json(settings_of(Json.settings_class(), "{elements: {z.tags: ''}, arrays: index}"))
    parts = {"x": content, "y": {"a": {"b": 2}, "b": "x"}, "z": {"z": {"tags": tags}}}
    event = event_of(json.dumps({name: value for part in order for name, value in parts[part].items()}))
    merged = parts["x"] | parts["y"] if order.index("x") < order.index("y") else parts["y"] | parts["x"]
    expected = {*leaves(merged, "", "."), *((tag, b"1") for tag in tags)}
    if len({name for name, _ in expected}) < len(expected):
        with pytest.raises(DecorateError) as caught:
            decorator.decorate(event)
        assert caught.value.code == "repeated_name"
    else:
        decorator.decorate(event)
        assert set(event.attributes.items()) == expected


@given(st.dictionaries(NAMES, OBJECTS, max_size=4), st.sampled_from([".", "_", ""]))
def test_no_value_is_lost(content, separator):
    decorator = Json(settings_of(Json.settings_class(), f"{{separator: '{separator}', arrays: index}}"))
    event = event_of(json.dumps(content))
    expected = set(leaves(content, "", separator))
    if len({name for name, _ in expected}) < len(expected):
        with pytest.raises(DecorateError) as caught:
            decorator.decorate(event)
        assert caught.value.code == "repeated_name"
    else:
        decorator.decorate(event)
        assert set(event.attributes.items()) == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{max_levels: 1}", {"a": b"1.50", "b": b'{"c":1.50,"d":{"e":[{"f":null}]},"g":{}}', "h": b"{}"}),
        ("{max_levels: 2}", {"a": b"1.50", "b.c": b"1.50", "b.d": b'{"e":[{"f":null}]}', "b.g": b"{}"}),
        ("{max_levels: 3}", {"a": b"1.50", "b.c": b"1.50", "b.d.e": b'[{"f":null}]'}),
        ("{max_levels: 3, arrays: index}", {"a": b"1.50", "b.c": b"1.50", "b.d.e": b'[{"f":null}]'}),
        ("{max_levels: 4, arrays: index}", {"a": b"1.50", "b.c": b"1.50", "b.d.e.0": b'{"f":null}'}),
        ("{max_levels: 2, arrays: unset}", {"a": b"1.50", "b.c": b"1.50", "b.d": b'{"e":[{"f":null}]}', "b.g": b"{}"}),
        ("{max_levels: 3, arrays: unset}", {"a": b"1.50", "b.c": b"1.50"}),
        ("{max_levels: 1, only: [a, h]}", {"a": b"1.50", "h": b"{}"}),
        ("{max_levels: 1, only: [b.c]}", {}),
        ("{max_levels: 2, only: [b]}", {"b.c": b"1.50", "b.d": b'{"e":[{"f":null}]}', "b.g": b"{}"}),
    ],
)
def test_members_below_the_levels_are_json(attributes_after, settings, expected):
    body = '{"a": 1.50, "b": {"c": 1.50, "d": {"e": [{"f": null}]}, "g": {}}, "h": {}}'
    assert attributes_after(Json, settings, body) == expected


def test_levels_of_flatten_and_avro(attributes_after):
    nested = {"x": '{"a": {"b": [1.0]}}'}
    assert attributes_after(Flatten, "{attributes: [x], max_levels: 1}", "", nested) == {"x.a": b'{"b":[1.0]}'}
    assert attributes_after(Flatten, "{attributes: [x], max_levels: 2}", "", nested) == {"x.a.b": b"[1.0]"}
    schema = '{"type": "map", "values": {"type": "map", "values": "bytes"}}'
    record = f'{{"type": "record", "name": "R", "fields": [{{"name": "m", "type": {schema}}}]}}'
    text = f"{{schema_text: '{record}', max_levels: 1}}"
    assert attributes_after(Avro, text, b"\2\2a\2\2b\2\xff\0\0") == {"m": b'{"a":{"b":{"b64":"/w=="}}}'}


@pytest.mark.parametrize("numbers", ["auto", "float64"])
def test_numbers_below_the_levels_stay_text(attributes_after, numbers):
    settings = f"{{max_levels: 1, numbers: {numbers}}}"
    assert attributes_after(Json, settings, '{"a": {"b": 1e400, "c": -0}}') == {"a": b'{"b":1e400,"c":-0}'}


def test_object_below_the_levels_may_be_nested_too_deep(refusal_of):
    assert refusal_of(Json, "{max_levels: 1}", '{"a": ' * 300 + "1" + "}" * 300) == "too_deep"


@pytest.mark.parametrize(("levels", "code"), [(0, "greater_than_equal"), (101, "less_than_equal")])
def test_levels_are_limited(errors_of, levels, code):
    for decorator in (Json, Flatten):
        assert errors_of(decorator, f"{{max_levels: {levels}}}") == [(code, ("max_levels",))]
