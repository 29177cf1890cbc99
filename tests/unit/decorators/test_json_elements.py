"""The option `elements` of the json decorator: elements of arrays as names of attributes."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.json import Json
from ingest.testing.events import event_of, settings_of
from sinks.mapping.attr2hbase import Attr2HBase

TAGS = "elements: {tags: '2hb_tag:'}"


@pytest.mark.parametrize(
    ("settings", "body", "expected"),
    [
        (TAGS, '{"tags": ["a", "b"], "x": 1}', {"2hb_tag:a": b"1", "2hb_tag:b": b"1", "x": b"1"}),
        (TAGS, '{"tags": ["a", "a"]}', {"2hb_tag:a": b"1"}),
        (TAGS, '{"tags": [""]}', {"2hb_tag:": b"1"}),
        (TAGS, '{"tags": []}', {}),
        (TAGS, "{}", {}),
        (
            TAGS,
            '{"tags": [7, -0, 1.50, 1e400, true, false]}',
            dict.fromkeys([f"2hb_tag:{each}" for each in ("7", "-0", "1.50", "1e400", "true", "false")], b"1"),
        ),
        (TAGS, '{"tags": ["a:b", "2hb_", "ö"]}', dict.fromkeys(["2hb_tag:a:b", "2hb_tag:2hb_", "2hb_tag:ö"], b"1")),
        (
            "elements: {user.tags: t., roles: r.}",
            '{"user": {"tags": ["a"]}, "roles": ["a"]}',
            {"t.a": b"1", "r.a": b"1"},
        ),
        ("elements: {user.tags: t.}", '{"user.tags": ["a"], "user": {"tags": ["b"]}}', {"t.a": b"1", "t.b": b"1"}),
        ("elements: {user_tags: t}, separator: _", '{"user": {"tags": ["a"]}}', {"ta": b"1"}),
        ("elements: {'u.0.tags': t}, arrays: index", '{"u": [{"tags": ["a"]}]}', {"ta": b"1"}),
        ("elements: {u.tags: t}, only: [x]", '{"u": {"tags": ["a"], "y": 1}, "x": 2, "z": 3}', {"ta": b"1", "x": b"2"}),
        ("elements: {a: p, b: p}", '{"a": ["x", "y"], "b": ["y"]}', {"px": b"1", "py": b"1"}),
        (f"{TAGS}, arrays: unset", '{"tags": ["a"], "more": ["b"]}', {"2hb_tag:a": b"1"}),
    ],
)
def test_elements_become_names(attributes_after, settings, body, expected):
    assert attributes_after(Json, f"{{{settings}}}", body) == expected


@pytest.mark.parametrize(
    ("numbers", "one"), [("text", b"1"), ("auto", struct.pack(">q", 1)), ("float64", struct.pack(">d", 1))]
)
def test_value_is_written_as_numbers_say(attributes_after, numbers, one):
    found = attributes_after(Json, f"{{{TAGS}, numbers: {numbers}}}", '{"tags": ["a", 1.5]}')
    assert found == {"2hb_tag:a": one, "2hb_tag:1.5": one}


@pytest.mark.parametrize(
    ("policy", "body", "expected"),
    [
        ("unset", '{"tags": [null, "a"]}', {"2hb_tag:a": b"1"}),
        ("empty", '{"tags": [null, "a"]}', {"2hb_tag:": b"1", "2hb_tag:a": b"1"}),
        ("unset", '{"tags": null}', {}),
        ("empty", '{"tags": null}', {}),
    ],
)
def test_null_follows_on_null(attributes_after, policy, body, expected):
    assert attributes_after(Json, f"{{{TAGS}, on_null: {policy}}}", body) == expected


@pytest.mark.parametrize("body", ['{"tags": [null]}', '{"tags": null}'])
def test_null_fails_with_on_null_error(refusal_of, body):
    assert refusal_of(Json, f"{{{TAGS}, on_null: error}}", body) == "null_value"


NOT_ELEMENTS = ['{"tags": "a"}', '{"tags": {"a": 1}}', '{"tags": 7}', '{"tags": [["a"]]}', '{"tags": ["a", {}]}']


@pytest.mark.parametrize("body", NOT_ELEMENTS)
def test_what_is_not_an_array_of_names_fails(refusal_of, body):
    assert refusal_of(Json, f"{{{TAGS}}}", body) == "bad_elements"


@pytest.mark.parametrize(("action", "kept"), [("keep", True), ("drop", False)])
def test_on_invalid_applies(action, kept):
    event, before = event_of('{"x": 1, "tags": [[]]}'), event_of('{"x": 1, "tags": [[]]}')
    decorator = Json(settings_of(Json.settings_class(), f"{{{TAGS}, on_invalid: {action}}}"))
    assert (decorator.decorate(event), event) == (kept, before)


def test_names_are_limited_in_total(refusal_of):
    body = json.dumps({"tags": [str(number) for number in range(2_000)]})
    assert refusal_of(Json, f"{{elements: {{tags: '{'p' * 10_000}'}}}}", body) == "too_large"


def cells_of(body, settings="", **sink):
    """The columns that a sink without `sys_family`, unless it is given, writes of a body."""
    event = event_of(body, {"2hb_": "k"})
    Json(settings_of(Json.settings_class(), f"{{{TAGS}{settings}}}")).decorate(event)
    (mapped,) = Attr2HBase(Attr2HBase.settings_class()(table="t", **sink)).map(event, 1)
    return mapped[1].columns


def test_empty_element_is_the_empty_qualifier():
    assert cells_of('{"tags": ["", "a"]}') == {b"tag:": b"1", b"tag:a": b"1"}


def test_empty_element_is_a_cell_of_the_system_family():
    assert cells_of('{"tags": [""]}', sys_family="s")[b"s:tag:"] == b"1"


def test_long_element_is_a_qualifier():
    """HBase limits row keys and families, not qualifiers: a cell that is too large is refused by its size."""
    assert cells_of(json.dumps({"tags": ["x" * 100_000]})) == {b"tag:" + b"x" * 100_000: b"1"}


scalars = st.text(st.characters(codec="utf-8")) | st.integers() | st.booleans()


@given(tags=st.lists(scalars), others=st.dictionaries(st.text(max_size=3), scalars))
def test_each_element_is_one_name_and_other_members_stay(tags, others):
    others.pop("tags", None)
    event, plain = event_of(json.dumps({**others, "tags": tags})), event_of(json.dumps(others))
    Json(Json.settings_class()(elements={"tags": "\0tag:"})).decorate(event)
    Json(Json.settings_class()()).decorate(plain)
    names = {each if isinstance(each, str) else json.dumps(each) for each in tags}
    assert event.attributes == {**plain.attributes, **{f"\0tag:{name}": b"1" for name in names}}


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        ("elements: {user.tags: t}, max_levels: 1", ["elements"]),
        ("elements: {user.tags: t}, max_levels: 2", []),
        ("elements: {user.tags: t}", []),
        ("elements: {user.tags: t}, max_levels: 1, separator: _", []),
        ("elements: {tags: t, a_b_c: t}, max_levels: 2, separator: _", ["elements"]),
    ],
)
def test_member_below_max_levels_is_a_warning(settings, warned):
    """`max_levels` is the number of levels whose members become attributes, so a member below has no elements."""
    found = settings_of(Json.settings_class(), f"{{{settings}}}")
    assert list(found.lint_warnings()) == warned
