"""Arrow batches to records and receipts to Arrow batches."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Record, SinkResult
from ingest.receipt import Counts, Receipt, TaskStatus, receipts_of
from ingest.spark.streaming.rows import ARROW_BYTES, ARROW_ROWS, arrow_of, records_of, rows_of
from tests.support.arrow import as_batch

texts = st.text(st.characters(exclude_categories=["Cs"]))
records = st.builds(
    Record,
    topic=texts,
    partition=st.integers(0, 2**31 - 1),
    offset=st.integers(0, 2**63 - 1),
    key=st.none() | st.binary(),
    value=st.none() | st.binary(),
    timestamp_ms=st.integers(-1, 2**50),
    headers=st.lists(st.tuples(texts, st.none() | st.binary()), max_size=3).map(tuple),
)


@given(st.lists(st.lists(records, max_size=5), max_size=3))
def test_records_survive_the_conversion(batches: list[list[Record]]):
    assert list(records_of(as_batch(rows) for rows in batches)) == [row for rows in batches for row in rows]


@given(st.lists(records, max_size=5))
def test_records_survive_both_conversions(rows: list[Record]):
    assert list(records_of(arrow_of(rows))) == rows


def test_batches_of_records_are_bounded_by_rows_and_bytes():
    small, large = Record("t", 0, 0, None, b"", 0, ()), Record("t", 0, 0, b"k", bytes(ARROW_BYTES // 2), 0, ())
    assert [batch.num_rows for batch in arrow_of([small] * (ARROW_ROWS + 1))] == [ARROW_ROWS, 1]
    assert [batch.num_rows for batch in arrow_of([large] * 3)] == [2, 1]


def test_slice_of_a_batch_has_its_own_headers():
    rows = [Record("t", 0, n, b"", b"", 0, ((f"h{n}", b"v"),)) for n in range(4)]
    assert list(records_of([as_batch(rows).slice(2)])) == rows[2:]


@given(st.lists(st.lists(st.binary(), max_size=3), max_size=3))
def test_receipts_survive_the_conversion(dead_letters: list[list[bytes]]):
    receipts = [
        Receipt(
            status=TaskStatus.BLOCKED,
            code="store_unavailable",
            message="no answer",
            counts=Counts(
                read=3, failed=0.5, dropped=Counter(a=1), dead_lettered_by=Counter({("b", "regex"): 1}), flush_s=[0.5]
            ),
            results={"logs": SinkResult(b"file")},
            dead_letters=lines,
        )
        for lines in dead_letters
    ]
    rows = [
        (kind, payload)
        for receipt in receipts
        for batch in rows_of(receipt)
        for kind, payload in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]
    assert receipts_of(rows) == receipts
