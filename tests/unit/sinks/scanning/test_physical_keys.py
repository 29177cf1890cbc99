"""Reads by physical row keys return rows with their logical keys."""

from contextlib import closing

import pytest

from ingest.api import Cell, FamilySpec, FuzzyPattern, Put, Row, Scan, TableSpec
from sinks.memory import MemoryStore
from sinks.rowkeys.distribution import Distribution
from sinks.scanning.physical_keys import get_physical, scan_physical

KEYS = [b"row-%02d" % number for number in range(20)]


@pytest.fixture(params=[None, 8])
def distribution(request):
    return Distribution.of(request.param)


@pytest.fixture
def store(distribution):
    made = MemoryStore()
    made.open()
    made.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    made.apply("t", [Put(physical(key, distribution), {b"f:q": key}, 1) for key in KEYS])
    return made


def physical(key, distribution):
    return key if distribution is None else distribution.physical(key)


def test_row_has_its_logical_key(store, distribution):
    expected = Row(b"row-07", (Cell(b"f", b"q", 1, b"row-07"),))
    assert get_physical(store, "t", physical(b"row-07", distribution), distribution) == expected
    assert get_physical(store, "t", physical(b"row-07", distribution), distribution, columns=[b"g"]) is None
    assert get_physical(store, "t", physical(b"absent", distribution), distribution) is None


def test_patterns_are_of_logical_keys(store, distribution):
    scan = Scan(fuzzy=(FuzzyPattern.parse("row-?3"),))
    ranges = [(b"", None)] if distribution is None else distribution.intervals()
    found = []
    for start, stop in ranges:
        part = Scan(start=start, stop=stop, fuzzy=scan.fuzzy)
        with closing(scan_physical(store, "t", part, distribution)) as rows:
            found += [row.key for row in rows]
    assert sorted(found) == [b"row-03", b"row-13"]
