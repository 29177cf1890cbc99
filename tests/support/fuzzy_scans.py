"""Scans with random patterns, read in three ways: by HBase's filter, with seeks of the client, and filtered here."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from ingest.api import FamilySpec, FuzzyPattern, Put, Row, Scan, ScanCounts, Store, TableSpec
from sinks.hbase.rpc.filters import fuzzy_filter
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from tests.support.names import unique
from tests.support.servers import HBase

_BYTES = (b"\x00", b"\x01", b"a", b"b", b"\xfe", b"\xff")
_KEYS = 1500


@contextmanager
def opened(hbase: HBase, protocol: str) -> Iterator[HBaseStore]:
    """A store of a cluster, with `rpc` or through `thrift`."""
    store = HBaseStore(
        HBaseSettings(**{"timeout": "60s"} | hbase.store_options(protocol, thrift2=protocol == "thrift"))
    )
    store.open()
    try:
        yield store
    finally:
        store.close()


class Scans:
    """
    A table of row keys of up to six bytes, of which many coincide in part, in three regions and two families.

    Args:
        store: open, with HBase's own protocol; the table is created in it.
        random: chooses keys and scans.
    """

    def __init__(self, store: Store[Any], random: Random) -> None:
        self._random = random
        self.table = unique("fuzzy")
        spec = TableSpec(self.table, (FamilySpec(b"f"), FamilySpec(b"g")), splits=(b"a\x01", b"b"))
        store.ensure_table(spec)
        keys = {self._key(random.randint(1, 6)) for _ in range(_KEYS)}
        families = [random.choice([(b"f:q",), (b"g:q",), (b"f:q", b"g:q")]) for _ in keys]
        puts = [Put(key, dict.fromkeys(columns, key), 1) for key, columns in zip(keys, families, strict=True)]
        store.apply(self.table, puts)

    def compare(self, stores: Sequence[Store[Any]], scans: int) -> list[ScanCounts]:
        """Compare the rows of scans in stores that have the table; returns the counts of all scans in each."""
        counts = [ScanCounts() for _ in stores]
        for _ in range(scans):
            scan = self._scan()
            plain = stores[0].scan(self.table, replace(scan, fuzzy=(), limit=None))
            expected = [row for row in plain if any(pattern.matches(row.key) for pattern in scan.fuzzy)]
            for store, counted in zip(stores, counts, strict=True):
                found: list[Row] = list(store.scan(self.table, scan, counted))
                assert found == expected[: scan.limit], scan
        return counts

    def _scan(self) -> Scan:
        random = self._random
        return Scan(
            start=random.choice([b"", b"", self._key(2)]),
            stop=random.choice([None, None, self._key(2)]),
            columns=random.choice([None, None, (b"f",), (b"g:q",)]),
            limit=random.choice([None, None, 1, 7]),
            reverse=random.random() < 0.3,
            page_rows=random.choice([2, 50, 500]),
            fuzzy=tuple(self._pattern() for _ in range(random.randint(1, 3))),
        )

    def _pattern(self) -> FuzzyPattern:
        positions = [self._random.choice([None, *_BYTES]) for _ in range(self._random.randint(1, 6))]
        return FuzzyPattern(b"".join(each or b"?" for each in positions), bytes(each is None for each in positions))

    def _key(self, size: int) -> bytes:
        return b"".join(self._random.choices(_BYTES, k=size))


class Filters:
    """
    Counts the scanners that are opened with the filter.

    Attributes:
        used: their number.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.used = 0
        self._original = fuzzy_filter
        monkeypatch.setattr("sinks.hbase.rpc.filters.fuzzy_filter", self._count)

    def _count(self, patterns: Sequence[FuzzyPattern]) -> bytes:
        self.used += 1
        return self._original(patterns)
