"""An event, and a copy of it."""

from dataclasses import fields

import pytest

from ingest.api import Event, Origin, Priority, WriteOnceEvent


@pytest.mark.parametrize("kind", [Event, WriteOnceEvent])
def test_copy_is_the_same_event_with_attributes_of_its_own(kind: type[Event]):
    event = kind(b"body", {"a": b"1"}, 5, 6, "host", Priority.ERROR, b"key", Origin("t", 1, 2, 3), tombstone=True)
    assert not [field.name for field in fields(Event) if getattr(event, field.name) == getattr(Event(b""), field.name)]
    copy = event.copy()
    assert copy == event
    assert type(copy) is kind
    copy.set("b", b"2")
    assert event.attributes == {"a": b"1"}
