"""What a task reports."""

from collections import Counter

from ingest.receipt import Counts, Receipt, Verdict, receipts_of


def test_counts_add_up_over_partitions():
    total = Counts(records=1, read=1, dropped=Counter(a=1), flush_s=[0.1])
    total.add(Counts(read=2, stored=1, dropped=Counter(a=1, b=1), dead_lettered=Counter(x=1), rows_sent=4, cells=5))
    total.add(Counts(records=2, failed=0.25, bytes=6, chunks=7, retries=8, flush_s=[0.2]))
    assert total == Counts(
        records=3,
        failed=0.25,
        read=3,
        stored=1,
        dropped=Counter(a=2, b=1),
        dead_lettered=Counter(x=1),
        rows_sent=4,
        cells=5,
        bytes=6,
        chunks=7,
        retries=8,
        flush_s=[0.1, 0.2],
    )


def test_names_that_are_no_text_travel_to_the_driver():
    """A receipt that can not be packed would fail the Spark task, again and again, without the reason."""
    sent = Receipt(
        verdict=Verdict.STOP,
        code="stopped_by_event",
        message='the family "\udcff" may not be written',
        counts=Counts(dropped=Counter({"\udcff": 1})),
        refused={"logs": {("t", b"\xff"): ("store_refused", "\udcff")}},
    )
    (came,) = receipts_of(sent.rows())
    assert (came.verdict, came.message) == (Verdict.STOP, 'the family "\\udcff" may not be written')
    assert (came.counts.dropped, came.refused) == (
        Counter({"\\udcff": 1}),
        {"logs": {("t", b"\xff"): ("store_refused", "\\udcff")}},
    )
