"""Rules for the properties of a table."""

import pytest

from ingest.api.properties import check_property, with_property

PRESENT = {"committed": "1", "owner": "logs"}


@pytest.mark.parametrize(
    ("name", "before", "value", "expected"),
    [
        ("committed", "1", "2", {"committed": "2", "owner": "logs"}),
        ("committed", "0", "1", PRESENT),
        ("committed", "0", "2", None),
        ("committed", None, "2", None),
        ("committed", "1", None, {"owner": "logs"}),
        ("committed", "0", None, None),
        ("updates", None, "sum", PRESENT | {"updates": "sum"}),
        ("updates", "sum", None, PRESENT),
    ],
)
def test_property_is_replaced_if_it_has_the_expected_value(name, before, value, expected):
    assert with_property(PRESENT, name, before, value) == expected


def test_names_are_letters_digits_and_three_other_characters():
    check_property("committed", None, "1")
    check_property("owned_by", "1", None)
    check_property("group.a-b.12", "1", None)
    for name in ("", "Committed", "committed/2", "committed ", "mä", "buckets"):
        with pytest.raises(ValueError, match="cannot be the name of a property"):
            check_property(name, None, "1")


def test_empty_value_is_an_error():
    for values in ((None, ""), ("", "1")):
        with pytest.raises(ValueError, match="is empty"):
            check_property("committed", *values)
