"""The prefix decorator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.prefix import Prefix
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("settings", "before", "after"),
    [
        ("{add: p.}", {"a": "1", "p.b": "2"}, {"p.a": b"1", "p.p.b": b"2"}),
        ("{add: p., attributes: [a, x]}", {"a": "1", "b": "2"}, {"p.a": b"1", "b": b"2"}),
        ("{add: p., pattern: '^b'}", {"a": "1", "b": "2"}, {"a": b"1", "p.b": b"2"}),
        ("{add: p., pattern: '^b', attributes: [a]}", {"a": "1", "b": "2", "c": "3"},
         {"p.a": b"1", "p.b": b"2", "c": b"3"}),
        ("{strip: p.}", {"p.a": "1", "b": "2", "xp.c": "3"}, {"a": b"1", "b": b"2", "xp.c": b"3"}),
        ("{strip: p.}", {"p.p.a": "1", "p.": "2"}, {"p.a": b"1", "": b"2"}),
        ("{strip: p., add: q.}", {"p.a": "1", "b": "2"}, {"q.a": b"1", "b": b"2"}),
        ("{strip: p., attributes: [p.a]}", {"p.a": "1", "p.b": "2"}, {"a": b"1", "p.b": b"2"}),
        ("{strip: p.}", {"p.a": "1", "a": "2"}, {"a": b"1"}),
        ("{strip: p., add: p.}", {"p.a": "1"}, {"p.a": b"1"}),
        ("{add: é}", {"\udcff": "1"}, {"é\udcff": b"1"}),
    ],
)  # fmt: skip
def test_prefix_changes_the_selected_names(attributes_after, settings, before, after):
    assert attributes_after(Prefix, settings, attributes=before) == after


def test_existing_new_name_fails_if_written_once(refusal_of):
    assert refusal_of(Prefix, "{strip: p.}", attributes={"p.a": "1", "a": "2"}, write_once=True) == "attribute_exists"


@given(st.dictionaries(st.text(), st.binary()), st.text(st.characters(codec="ascii", categories=["L"]), min_size=1))
def test_added_prefix_can_be_stripped(attributes, prefix):
    event = event_of("", attributes)
    Prefix(settings_of(Prefix.settings_class(), f"{{add: '{prefix}'}}")).decorate(event)
    assert list(event.attributes) == [prefix + name for name in attributes]
    Prefix(settings_of(Prefix.settings_class(), f"{{strip: '{prefix}'}}")).decorate(event)
    assert event.attributes == attributes


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{}", [("missing", ())]),
        ("{attributes: [a]}", [("missing", ())]),
        ("{add: a, attributes: []}", [("too_short", ("attributes",))]),
        ("{add: a, pattern: '['}", [("bad_pattern", ("pattern",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Prefix, settings) == expected
