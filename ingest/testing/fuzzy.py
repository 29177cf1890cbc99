"""The part of the store contract about scans with patterns, as tests; see `ingest.testing.stores`."""
# this module is tests: asserts, names that say what they check, and numbers written a few lines above
# ruff: noqa: S101, D102, PLR2004

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import FuzzyPattern, Put, Scan, ScanCounts
from ingest.testing.cells import EXAMPLES, patterns, put, scan_with_prefix
from ingest.testing.tables import AnyStore, TableContract, scanned

_BYTES = [b"\x00", b"\x01", b"\x02", b"\xff"]
_KEYS = st.lists(st.sampled_from(_BYTES), max_size=4).map(b"".join)
_SCANS = st.builds(
    Scan,
    start=_KEYS,
    stop=st.one_of(st.none(), _KEYS),
    limit=st.one_of(st.none(), st.integers(min_value=1, max_value=3)),
    reverse=st.booleans(),
    page_rows=st.integers(min_value=1, max_value=5),
    fuzzy=patterns(_BYTES),
)
_numbers = itertools.count()


class FuzzyContract(TableContract):
    """The part of `StoreContract` about scans with patterns."""

    @EXAMPLES
    @given(keys=st.sets(_KEYS, min_size=1, max_size=12), scan=_SCANS)
    def test_scan_with_patterns_returns_the_rows_that_match(
        self, store: AnyStore, table: str, keys: set[bytes], scan: Scan
    ) -> None:
        """Each example writes with its own row prefix."""
        prefix = b"fuzzy%07d" % next(_numbers)
        store.apply(table, [put(prefix + key, 1, f_q=b"1") for key in keys])
        wanted = scan_with_prefix(prefix, scan)
        expected = [
            row
            for row in scanned(store, table, replace(wanted, limit=None, fuzzy=()))
            if not scan.fuzzy or any(pattern.matches(row.key.removeprefix(prefix)) for pattern in scan.fuzzy)
        ][: scan.limit]
        counts = ScanCounts()
        assert list(store.scan(table, wanted, counts)) == expected
        assert counts.rows_touched <= len(expected) + counts.seeks

    @pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
    def test_scan_with_patterns_touches_few_rows(self, store: AnyStore, table: str, *, reverse: bool) -> None:
        users, actions, each = 50, (b"buy", b"login", b"logout", b"view"), 8
        keys = [b"%04d_%s_%03d" % key for key in itertools.product(range(users), actions, range(each))]
        store.apply(table, [put(key, 1, f_q=b"1", g_q=b"22") for key in keys])

        def read(*patterns: str) -> tuple[list[bytes], ScanCounts]:
            counts = ScanCounts()
            scan = Scan(fuzzy=tuple(map(FuzzyPattern.parse, patterns)), reverse=reverse)
            return sorted(row.key for row in store.scan(table, scan, counts)), counts

        found, counts = read("????_login_")
        assert found == [key for key in keys if key[5:11] == b"login_"]
        # one seek for each user, some for those between 0009 and 0010, and one at the start
        assert counts.seeks <= users + 8
        assert counts.rows_touched <= users * each + counts.seeks
        assert counts.rows_in_fallback == 0
        assert counts.bytes_read >= users * each * (14 + 4 + 5)
        found, counts = read("0007_login_", "00?1_view_")
        assert found == [key for key in keys if key[:11] == b"0007_login_" or (key[3:4], key[5:9]) == (b"1", b"view")]
        assert counts.rows_touched <= len(found) + counts.seeks
        assert read("????_nosuch_")[0] == []

    def test_scan_with_patterns_and_other_conditions(self, store: AnyStore, table: str) -> None:
        keys = [b"%s%d" % (name, number) for name in (b"a", b"b", b"c") for number in range(4)]
        store.apply(table, [put(key, at, g_q=b"%d" % at) for key in keys for at in (1, 2)])
        store.apply(table, [put(b"b2", 1, f_q=b"1")])

        def found(scan: Scan) -> list[bytes]:
            scan = replace(scan, fuzzy=(FuzzyPattern.parse("?2"), FuzzyPattern.parse("??"), FuzzyPattern.parse("?1")))
            return [row.key for row in store.scan(table, scan)]

        assert found(Scan()) == keys
        assert found(Scan(prefix=b"b", reverse=True)) == [b"b3", b"b2", b"b1", b"b0"]
        assert found(Scan(start=b"a3", stop=b"b1")) == [b"a3", b"b0"]
        assert found(Scan(columns=(b"f",))) == [b"b2"]
        second = FuzzyPattern.parse("?2")
        versions = [len(row.cells) for row in store.scan(table, Scan(fuzzy=(second,), versions=2))]
        assert versions == [2, 3, 2]
        assert [row.key for row in store.scan(table, Scan(fuzzy=(second,), limit=2))] == [b"a2", b"b2"]
        assert [row.key for row in store.scan(table, Scan(fuzzy=(second,), start=b"a3", stop=b"c2"))] == [b"b2"]

    def test_counts_of_a_scan_without_patterns(self, store: AnyStore, table: str) -> None:
        store.apply(table, [Put(b"%02d" % number, {b"f:q": b"123"}, 1) for number in range(10)])
        for scan in (Scan(page_rows=3), Scan(page_rows=3, reverse=True)):
            counts = ScanCounts()
            assert len(list(store.scan(table, scan, counts))) == 10
            assert (counts.seeks, counts.rows_touched, counts.rows_in_fallback) == (1, 10, 0)
            assert counts.bytes_read == 10 * (2 + 3 + 3)
