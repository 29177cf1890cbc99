"""Sizes and numbers as text."""

import pytest

from ingest.amounts import counted, number, size


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (6871947673, "6.40 GiB"), (3 << 40, "3.00 TiB")],
)
def test_size(count, expected):
    assert size(count) == expected


@pytest.mark.parametrize(("value", "expected"), [(3, "3"), (100, "100"), (0.875, "0.88"), (1200.5, "1,200.5")])
def test_number(value, expected):
    assert number(value) == expected


def test_number_with_its_noun():
    assert [counted(count, "table") for count in (0, 1, 2_000)] == ["0 tables", "1 table", "2,000 tables"]
    assert counted(2, "family", "families") == "2 families"
