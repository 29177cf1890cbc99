"""Buckets of row keys: HBaseWD's hash distributor byte for byte, and the ranges that a scan of all buckets reads."""

import copy
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import ConfigError
from sinks.rowkeys.distribution import Distribution

HASHER = "com.sematext.hbase.wd.RowKeyDistributorByHashPrefix$OneByteSimpleHash"
NUMBERS = (1, 8, 10, 15, 32, 255, 256)
VECTORS = [
    (b"", "00 01 01 01 01 01 01"),
    (b"\x00", "00 07 01 01 1f 1f 1f"),
    (b"\x61", "00 00 08 08 00 80 80"),
    (b"\x80", "00 01 07 07 01 61 61"),
    (b"\xff", "00 06 00 00 1e 1e 1e"),
    (b"\xff\xff\xff\xff", "00 01 07 0c 01 ed 41"),
    (b"\x7b\x0c\x0b", "00 01 07 0c 19 de 99"),
    (b"\x7b\x7c\x7a", "00 00 00 0a 18 eb 98"),
    (b"row-0001", "00 03 05 0a 0b dc eb"),
    ((1_700_000_000_000).to_bytes(8, "big"), "00 07 01 01 07 5b 47"),
    (b"\xc3\xa9", "00 01 07 0c 19 fc f9"),
    (b"lqlxswv", "00 00 08 08 00 80 00"),  # its hash is -2**31
]
keys = st.one_of(st.binary(max_size=80), st.binary(min_size=500, max_size=3_000))
numbers = st.integers(min_value=1, max_value=256)


def bucket(key: bytes, buckets: int) -> int:
    """The definition, one byte at a time."""
    h = 1
    for byte in key:
        h = (31 * h + (byte - 256 if byte > 127 else byte)) & 0xFFFFFFFF
    return abs(h - (1 << 32) if h >> 31 else h) % buckets


@pytest.mark.parametrize(("key", "prefixes"), VECTORS)
def test_hbasewd_prefixes(key, prefixes):
    for buckets, prefix in zip(NUMBERS, bytes.fromhex(prefixes), strict=True):
        assert Distribution(buckets).physical(key) == bytes([prefix]) + key


@given(keys, numbers)
def test_bucket_is_the_hash_modulo_the_number(key, buckets):
    distribution = Distribution(buckets)
    physical = distribution.physical(key)
    assert physical == bytes([bucket(key, buckets)]) + key
    assert distribution.logical(physical) == key


@pytest.mark.parametrize("size", [511, 512, 513, 1_024, 1_025, 32_766])
def test_long_keys(size):
    key = bytes(range(256)) * 128
    assert Distribution(255).physical(key[:size])[0] == bucket(key[:size], 255)


@pytest.mark.parametrize(
    ("buckets", "of_each", "least", "most"),
    [(32, 55, 55, 55), (37, 13, 12, 14), (255, 20, 19, 21), (256, 20, 20, 20), (256, 1, 1, 1), (1, 200, 200, 200)],
)
def test_spread_of_consecutive_numbers(buckets, of_each, least, most):
    counts = spread(buckets, (number.to_bytes(4, "big") for number in range(buckets * of_each)))
    assert (least, most) == (min(counts), max(counts))


@pytest.mark.parametrize(
    ("buckets", "of_each", "least", "most"), [(32, 55, 55, 55), (127, 100, 99, 102), (255, 100, 99, 102)]
)
def test_spread_of_consecutive_milliseconds(buckets, of_each, least, most):
    start = 1_700_000_000_000
    counts = spread(buckets, (time.to_bytes(8, "big") for time in range(start, start + buckets * of_each)))
    assert (least, most) == (min(counts), max(counts))


@pytest.mark.parametrize(
    ("buckets", "empty", "least", "most"),
    [(31, 21, 0, None), (62, 42, 0, None), (93, 63, 0, None), (32, 0, 20, 670), (8, 0, 1_248, 1_254),
     (16, 0, 564, 690), (255, 0, 34, 43)],
)  # fmt: skip
def test_spread_of_decimal_text(buckets, empty, least, most):
    counts = spread(buckets, (b"sensor-%05d" % number for number in range(10_000)))
    assert (empty, least) == (counts.count(0), min(counts))
    assert most is None or most == max(counts)


def spread(buckets: int, keys) -> list[int]:
    distribution = Distribution(buckets)
    counts = Counter(distribution.physical(key)[:1] for key in keys)
    return [counts[prefix] for prefix in distribution.prefixes]


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        ("6130", "6139", "006130-006139 016130-016139 026130-026139"),
        ("6130", None, "006130-01 016130-02 026130-03"),
        ("", None, "00-01 01-02 02-03"),
        ("", "62", "00-0062 01-0162 02-0262"),
    ],
)
def test_intervals_of_three_buckets(start, stop, expected):
    found = Distribution(3).intervals(bytes.fromhex(start), None if stop is None else bytes.fromhex(stop))
    assert expected == " ".join(f"{first.hex()}-{last.hex()}" for first, last in found)


def test_only_the_prefix_ff_has_an_open_interval():
    intervals = Distribution(256).intervals(b"a")
    assert intervals[-2:] == [(b"\xfea", b"\xff"), (b"\xffa", None)]
    assert all(stop is not None for _, stop in intervals[:-1])


@given(st.lists(st.binary(max_size=4)), st.binary(max_size=3), st.none() | st.binary(max_size=3), numbers)
def test_intervals_hold_exactly_the_keys_of_the_range(logicals, start, stop, buckets):
    distribution = Distribution(buckets)
    found = [
        key
        for first, last in distribution.intervals(start, stop)
        for key in map(distribution.physical, logicals)
        if first <= key and (last is None or key < last)
    ]
    in_range = [key for key in logicals if start <= key and (stop is None or key < stop)]
    assert sorted(in_range) == sorted(map(distribution.logical, found))


def test_rows_after_the_last_bucket_are_in_no_interval():
    assert all(stop is not None and stop <= b"\x0f" for _, stop in Distribution(15).intervals())


def test_prefixes_and_splits():
    assert Distribution(3).prefixes == (b"\x00", b"\x01", b"\x02")
    assert Distribution(3).splits() == (b"\x01", b"\x02")
    assert Distribution(1).splits() == ()
    assert len(Distribution(256).splits()) == 255


def test_it_is_a_value():
    assert Distribution(16) == copy.deepcopy(Distribution(16))
    assert len({Distribution(16), Distribution(16)}) == 1
    with pytest.raises(AttributeError):
        Distribution(16).buckets = 8


@pytest.mark.parametrize("buckets", [0, -1, 257])
def test_number_of_buckets_out_of_range(buckets):
    with pytest.raises(ValueError, match=f"{buckets} is not from 1 to 256"):
        Distribution(buckets)


@pytest.mark.parametrize(("params", "buckets"), [(f"{HASHER}--15", 15), ("OneByteSimpleHash--256", 256)])
def test_parameters_of_hbasewd(params, buckets):
    assert Distribution(buckets) == Distribution.of_hbasewd(params)


@pytest.mark.parametrize("params", ["12", "com.sematext.hbase.wd.RowKeyDistributorByOneBytePrefix--12"])
def test_round_robin_is_refused(params):
    with pytest.raises(ConfigError, match="round-robin distributor"):
        Distribution.of_hbasewd(params)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("", "are not the parameters"),
        ("x", "are not the parameters"),
        (f"{HASHER}--", "are not the parameters"),
        (f"{HASHER}--8--9", "are not the parameters"),
        (f"{HASHER}---8", "are not the parameters"),
        (f"{HASHER}--٣", "are not the parameters"),
        (f"{HASHER}--31", "31 buckets are a multiple of 31"),
        (f"{HASHER}--0", "a table has 1 to 256 buckets, not 0"),
        (f"{HASHER}--257", "a table has 1 to 256 buckets, not 257"),
        ("org.example.Murmur--8", 'unknown hash "org.example.Murmur"'),
    ],
)
def test_parameters_that_are_not_of_the_hash_distributor(params, message):
    with pytest.raises(ConfigError, match=message):
        Distribution.of_hbasewd(params)
