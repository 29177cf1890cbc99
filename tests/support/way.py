"""A sink with the writers of its store, for tests of both."""

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ingest.api import Capabilities, FeedSpec, TaskSpec, WriteCounts
from ingest.api.table_writer import FirstWriter, RejectedRows, RowReader
from sinks.feed.feed_writer import FeedWriter
from sinks.mapping.mapper import Mapper
from sinks.updates.merging import Merging
from sinks.updates.update_writer import UpdateWriter
from sinks.writing.messages import Prepared, StoreResult
from sinks.writing.mutator import STAGED_BYTES, BufferedMutator
from sinks.writing.plain_writer import BUFFERED_BYTES, PlainWriter
from sinks.writing.record_bytes import MAX_RECORD_BYTES
from sinks.writing.row_reader import SenderReader
from sinks.writing.sending import Sender
from sinks.writing.staging import StagingWriter
from sinks.writing.store_sink import StoreSink
from sinks.writing.writer import Writer


def sink_of(
    senders: Sequence[Sender],
    store_name: str = "logs",
    *,
    capabilities: Capabilities,
    buffer_bytes: int = 1_000,
    deletes: bool = False,
    folded_bytes: int = BUFFERED_BYTES,
    staged_bytes: int = STAGED_BYTES,
    max_put_bytes: int | None = None,
    max_record_bytes: int = MAX_RECORD_BYTES,
    updates: Mapping[str, Merging] = MappingProxyType({}),
    feeds: Mapping[str, FeedSpec] = MappingProxyType({}),
    reader: RowReader | None = None,
    staging: StagingWriter | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> StoreSink:
    """The task sink of a store, as a plan makes it, with these connections."""
    is_staged = capabilities.written_by_driver
    mutator = BufferedMutator(
        senders, store_name, capabilities=capabilities, buffer_bytes=buffer_bytes, staged_bytes=staged_bytes
    )
    reader = reader or SenderReader(senders[0])
    writers: dict[str, FirstWriter] = {
        table: FeedWriter(
            mutator,
            table,
            feed,
            store_name=store_name,
            reader=reader,
            withdraws=not is_staged,
            is_updated=table in updates,
            max_put_bytes=max_put_bytes,
        )
        for table, feed in feeds.items()
    }
    for table, merging in updates.items():
        writers[table] = UpdateWriter(
            writers.get(table, mutator), table, merging, store_name=store_name, withdraws=not is_staged
        )
    return StoreSink(
        mutator,
        store_name,
        capabilities=capabilities,
        plain=PlainWriter(
            mutator,
            store_name,
            deletes=deletes,
            folds=not is_staged,
            max_put_bytes=max_put_bytes,
            max_folded_bytes=folded_bytes,
        ),
        tables=writers,
        staging=staging,
        reader=reader,
        max_record_bytes=max_record_bytes,
        clock=clock,
    )


class Way:
    """
    The calls of a task to a writer and its task sink.

    Attributes:
        refused: rows that the store refused permanently, after `flush`.
    """

    def __init__(self, mapper: Mapper[Any], sink: StoreSink) -> None:
        self.close, self.split_end = sink.close, sink.split_end
        self.write = Writer(mapper, sink).write
        self._sink = sink
        self.refused: RejectedRows = {}

    def begin(self, spec: TaskSpec, prepared: Prepared, counts: WriteCounts) -> None:
        """Start a flush cycle."""
        self.refused = {}
        self._sink.begin(spec, prepared.packed(), counts)

    def flush(self) -> None:
        """End the flush cycle."""
        self.refused = StoreResult.unpacked(self._sink.flush().payload).refused

    @property
    def needs_families(self) -> dict[str, set[bytes]]:
        """Missing families that the flush cycle needs."""
        return self._sink.families.needed
