"""The flatten decorator; the tests of json cover the text of leaves."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.flatten import Flatten
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("settings", "before", "after"),
    [
        ("{}", {"a": '{"b": {"c": 1, "d": [2, [3]]}}', "e": "x"},
         {"e": b"x", "a.b.c": b"1", "a.b.d.0": b"2", "a.b.d.1.0": b"3"}),
        ("{}", {"a": "[1.50, -0.0, 1e40]"}, {"a.0": b"1.50", "a.1": b"-0.0", "a.2": b"1e40"}),
        ("{}", {"a": '[-0, "x"]', "b": '{"c": -0, "d": 1e400}'},
         {"a.0": b"-0", "a.1": b"x", "b.c": b"-0", "b.d": b"1e400"}),
        ("{}", {"a": '[true, "x", ""]'}, {"a.0": b"true", "a.1": b"x", "a.2": b""}),
        ("{}", {"a": "{}", "b": "[]", "c": "{", "d": "[x]", "e": " {}", "f": ""},
         {"c": b"{", "d": b"[x]", "e": b" {}", "f": b""}),
        ("{}", {"a": "[" * 101 + "]" * 101}, {"a": b"[" * 101 + b"]" * 101}),
        ("{arrays: text}", {"a": '[[1, 2.0], {"b": [3]}]'}, {"a.0": b"[1,2.0]", "a.1.b": b"[3]"}),
        ("{arrays: unset}", {"a": '{"b": [1], "c": 2}'}, {"a.c": b"2"}),
        ("{on_null: empty}", {"a": "[null]"}, {"a.0": b""}),
        ("{attributes: [a, x]}", {"a": ' {"b": 1} ', "c": "[1]"}, {"a.b": b"1", "c": b"[1]"}),
        ("{attributes: [a], separator: ''}", {"a": "[1]"}, {"a0": b"1"}),
        ("{attributes: {a: ''}}", {"a": '{"a": 1, "b": 2}'}, {"a": b"1", "b": b"2"}),
        ("{attributes: {a: p, b: q}}", {"a": '{"c": 1}', "b": '{"c": 2}'}, {"pc": b"1", "qc": b"2"}),
        ("{keep: true}", {"a": "[1]"}, {"a": b"[1]", "a.0": b"1"}),
        ("{attributes: {a: ''}, keep: true}", {"a": '{"a": 1}'}, {"a": b"1"}),
        ("{attributes: [a, b], on_invalid: keep}", {"a": "7", "b": "[7]"}, {"a": b"7", "b.0": b"7"}),
    ],
)  # fmt: skip
def test_attributes_are_flattened(attributes_after, settings, before, after):
    assert attributes_after(Flatten, settings, attributes=before) == after


@pytest.mark.parametrize(
    ("settings", "value", "code"),
    [
        ("{attributes: [a]}", "", "bad_json"),
        ("{attributes: [a]}", "7", "bad_json"),
        ("{attributes: [a]}", '"x"', "bad_json"),
        ("{attributes: [a]}", "null", "bad_json"),
        ("{attributes: [a]}", '{"b": 1', "bad_json"),
        ("{attributes: [a]}", b'["\xff"]', "bad_json"),
        ("{attributes: [a]}", "[" * 101 + "]" * 101, "too_deep"),
        ("{attributes: [a]}", "[1e400," + "[" * 5000 + "]" * 5001, "too_deep"),
        ("{on_invalid: error}", "[x]", "bad_json"),
        ("{on_null: error}", "[null]", "null_value"),
    ],
)
def test_invalid_value_fails(refusal_of, settings, value, code):
    assert refusal_of(Flatten, settings, "", {"b": "[1]", "a": value}) == code


def test_dropped_event_is_unchanged():
    event = event_of("", {"a": "[1]", "b": "[x"})
    flatten = Flatten(settings_of(Flatten.settings_class(), "{on_invalid: drop}"))
    assert flatten.decorate(event) is False
    assert (event, flatten.drop_reason) == (event_of("", {"a": "[1]", "b": "[x"}), "bad_json")


class TestWrittenOnce:
    def test_flattened_attribute_is_removed_first(self, attributes_after):
        after = attributes_after(Flatten, "{attributes: {a: ''}}", attributes={"a": '{"a": 1}'}, write_once=True)
        assert after == {"a": b"1"}

    @pytest.mark.parametrize(
        ("settings", "attributes"),
        [
            ("{}", {"a": "[1]", "a.0": "x"}),
            ("{attributes: {a: '', b: ''}}", {"a": '{"c": 1}', "b": '{"c": 2}'}),
            ("{attributes: {a: ''}, keep: true}", {"a": '{"a": 1}'}),
        ],
    )
    def test_existing_name_fails(self, refusal_of, settings, attributes):
        assert refusal_of(Flatten, settings, "", attributes, write_once=True) == "attribute_exists"


LEAVES = st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.integers(-(2**63), 2**63) | st.booleans()
CONTENT = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcé", min_size=1), inner, max_size=3),
    max_leaves=12,
)


def leaves(content, name):
    if isinstance(content, dict | list):
        members = content.items() if isinstance(content, dict) else enumerate(content)
        return {path: leaf for member, inner in members for path, leaf in leaves(inner, f"{name}.{member}").items()}
    return {name: (content if isinstance(content, str) else json.dumps(content)).encode()}


@given(st.dictionaries(st.sampled_from("xyz"), st.lists(CONTENT, max_size=3) | st.dictionaries(st.text("ab"), CONTENT)))
def test_every_leaf_is_named_by_its_path(contents):
    event = event_of("", {name: json.dumps(content) for name, content in contents.items()})
    Flatten(settings_of(Flatten.settings_class())).decorate(event)
    expected = {}
    for name, content in contents.items():
        expected |= leaves(content, name)
    assert event.attributes == expected


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ("{attributes: []}", "too_short"),
        ("{attributes: {}}", "too_short"),
        ("{arrays: split}", "enum"),
        ("{on_invalid: unset}", "enum"),
        ("{on_null: drop}", "enum"),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, kind):
    assert kind in {error for error, _ in errors_of(Flatten, settings)}


def test_numbers_may_be_binary(attributes_after):
    found = attributes_after(Flatten, "{numbers: auto}", attributes={"a": '[7, 2.5, "7", -0]', "b": '{"c": 1e400}x'})
    seven, half = bytes(7) + b"\7", bytes.fromhex("4004000000000000")
    assert found == {"a.0": seven, "a.1": half, "a.2": b"7", "a.3": bytes(8), "b": b'{"c": 1e400}x'}
    assert attributes_after(Flatten, "{numbers: float64}", attributes={"a": "[2.5]"}) == {"a.0": half}


def test_number_that_does_not_fit_fails_despite_on_invalid(refusal_of):
    assert refusal_of(Flatten, "{numbers: auto}", "", {"a": "[18446744073709551616]"}) == "number_too_large"
