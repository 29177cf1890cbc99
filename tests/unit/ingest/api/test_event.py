"""An event, and a copy of it."""

from dataclasses import fields

import pytest

from ingest.api import Event, Origin, Priority, WriteOnceEvent
from ingest.api.event import AttributeExistsError


@pytest.mark.parametrize("kind", [Event, WriteOnceEvent])
def test_copy_is_the_same_event_with_attributes_of_its_own(kind: type[Event]):
    event = kind(b"body", {"a": b"1"}, 5, 6, "host", Priority.ERROR, b"key", Origin("t", 1, 2, 3), tombstone=True)
    assert not [field.name for field in fields(Event) if getattr(event, field.name) == getattr(Event(b""), field.name)]
    copy = event.copy()
    assert copy == event
    assert type(copy) is kind
    copy.set("b", b"2")
    assert event.attributes == {"a": b"1"}


@pytest.mark.parametrize("kind", [Event, WriteOnceEvent])
def test_several_attributes_are_set_from_a_mapping_or_pairs(kind: type[Event]):
    event = kind(b"", {"a": b"1"})
    event.update({"b": b"2", "c": b"3"})
    event.update(zip(("d", "e"), (b"4", b"5"), strict=True))
    assert event.attributes == {"a": b"1", "b": b"2", "c": b"3", "d": b"4", "e": b"5"}


def test_pairs_set_nothing_if_one_of_them_exists_and_is_written_once():
    event = WriteOnceEvent(b"", {"a": b"1"})
    with pytest.raises(AttributeExistsError):
        event.update(iter([("b", b"2"), ("a", b"3")]))
    assert event.attributes == {"a": b"1"}
