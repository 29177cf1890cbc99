"""Durations and sizes with units."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api.errors import DecorateError
from ingest.formats.quantities import bytes_of, seconds_of

NANOSECONDS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # as Go's time.ParseDuration reads them
        ("0", "0"), ("0s", "0"), ("5s", "5"), ("30s", "30"), ("1478s", "1478"), ("-5s", "-5"), ("+5s", "5"),
        ("5.0s", "5"), ("5.6s", "5.6"), ("5.s", "5"), (".5s", "0.5"), ("1.004s", "1.004"), ("100.00100s", "100.001"),
        ("10ns", "0.00000001"), ("11us", "0.000011"), ("12µs", "0.000012"), ("12μs", "0.000012"), ("13ms", "0.013"),
        ("14s", "14"), ("15m", "900"), ("16h", "57600"), ("3h30m", "12600"), ("10.5s4m", "250.5"),
        ("-2m3.4s", "-123.4"), ("1h2m3s4ms5us6ns", "3723.004005006"), ("52763797000ns", "52.763797"),
        ("0.3333333333333333333h", "1199.99999999999999988"), ("9007199.254740993ms", "9007.199254740993"),
        # with the units of Prometheus, and as people write them
        ("1d2w", "1296000"), ("5.4 ms", "0.0054"), ("1h 2m", "3720"), (" 18ms\n", "0.018"),
    ],
)  # fmt: skip
def test_duration_becomes_seconds(text, expected):
    assert seconds_of(text.encode()) == expected.encode()


@pytest.mark.parametrize(
    "text",
    ["", "3", "-", "s", ".", "-.", ".s", "+.s", "1h2", "5 M", "1e3s", "1s;", "--1s", "1_0s", "1S", "1s" * 21, "٣s"],
)
def test_other_text_is_no_duration(text):
    with pytest.raises(DecorateError, match="is not a duration") as caught:
        seconds_of(text.encode())
    assert caught.value.code == "not_a_number"


@given(st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(sorted(NANOSECONDS))), min_size=1, max_size=6))
def test_durations_are_exact(pieces):
    text = "".join(f"{number}{unit}" for number, unit in pieces)
    expected = Decimal(sum(number * NANOSECONDS[unit] for number, unit in pieces)).scaleb(-9)
    assert Decimal(seconds_of(text.encode()).decode()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", "0"), ("512", "512"), ("512B", "512"), ("10kB", "10000"), ("10 KB", "10000"), ("2.5 MB", "2500000"),
        ("1GiB", "1073741824"), ("1.5KiB", "1536"), ("0.3KiB", "307.2"), (" 3TB\n", "3000000000000"),
        ("2PiB", "2251799813685248"), ("1EB", "1000000000000000000"), ("99999999999999999999.5 EiB",
         "115292150460684697599423539247696576512"),
    ],
)  # fmt: skip
def test_size_becomes_bytes(text, expected):
    assert bytes_of(text.encode()) == expected.encode()


@pytest.mark.parametrize("text", ["", "B", "1K", "1k", "1M", "1Mb", "1kb", "1KIB", "-1", "1,5 MB", "1 000", "1MBB"])
def test_other_text_is_no_size(text):
    with pytest.raises(DecorateError, match="is not a size") as caught:
        bytes_of(text.encode())
    assert caught.value.code == "not_a_number"


@given(st.integers(0, 10**9), st.integers(1, 6))
def test_sizes_are_powers_of_their_base(number, power):
    letter = "KMGTPE"[power - 1]
    assert bytes_of(f"{number}{letter}B".encode()) == b"%d" % (number * 1_000**power)
    assert bytes_of(f"{number} {letter}iB".encode()) == b"%d" % (number * 1_024**power)
