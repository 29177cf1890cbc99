"""What is made once for each key."""

import pytest

from sinks.mapping.remembered import Remembered


def looked_up(remembered, key):
    try:
        return remembered.known[key]
    except KeyError:
        return remembered.made(key)


def test_made_once_for_each_key():
    asked = []
    remembered = Remembered(lambda key: asked.append(key) or key * 2, 10)
    assert [looked_up(remembered, key) for key in (1, 2, 1, 2)] == [2, 4, 2, 4]
    assert asked == [1, 2]


def test_never_more_than_its_limit():
    remembered = Remembered(str, 3)
    for number in range(10):
        assert looked_up(remembered, number) == str(number)
        assert len(remembered.known) <= 3


def test_a_key_that_can_not_be_made_is_asked_for_again():
    remembered = Remembered(int, 3)
    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            looked_up(remembered, "x")
    assert remembered.known == {}
