"""Bootstraps from dumps that a test gives, row by row."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from ingest.api import Delete, FamilySpec, Mutation, Put, Row, Scan, Store
from ingest.clock import now_ms
from ingest.retry import Retry
from sinks.bootstrap.delete_log import DeleteLog
from sinks.bootstrap.following import FeedFollower
from sinks.bootstrap.progress import BootstrapProgress
from sinks.bootstrap.reopening_store import ReopeningStore
from sinks.bootstrap.run import Bootstrap, Following
from sinks.bootstrap.target import TargetTable
from sinks.dumps.layout import FileFormat
from sinks.dumps.manifest import DumpedTable
from sinks.dumps.run import DumpRun
from sinks.dumps.table_files import write_table_file
from sinks.files.opening import open_root
from sinks.scanning.plain_reader import PlainReader
from sinks.writing.retry import store_retry
from sinks.writing.target import TargetLayer
from tests.support.feeds import T

SHORT = store_retry(attempts=3, sleep=lambda _seconds: None)
PROGRESS = BootstrapProgress("/dumps", "2026-01-31-12-00-00", "orders")


class Rows:
    """
    The rows of a dump.

    Attributes:
        files: number of its files.
        read: number of rows that were read.
    """

    def __init__(self, *parts: list[Row]) -> None:
        self.files = len(parts)
        self.read = 0
        self._parts = parts

    def rows(self, file: int) -> Generator[Row]:
        """The rows of a file."""
        for row in self._parts[file]:
            self.read += 1
            yield row


def dumped_beside(rows: Callable[[], list[Row]], write: Callable[[], None]) -> Rows:
    """A dump in two files; the second one has the rows as they are after `write`."""
    first = rows()
    first = first[: len(first) // 2]
    write()
    return Rows(first, [row for row in rows() if not first or row.key > first[-1].key])


def dump_files(root: str, table: str, parts: Sequence[Sequence[Row]], positions: Mapping[int, str]) -> None:
    """A complete dump of these files, which has recorded where the change feed of the table continues."""
    opened = open_root(root)
    with DumpRun(opened, "run", clock_ms=now_ms) as run:
        run.start([table], FileFormat.GZIP)
        for part, rows in enumerate(parts):
            run.add(table, part, write_table_file(opened, run.folder, table, part, rows, FileFormat.GZIP))
        recorded = {str(shard): iterator for shard, iterator in positions.items()}
        about = {table: DumpedTable((), families=(FamilySpec(b"d"),))}
        run.finish(about, feed={table: recorded} if recorded else {})


def rows_of(store: Store[Any], table: str = "orders") -> list[Row]:
    """All rows of a table."""
    return list(PlainReader.of(store, table).scan(Scan(page_rows=1_000)))


def following(
    store: Store[Any],
    positions: Mapping[int, str],
    deletes: DeleteLog | None = None,
    *,
    table: str = "orders",
    clock: Callable[[], int] = lambda: T,
) -> Following:
    """The change feed of a table."""
    return Following(FeedFollower(ReopeningStore(store, SHORT), table, positions, clock), deletes)


def bootstrap(
    dumped: Rows,
    store: Store[Any],
    feed: Following | None = None,
    on_progress: Callable[[BootstrapProgress], object] = lambda _progress: None,
    *,
    table: str = "copy",
    retry: Retry = SHORT,
    loads: TargetLayer | None = None,
    **options: Any,
) -> Bootstrap:
    """A bootstrap into a table."""
    target = TargetTable(store, table, loads=loads, retry=retry)
    target.create(None)
    progress = PROGRESS
    if feed is not None:
        positions = dict(feed.feed.positions)
        is_concurrent = feed.deletes is not None
        progress = replace(PROGRESS, feed_id=feed.feed.feed_id, positions=positions, is_concurrent=is_concurrent)
    run = Bootstrap(dumped, target, progress, feed, **{"sleep": lambda _seconds: None} | options)
    run.on_progress = on_progress
    return run


def load_all(run: Bootstrap) -> None:
    """Load the rows that are not loaded yet."""
    for _ in run.loading():
        pass


def completed(run: Bootstrap) -> Bootstrap:
    """The bootstrap once it is complete."""
    load_all(run)
    for _ in run.following():
        pass
    return run


def random_mutations(random: Random, row: bytes, at: int) -> list[Mutation]:
    """What a micro-batch does to a row."""
    column = random.choice([b"d:a", b"d:b"])
    match random.randrange(5):
        case 0:
            return [Delete(row, at - 1)]
        case 1:
            return [Delete(row, at - 1, b"d", column[2:]), Put(row, {column: b"after"}, at)]
        case 2:
            return [Delete(row, at - 1, b"d")]
        case _:
            return [Put(row, {column: b"%d" % random.randrange(100)}, at)]
