"""What a task reports."""

from collections import Counter

from ingest.receipt import Counts


def test_counts_add_up_over_partitions():
    total = Counts(read=1, dropped=Counter(a=1), flush_s=[0.1])
    total.add(Counts(read=2, stored=1, dropped=Counter(a=1, b=1), dead_lettered=Counter(x=1), rows_sent=4, cells=5))
    total.add(Counts(bytes=6, chunks=7, retries=8, flush_s=[0.2]))
    assert total == Counts(
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
