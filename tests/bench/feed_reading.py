"""Reading the feed of a table in RocksDB, page by page in one process."""

import statistics
import time
from contextlib import closing
from pathlib import Path

from ingest import garbage_collector
from ingest.api import Put
from ingest.clock import now_ms
from sinks.feed.changes import Op, encoded_change
from sinks.feed.client import MAX_LIMIT, FeedClient, IteratorType
from sinks.feed.keys import FEED_COLUMN, FeedKey, FeedSequence
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.feeds import FeedFixture

NAME = "feed reading"
CHANGES = 200_000
_BATCH = 10_000
_COLUMNS = {b"web:method": b"GET", b"web:path": b"/shop/item/42?page=7", b"web:status": b"200"}


def changes_per_s(folder: Path, runs: int) -> float:
    """Changes of three columns a second: the median of some runs."""
    garbage_collector.collect_rarely()
    with closing(RocksDBStore(RocksDBSettings(path=str(folder / "store"), sync=False))) as store:
        store.open()
        client = FeedClient(store, _filled(store))
        return statistics.median(CHANGES / _read(client) for _ in range(max(3, runs)))


def _filled(store: RocksDBStore) -> str:
    """The name of a table whose feed has the changes, in one shard."""
    first_ms = now_ms() - 60_000
    writer = FeedFixture(store, time_ms=first_ms)
    for batch in range(CHANGES // _BATCH):
        time_ms = first_ms + batch
        value = encoded_change(Op.PUT, [Put(b"", _COLUMNS, time_ms)])
        keys = (FeedKey(1, FeedSequence(time_ms, 0, b"row-%08d" % row)).encoded() for row in range(_BATCH))
        store.apply(f"{writer.table}_feed", [Put(key, {FEED_COLUMN: value}, time_ms) for key in keys])
        writer.complete(time_ms)
    return writer.table


def _read(client: FeedClient) -> float:
    """Seconds until all changes are read."""
    started = time.perf_counter()
    iterator: str | None = client.iterator(1, IteratorType.TRIM_HORIZON)
    found, behind = 0, 1
    while behind:
        page = client.records(iterator or "", MAX_LIMIT)
        found, behind, iterator = found + len(page.records), page.behind_ms, page.next_iterator
    if found != CHANGES:
        raise AssertionError(f"{found} of {CHANGES} changes were read")
    return time.perf_counter() - started
