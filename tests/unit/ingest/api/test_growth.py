"""How much may be made of some bytes, and what an event takes."""

import pytest

from ingest.api import DecorateError, Event
from ingest.api.growth import check_grown, held_by, max_grown


def test_text_may_become_four_times_as_long_or_64_mib(monkeypatch):
    monkeypatch.setattr("ingest.api.growth.MAX_GROWN_BYTES", 8 << 20)
    assert [max_grown(size) for size in (0, 2 << 20, (2 << 20) + 1)] == [8 << 20, 8 << 20, (8 << 20) + 4]
    check_grown(8 << 20, 5)
    with pytest.raises(DecorateError, match="a text of 5 bytes would become one of more than 8 MiB") as caught:
        check_grown((8 << 20) + 1, 5)
    assert caught.value.code == "too_large"


def test_event_takes_memory_for_itself_its_attributes_and_all_their_bytes():
    """500 bytes for the event; for each attribute 40, and 40 for its name and for its value."""
    assert held_by(Event(b"")) == 500
    assert held_by(Event(b"body", {"name": b"value", "": b"v"})) == 500 + 2 * 120 + 4 + 4 + 5 + 1
