"""Rules for the number of buckets."""

import re
from collections import Counter

import pytest

from ingest.api.buckets import buckets_rejection, buckets_warning
from sinks.rowkeys.distribution import Distribution


@pytest.mark.parametrize("buckets", [0, -1, 257, 31, 62, 93, 248])
def test_rejected_numbers_of_buckets(buckets):
    reason = buckets_rejection(buckets)
    assert reason is not None
    assert str(buckets) in reason


@pytest.mark.parametrize("buckets", [1, 2, 8, 10, 16, 30, 32, 37, 127, 255, 256])
def test_allowed_numbers_of_buckets(buckets):
    assert buckets_rejection(buckets) is None


def test_suggested_numbers_of_buckets_are_neither_rejected_nor_warned_about():
    for buckets in range(1, 257):
        text = buckets_rejection(buckets) or buckets_warning(buckets)
        for suggested in re.findall(r"\d+", text.partition("; use ")[2]) if text else ():
            assert (buckets_rejection(int(suggested)), buckets_warning(int(suggested))) == (None, None)
        assert text is None or "; use " in text


def test_multiples_of_30_and_32_warn():
    warned = [buckets for buckets in range(1, 257) if buckets_warning(buckets)]
    assert warned == sorted({*range(30, 257, 30), *range(32, 257, 32)})


@pytest.mark.parametrize("buckets", [8, 10, 16, 29, 30, 32, 63, 96, 120, 127, 255, 256])
def test_warning_if_decimal_numbers_spread_unevenly(buckets):
    """Uneven: a bucket has twice as many of 10,000 keys as an equal part."""
    sizes = Counter(Distribution(buckets).physical(b"sensor-%05d" % number)[0] for number in range(10_000))
    assert (max(sizes.values()) > 2 * 10_000 / buckets) == (buckets_warning(buckets) is not None)
