"""Bisection: good rows are stored, bad ones reported with their own reason, in few calls."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import FamilySpec, Mutation, Put, Scan, StoreBusyError, TableSpec, WriteRejectedError
from sinks.memory import MemoryStore
from sinks.writing.bisection import apply_all_but_refused


class Picky(MemoryStore):
    """Refuses calls with a value that begins with "bad", naming the rows or not."""

    def __init__(self, *, names_rows: bool = False) -> None:
        super().__init__()
        self.names_rows = names_rows
        self.calls = 0
        self.open()
        self.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        self.calls += 1
        bad = [
            (index, value)
            for index, mutation in enumerate(mutations)
            for value in mutation.columns.values()
            if value.startswith(b"bad")
        ]
        if bad:
            # as HBase: some good rows of the call may have been written
            super().apply(table, [one for one in mutations if one.row < b"3"][: bad[0][0]])
            raise WriteRejectedError(
                bad[0][1].decode(), indexes=[index for index, _ in bad] if self.names_rows else None
            )
        super().apply(table, mutations)

    def stored(self) -> dict[bytes, dict[bytes, bytes]]:
        return {
            row.key: {cell.qualifier: cell.value for cell in row.cells} for row in self.scan("t", Scan()) if row.cells
        }


def put(row: int, value: str) -> Put:
    return Put(b"%03d" % row, {b"f:q": value.encode()}, 1)


@given(st.lists(st.booleans(), min_size=1, max_size=200), st.booleans())
def test_good_rows_are_stored_and_bad_ones_reported(goods, names_rows):
    store = Picky(names_rows=names_rows)
    puts = [put(number, f"good{number}" if good else f"bad{number}") for number, good in enumerate(goods)]
    refused = apply_all_but_refused(puts, lambda mutations: store.apply("t", mutations))
    bad = {number for number, good in enumerate(goods) if not good}
    assert {(refusal.mutation.row, refusal.error.message) for refusal in refused} == {
        (b"%03d" % number, f"bad{number}") for number in bad
    }
    assert set(store.stored()) == {b"%03d" % number for number, good in enumerate(goods) if good}
    assert store.calls <= 1 + len(bad) * 2 * math.ceil(math.log2(len(goods)) + 1)


def test_other_errors_are_raised():
    def busy(mutations: Sequence[Mutation]) -> None:
        raise StoreBusyError("busy")

    with pytest.raises(StoreBusyError):
        apply_all_but_refused([put(1, "a"), put(2, "b")], busy)
