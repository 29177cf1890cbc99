"""Receipts: sums of counts, and the serialized form."""

from collections import Counter

from ingest.api import BusyWait, SinkResult
from ingest.api.taps import TapCounts
from ingest.receipt import SOURCE, ComponentType, Counts, Figures, Receipt, TaskStatus, receipts_of
from tests.support.call_times import timed
from tests.support.counted import counted_blobs

SINK = (ComponentType.SINK, "s")


def test_counts_of_tasks_are_added():
    total = Counts(records=1, read=1, dropped=Counter(a=1), flush_s=[0.1])
    total.add(Counts(read=2, stored=1, partly_stored=2, dropped=Counter(a=1, b=1), rows_sent=4, cells=5))
    total.add(Counts(dead_lettered_by=Counter({("x", "a"): 1})))
    total.add(Counts(records=2, failed=0.25, bytes=6, write_calls=7, retries=8, flush_s=[0.2], busy=2))
    total.add(Counts(busy=3, busy_waits=[BusyWait("RpcThrottlingException", 0.5)]))
    for counts in ((1, 100, 0), (1, 50, 2)):
        total.add(Counts(counted=counted_blobs("t", *counts)))
    assert total == Counts(
        records=3,
        failed=0.25,
        read=3,
        stored=1,
        partly_stored=2,
        dropped=Counter(a=2, b=1),
        dead_lettered_by=Counter({("x", "a"): 1}),
        rows_sent=4,
        cells=5,
        bytes=6,
        write_calls=7,
        retries=8,
        flush_s=[0.1, 0.2],
        busy=5,
        busy_waits=[BusyWait("RpcThrottlingException", 0.5)],
        counted=counted_blobs("t", 2, 150, 2),
    )


def test_receipt_with_names_that_are_not_utf8_is_serializable():
    """A receipt that cannot be serialized would fail every attempt of the Spark task and hide the reason."""
    sent = Receipt(
        status=TaskStatus.STOP,
        code="stopped_by_event",
        message='the family "\udcff" may not be written',
        counts=Counts(
            dropped=Counter({"\udcff": 1}),
            dead_lettered_by=Counter({("no_match", "regex"): 2, ("no_match", "\udcff"): 1}),
            busy=4,
            busy_waits=[BusyWait("store_busy", 0.25)],
            counted=counted_blobs("t", 1, 2),
            components={
                SOURCE: Figures(3, 2, 1, times=timed(1, 5)),
                (ComponentType.SINK, "s"): Figures(2, 1, 0, 1),
            },
        ),
        results={"logs": SinkResult(b"\xff", run_again=True)},
        probe=("logs", b"\x00"),
        tap_counts={"a": TapCounts(9, 1, 2, "no number", {"x"}, {"y", "z"})},
    )
    (received,) = receipts_of(sent.rows())
    assert (received.status, received.message) == (TaskStatus.STOP, 'the family "\\udcff" may not be written')
    assert (received.counts.dropped, received.counts.busy) == (Counter({"\\udcff": 1}), 4)
    assert received.counts.dead_lettered_by == {("no_match", "regex"): 2, ("no_match", "\\udcff"): 1}
    assert received.counts.dead_lettered == {"no_match": 3}
    assert received.counts.counted == counted_blobs("t", 1, 2)
    assert received.counts.components == sent.counts.components
    assert received.counts.components[SOURCE].times.buckets() == [(3, 1, 5)]
    assert received.tap_counts == sent.tap_counts
    assert received.counts.busy_waits == [BusyWait("store_busy", 0.25)]
    assert (received.results, received.probe) == (sent.results, sent.probe)


def test_figures_of_components_are_added_by_type_and_name():
    total = Counts(components={SOURCE: Figures(1, 1)})
    total.add(Counts(components={SOURCE: Figures(2, 1, 1, times=timed(1, 9)), (ComponentType.SINK, "s"): Figures(1)}))
    assert total.components == {SOURCE: Figures(3, 2, 1), (ComponentType.SINK, "s"): Figures(1)}
    assert total.components[SOURCE].times.total_ns == 9
