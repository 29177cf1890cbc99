"""
A table with a change feed in a store, written as a pipeline writes it: tasks, committer, and committed positions;
without Spark.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from ingest.api import (
    Batch,
    FamilySpec,
    MappingError,
    Mutation,
    Row,
    Scan,
    Store,
    TableSpec,
    TaskSpec,
    WriteCounts,
)
from ingest.api.feeds import FEED, feed_table, feed_table_spec
from sinks.feed.change_feed import ChangeFeed, Request
from sinks.feed.changes import Change
from sinks.feed.keys import FeedKey
from sinks.memory import MemoryStore
from sinks.owning.committed_position import CommittedPosition
from sinks.rowkeys.mutations import with_physical_keys
from sinks.rowkeys.row_format import UPDATES, RowFormat
from sinks.table_records import ensure_declared
from sinks.updates.merging import Merging
from sinks.writing.driver_store import DriverStore
from sinks.writing.families import FamilyRegistry
from sinks.writing.messages import StoreResult
from sinks.writing.row_reader import SeparateReader
from sinks.writing.sending import DirectSender, Sender
from sinks.writing.staged_committer import StagedCommitter
from sinks.writing.staging import StagingWriter
from sinks.writing.store_committer import StoreCommitter
from tests.support.owned import owned_of
from tests.support.way import sink_of

Splits = Mapping[int, Sequence[Mutation]]
"""Rank of a split -> its mutations."""


class FedTable:
    """
    One table with its feed, and the pipeline that writes it.

    Args:
        store: of the driver, open.
        spec: of the table; with a change feed.
        incoming: folder for staged files, if only the driver may write the store.
        connect: makes the connections of a task, else.
        reader: reads the store in a task, if only the driver may write it.
    """

    def __init__(
        self,
        store: Store[Any],
        spec: TableSpec,
        *,
        incoming: Path | None = None,
        connect: Callable[[], Sequence[Sender]] | None = None,
        reader: Store[Any] | None = None,
        merging: Merging | None = None,
    ) -> None:
        feed = feed_table_spec(spec)
        assert spec.feed is not None
        assert feed is not None
        ensure_declared(store, spec)
        self.store, self.spec = store, spec
        driver = DriverStore(store)
        declared = {spec.name: spec, feed.name: feed}
        self.owned = owned_of("p", {"s": driver}, {"s": [spec]})
        self.owned.claim()
        self._staging = None
        senders = list(connect()) if connect is not None else []
        if not senders:
            self._staging = StagingWriter(store)
            senders = [DirectSender(self._staging)]
        families = FamilyRegistry(driver, declared, {None: 20}, {})
        features = self.owned.of_store("s")
        self._committer = (
            StoreCommitter(driver, families, declared=declared, features=features)
            if incoming is None
            else StagedCommitter(driver, families, incoming, declared=declared, features=features)
        )
        self._sink = sink_of(
            senders,
            "s",
            capabilities=store.capabilities,
            buffer_bytes=1 << 20,
            deletes=True,
            updates={} if merging is None else {spec.name: merging},
            feeds={spec.name: spec.feed},
            reader=None if reader is None else SeparateReader(reader),
            staging=self._staging,
        )
        self._attempts = count()

    def run(self, time_ms: int, splits: Splits, *, moves: bool = True) -> list[str]:
        """Run a micro-batch until it is durable; returns the codes of the mutations that failed."""
        requests: list[bytes] = []
        while True:
            batch = Batch(str(time_ms), time_ms, str(next(self._attempts)))
            prepared = self._committer.prepare(batch, requests)
            self._sink.begin(TaskSpec(batch), prepared, WriteCounts())
            failed = [code for rank, mutations in splits.items() for code in self._split(rank, mutations)]
            result = self._sink.flush()
            if not result.run_again:
                self._committer.commit(batch, [result.payload])
                break
            assert StoreResult.unpacked(result.payload).refused
            self._committer.abort(batch)
            requests.append(result.payload)
        if moves:
            self.owned.move(CommittedPosition(time_ms, {"t": time_ms}))
        return failed

    def _split(self, rank: int, mutations: Sequence[Mutation]) -> list[str]:
        failed = []
        self._sink.split_start(rank)
        for mutation in mutations:
            try:
                self._sink.add(self.spec.name, mutation)
            except MappingError as error:
                failed.append(error.code)
        self._sink.split_end()
        return failed

    def request(self, request: Request) -> None:
        """Request a split or a merge."""
        change_feed = self.feed()
        assert self.store.set_property(
            self.spec.name, FEED, change_feed.to_text(), change_feed.with_request(request).to_text()
        )

    def feed(self) -> ChangeFeed:
        """The change feed of the table."""
        return ChangeFeed.of(self.store.properties(self.spec.name)[FEED], self.spec.name)

    def changes(self) -> list[tuple[int, Change]]:
        """The shards and changes of the feed, in its order."""
        found = []
        for row in self.store.scan(feed_table(self.spec.name), Scan()):
            key = FeedKey.decoded(row.key)
            (cell,) = row.cells
            assert cell.timestamp_ms == key.sequence.time_ms
            found.append((key.shard, Change.decoded(key, cell.value)))
        return found

    def rows(self) -> list[Row]:
        """The rows of the table, as stored."""
        return list(self.store.scan(self.spec.name, Scan()))

    def replica(self) -> list[Row]:
        """The rows of a table in memory to which all changes were applied, as stored."""
        made = MemoryStore()
        made.open()
        made.ensure_table(TableSpec("t", tuple(FamilySpec(family.name) for family in self.spec.families)))
        physical_key = RowFormat(self.spec.buckets, self.spec.updates).physical_key()
        for _, change in self.changes():
            mutations = change.mutations()
            made.apply("t", mutations if physical_key is None else with_physical_keys(mutations, physical_key))
        assert self.spec.updates == self.store.properties(self.spec.name).get(UPDATES, "")
        return list(made.scan("t", Scan()))

    def close(self) -> None:
        """Close the task and the committer; the store stays open."""
        self._sink.close()
        self._committer.close()
