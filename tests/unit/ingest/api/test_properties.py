"""Rules for the properties of a table."""

import pytest

from ingest.api.properties import check_property, with_property

PRESENT = {"mark": "1", "owner": "logs"}


@pytest.mark.parametrize(
    ("name", "before", "value", "expected"),
    [
        ("mark", "1", "2", {"mark": "2", "owner": "logs"}),
        ("mark", "0", "1", PRESENT),
        ("mark", "0", "2", None),
        ("mark", None, "2", None),
        ("mark", "1", None, {"owner": "logs"}),
        ("mark", "0", None, None),
        ("updates", None, "sum", PRESENT | {"updates": "sum"}),
        ("updates", "sum", None, PRESENT),
    ],
)
def test_property_is_replaced_if_it_has_the_expected_value(name, before, value, expected):
    assert with_property(PRESENT, name, before, value) == expected


def test_names_are_letters_digits_and_three_other_characters():
    check_property("mark", None, "1")
    check_property("owned_by", "1", None)
    check_property("group.a-b.12", "1", None)
    for name in ("", "Mark", "mark/2", "mark ", "mä", "buckets"):
        with pytest.raises(ValueError, match="cannot be the name of a property"):
            check_property(name, None, "1")


def test_empty_value_is_an_error():
    for values in ((None, ""), ("", "1")):
        with pytest.raises(ValueError, match="is empty"):
            check_property("mark", *values)
