"""Changes that a table may lack are applied to it in bounded calls."""

from collections.abc import Generator, Sequence
from typing import Any

import pytest

from ingest.api import FamilySpec, FeedSpec, Mutation, Put, Row, Scan, ScanCounts, TableSpec
from ingest.api.feeds import feed_table_spec
from sinks.feed import rolling_forward
from sinks.feed.change_feed import ChangeFeed
from sinks.feed.changes import Op, encoded_change
from sinks.feed.keys import FEED_COLUMN, FeedKey, FeedSequence
from sinks.feed.rolling_forward import roll_forward
from sinks.memory import MemoryStore
from sinks.table_records import ensure_declared

FED = TableSpec("t", (FamilySpec(b"f"),), feed=FeedSpec(3_600_000))
CHANGE_FEED = ChangeFeed.opened(1_000, 3_600_000, (b"",))


class Watched(MemoryStore):
    """
    Records the sizes of the calls.

    Attributes:
        rows: of each call that writes the table.
        pages: maximum number of rows in each page of a scan.
    """

    def __init__(self) -> None:
        super().__init__(clock_ms=lambda: 10_000)
        self.rows: list[int] = []
        self.pages: list[int] = []

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        if table == "t":
            self.rows.append(len(mutations))
        super().apply(table, mutations)

    def scan(self, table: str, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row, None, None]:
        self.pages.append(scan.page_rows)
        return super().scan(table, scan, counts)


@pytest.fixture
def store() -> Watched:
    made = Watched()
    made.open()
    feed: Any = feed_table_spec(FED)
    ensure_declared(made, FED)
    ensure_declared(made, feed)
    for number in range(10):
        row, value = b"%d" % number, b"v" * 1_000
        key = FeedKey(1, FeedSequence(2_000, 0, row)).encoded()
        change = encoded_change(Op.PUT, [Put(row, {b"f:q": value}, 2_000)])
        made.apply("t_feed", [Put(key, {FEED_COLUMN: change}, 2_000)])
    return made


def test_changes_are_applied_up_to_a_number_of_bytes(store: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling_forward, "CHANGES_BYTES", 2_500)
    assert roll_forward(store, "t", CHANGE_FEED, 1_000) == 2_000

    assert store.rows == [3, 3, 3, 1]


def test_changes_are_read_in_small_pages(store: Watched) -> None:
    store.pages.clear()
    roll_forward(store, "t", CHANGE_FEED, 1_000)

    assert store.pages == [rolling_forward.PAGE_ROWS]
