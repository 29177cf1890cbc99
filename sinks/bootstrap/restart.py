"""Restarts a consumer group from a dump, shard by shard, after changes have expired unread."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ingest.api import ConfigError, Row, Store
from sinks.bootstrap.dumped import DumpTableReader, positions_of, require_values
from sinks.dumps.reader import DumpReader
from sinks.feed.change_feed import Shard
from sinks.feed.errors import FeedIdMismatchError, TrimmedError
from sinks.feed.gaps import GapPolicy
from sinks.feed.leases import SHARD_END
from sinks.feed.lineage import descendants
from sinks.feed.position import FeedPosition
from sinks.feed.state import FeedState
from sinks.files.root import Root
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat


class RestartFromDump(GapPolicy):
    """
    Deliver the rows of the shard as they are in a dump, and resume at the position that the dump recorded.

    A shard that was closed before the dump is at its end afterwards; the shards that continue it are restarted by
    themselves if they have a gap too. A row that was deleted in the gap is not in the dump.

    The newest dump counts at each gap, since a worker may run for weeks. It is pinned until the reader is closed, if
    the root may be written.

    Args:
        reader: of the dumps; not locked.
        table: its name.
        physical_key: physical row key of a logical one.
        on_unpinned: called with the reason if the dump cannot be pinned, so that it may expire while it is read.
    """

    def __init__(
        self,
        reader: DumpReader,
        table: str,
        physical_key: Callable[[bytes], bytes],
        on_unpinned: Callable[[str], object],
    ) -> None:
        self._reader = reader
        self._table = table
        self._physical_key = physical_key
        self._on_unpinned = on_unpinned
        self._dumped: DumpTableReader | None = None

    def check(self) -> None:
        """
        Check that the newest dump can be used.

        Raises:
            DumpNotAvailableError: there is none.
            TableNotInDumpError: it does not know the table.
            ConfigError: it has recorded no positions in the change feed of the table.
        """
        self._positions(DumpTableReader(self._reader, self._table))

    def resume(self, state: FeedState, shard: Shard | None, position: FeedPosition) -> str:
        """The position of the newest dump."""
        del position
        self._reader.lock(on_unpinned=self._on_unpinned)
        self._dumped = DumpTableReader(self._reader, self._table)
        positions = self._positions(self._dumped)
        feed_ids = {FeedPosition.from_token(token).feed_id for token in positions.values()}
        if feed_ids != {state.feed.id}:
            raise FeedIdMismatchError(self._table, ", ".join(sorted(feed_ids)), state.feed.id)
        if shard is None:
            return SHARD_END
        if shard.number in positions:
            return positions[shard.number]
        if shard.number in descendants(state.feed, positions):
            raise TrimmedError(self._table, shard.number, None)  # the shard is newer than the dump
        return SHARD_END

    def rows(self, shard: Shard | None) -> Iterator[Row]:
        """The rows of the dump whose keys are in the shard; of a forgotten shard all rows."""
        dumped = self._dumped or DumpTableReader(self._reader, self._table)
        for file in range(dumped.files):
            for row in dumped.rows(file):
                if shard is None or shard.has(self._physical_key(row.key)):
                    yield row

    def _positions(self, dumped: DumpTableReader) -> dict[int, str]:
        if dumped.feed is None:
            raise ConfigError(
                f'dump {dumped.dump} has no positions in the change feed of table "{self._table}"',
                hint="use a dump that was made while the table had a feed",
            )
        return positions_of(dumped.feed, self._table)


@contextmanager
def restart_from_dump(
    root: str | Root, store: Store[Any], table: str, *, on_unpinned: Callable[[str], object] = lambda _reason: None
) -> Iterator[RestartFromDump]:
    """
    The policy with the dumps of a root, of which the newest is checked.

    Args:
        root: of the dumps: a path, a URL or an opened root.
        store: of the table, open for reading.
        table: its name.
        on_unpinned: called with the reason if a dump cannot be pinned, so that it may expire while it is read.

    Raises:
        DumpNotAvailableError: there is no complete dump.
        ConfigError: the table has deferred updates, or the dump has no positions in its feed.
        TableNotInDumpError: the newest dump does not know the table.
    """
    rows = RowFormat.recorded(store, table)
    require_values(table, rows, hint="use --on-trimmed fail or skip")
    distribution = Distribution.of(rows.buckets)
    with DumpReader(root) as reader:
        physical_key = bytes if distribution is None else distribution.physical
        policy = RestartFromDump(reader, table, physical_key, on_unpinned)
        policy.check()
        yield policy
