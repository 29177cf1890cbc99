"""Scans with random patterns, read in three ways: by HBase's filter, with seeks of the client, and filtered here."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from ingest.api import FamilySpec, FuzzyPattern, Put, Row, Scan, Store, TableSpec
from sinks.hbase.rpc.filters import fuzzy_filter
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from tests.support.names import unique
from tests.support.servers import HBase, Protocol

_BYTES = (b"\x00", b"\x01", b"a", b"b", b"\xfe", b"\xff")
_KEYS = 700


@contextmanager
def opened(hbase: HBase, protocol: Protocol) -> Iterator[HBaseStore]:
    """A store of a cluster, with `rpc` or through `thrift`."""
    store = HBaseStore.of(
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
        store: open, with HBase's native RPC; the table is created in it.
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
        self._rows = list(store.scan(self.table, Scan()))
        assert len(self._rows) == len(keys)

    def compare(self, stores: Sequence[Store[Any]], scans: int) -> None:
        """Compare the rows of scans in stores that have the table with those that match."""
        for _ in range(scans):
            scan = self._scan()
            expected = self._expected(scan)
            for store in stores:
                assert list(store.scan(self.table, scan)) == expected, scan

    def _expected(self, scan: Scan) -> list[Row]:
        start, stop = scan.bounds()
        rows = [row for row in self._rows if start <= row.key and (stop is None or row.key < stop)]
        rows = [row for row in rows if any(pattern.matches(row.key) for pattern in scan.fuzzy)]
        if scan.columns is not None:
            families = {column[:1] for column in scan.columns}
            parts = (Row(row.key, tuple(cell for cell in row.cells if cell.family in families)) for row in rows)
            rows = [row for row in parts if row.cells]
        return (rows[::-1] if scan.reverse else rows)[: scan.limit]

    def _scan(self) -> Scan:
        random = self._random
        return Scan(
            start=random.choice([b"", b"", self._key(2)]),
            stop=random.choice([None, None, self._key(2)]),
            columns=random.choice([None, None, (b"f",), (b"g:q",)]),
            limit=random.choice([None, None, 1, 7]),
            reverse=random.random() < 0.3,
            page_rows=random.choice([5, 50, 500]),
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
