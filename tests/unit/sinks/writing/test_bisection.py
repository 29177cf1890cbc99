"""Bisection: good rows are stored, bad ones reported with their own reason, in few calls."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import (
    FamilySpec,
    Mutation,
    Put,
    Scan,
    StoreBusyError,
    TableSpec,
    UnclearRefusalError,
    WriteRejectedError,
)
from sinks.memory import MemoryStore
from sinks.writing.bisection import MAX_UNCLEAR, Bisection, Judge, Refusal, apply_all_but_refused


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
    refused = apply_all_but_refused(store, "t", puts)
    bad = {number for number, good in enumerate(goods) if not good}
    assert {(refusal.mutation.row, refusal.error.message) for refusal in refused} == {
        (b"%03d" % number, f"bad{number}") for number in bad
    }
    assert set(store.stored()) == {b"%03d" % number for number, good in enumerate(goods) if good}
    assert store.calls <= 1 + len(bad) * 2 * math.ceil(math.log2(len(goods)) + 1)


def test_other_errors_are_raised():
    class Busy(MemoryStore):
        def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
            raise StoreBusyError("busy")

    with pytest.raises(StoreBusyError):
        apply_all_but_refused(Busy(), "t", [put(1, "a"), put(2, "b")])


class Doubtful(MemoryStore):
    """
    A store with regions; it refuses calls with some rows, for a reason that may be the region's.

    Attributes:
        names_rows: whether it names the rows that it refuses, and writes the others of the call.
    """

    def __init__(self, bad, starts: Sequence[bytes] = (), *, names_rows: bool = False) -> None:
        super().__init__()
        self.bad = bad
        self.starts = starts
        self.names_rows = names_rows
        self.calls = self.lookups = 0
        self.rows: set[bytes] = set()

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        self.calls += 1
        bad = [index for index, mutation in enumerate(mutations) if self.bad(mutation.row)]
        if bad and not self.names_rows:
            raise UnclearRefusalError("refused: DoNotRetryIOException: a rule")
        self.rows |= {mutation.row for index, mutation in enumerate(mutations) if index not in bad}
        if bad:
            raise UnclearRefusalError("refused: DoNotRetryIOException: a rule", indexes=bad)

    def region_starts(self, table: str) -> Sequence[bytes]:
        self.lookups += 1
        return self.starts


@pytest.mark.parametrize("names_rows", [True, False])
def test_row_is_at_fault_if_others_of_its_region_are_written(names_rows):
    store = Doubtful(lambda row: row in {b"003", b"150"}, [b"100"], names_rows=names_rows)
    refused = apply_all_but_refused(store, "t", [put(number, "1") for number in range(200)])
    assert [(one.mutation.row, type(one.error), one.error.message) for one in refused] == [
        (row, WriteRejectedError, "refused: DoNotRetryIOException: a rule") for row in (b"003", b"150")
    ]
    assert len(store.rows) == 198
    assert store.lookups == 1


@pytest.mark.parametrize("names_rows", [True, False])
@pytest.mark.parametrize("others", [[], [200, 201]], ids=["alone", "alone in its region"])
def test_row_without_others_of_its_region_blocks(names_rows, others):
    """The fault may be the region's."""
    store = Doubtful(lambda row: row < b"100", [b"100"], names_rows=names_rows)
    with pytest.raises(UnclearRefusalError) as caught:
        apply_all_but_refused(store, "t", [put(1, "1"), *(put(number, "1") for number in others)])
    assert caught.value.message == (
        'table "t" refuses row "001" and no other row of the region was written with it, so the fault '
        "may be the region's or the table's: refused: DoNotRetryIOException: a rule"
    )
    assert "filter" in (caught.value.hint or "")


@pytest.mark.parametrize("names_rows", [True, False])
@pytest.mark.parametrize("starts", [[], [b"5"]], ids=["table", "region"])
def test_a_region_that_refuses_all_rows_is_found_in_few_calls(names_rows, starts):
    store = Doubtful(lambda row: row >= (starts[0] if starts else b""), starts, names_rows=names_rows)
    with pytest.raises(UnclearRefusalError, match="refuses 16 rows, the last one"):
        apply_all_but_refused(store, "t", [put(number, "1") for number in range(1_000)])
    assert store.calls < 4 * MAX_UNCLEAR + 20


def test_regions_are_those_of_physical_row_keys():
    def refused(starts: Sequence[bytes]) -> list[Refusal]:
        judge = Judge("t", lambda row: b"x" + row)
        judge.starts = starts
        bad, good = [put(1, "1")], [put(2, "1")]
        bisection = Bisection([*bad, *good], judge)
        assert bisection.next_part() == [*bad, *good]
        bisection.rejected([*bad, *good], UnclearRefusalError("a rule"))
        assert bisection.next_part() == bad
        bisection.rejected(bad, UnclearRefusalError("a rule"))
        assert bisection.next_part() == good
        bisection.written(good)
        assert bisection.next_part() is None
        return bisection.refused()

    assert len(refused([b"x001"])) == 1
    with pytest.raises(UnclearRefusalError):
        refused([b"x002"])


def test_regions_of_rows_are_not_looked_up_without_doubt():
    store = Doubtful(lambda _row: False)
    assert apply_all_but_refused(store, "t", [put(1, "1")]) == []
    assert store.lookups == 0


def test_row_that_is_known_to_be_at_fault_is_refused_alone():
    """It was in a chunk of which others of its region were written."""
    bisection = Bisection([put(1, "1")])
    bisection.rejected([put(1, "1")], UnclearRefusalError("a rule"))
    (refused,) = bisection.refused()
    assert refused.error.code == "write_rejected"
