"""Rules for the number of buckets."""

import pytest

from ingest.api.buckets import buckets_rejection, buckets_warning


@pytest.mark.parametrize("buckets", [0, -1, 257, 31, 62, 93, 248])
def test_rejected_numbers_of_buckets(buckets):
    reason = buckets_rejection(buckets)
    assert reason is not None
    assert str(buckets) in reason


@pytest.mark.parametrize("buckets", [1, 2, 8, 10, 16, 30, 32, 37, 127, 255, 256])
def test_allowed_numbers_of_buckets(buckets):
    assert buckets_rejection(buckets) is None


def test_suggested_number_of_buckets_is_allowed():
    for buckets in range(31, 257, 31):
        assert f"use {buckets + 1}" in buckets_rejection(buckets)
        assert buckets_rejection(buckets + 1) is None


def test_powers_of_two_from_32_warn():
    assert [buckets for buckets in range(1, 257) if buckets_warning(buckets)] == [32, 64, 128, 256]
