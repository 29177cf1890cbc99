"""What is remembered of names; renaming stands with the decorators that rename."""

from ingest.api.names import Remembered, rename
from ingest.testing.events import event_of


def test_a_name_is_made_once():
    asked = []
    names = Remembered(lambda name: asked.append(name) or name.upper())
    assert [names[name] for name in ("a", "b", "a")] == ["A", "B", "A"]
    assert asked == ["a", "b"]


def test_remembered_names_end_somewhere():
    names = Remembered(str.upper, most=3)
    for number in range(10):
        assert names[f"n{number}"] == f"N{number}"
        assert len(names) <= 3


def test_names_that_stay_come_first_and_others_in_their_order():
    event = event_of("", {"a": "1", "b": "2", "c": "3"})
    rename(event, {"a": "x", "b": "b", "c": "y"})
    assert list(event.attributes) == ["b", "x", "y"]
