"""What is remembered of names; renaming stands with the decorators that rename."""

import re

import pytest

from ingest.decorating.names import BoundedMemo, names_found, rename
from ingest.testing.events import event_of


def test_made_once_for_each_key():
    asked = []
    remembered = BoundedMemo(lambda key: asked.append(key) or key * 2)
    assert [remembered[key] for key in ("a", "b", "a", "b")] == ["aa", "bb", "aa", "bb"]
    assert (asked, remembered.known) == (["a", "b"], {"a": "aa", "b": "bb"})


def test_never_more_than_the_most():
    remembered = BoundedMemo(int, max_keys=3)
    known = remembered.known
    for number in range(10):
        assert remembered[str(number)] == number == known[str(number)]
        assert len(known) <= 3


@pytest.mark.parametrize("key", ["x" * 1_001, b"x" * 1_001, (b"x" * 600, b"y" * 600)])
def test_a_very_long_key_is_not_kept(key):
    remembered = BoundedMemo(len)
    assert remembered[key] == len(key)
    assert remembered.known == {}


def test_a_key_that_cannot_be_made_is_asked_for_again():
    remembered = BoundedMemo(int)
    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            remembered["x"]
    assert remembered.known == {}


def test_names_that_stay_come_first_and_others_in_their_order():
    event = event_of("", {"a": "1", "b": "2", "c": "3"})
    rename(event, BoundedMemo({"a": "x", "b": "b", "c": "y"}.__getitem__))
    assert list(event.attributes) == ["b", "x", "y"]


def test_pattern_is_found_in_the_bytes_of_a_name():
    names = names_found(re.compile(rb"\xff|^\xc3").search)
    assert [names[name] for name in ("a\udcff", "ö", "aö", "")] == [True, True, False, False]
