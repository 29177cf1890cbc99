"""
The tables with deferred updates of one pipeline: up to where all of them are complete.

A micro-batch moves the committed positions of its tables one after the other. If it is interrupted between two of them,
it runs again, and with a changed configuration its updates are removed from all tables. So compaction and rollback of
each of the tables stop at the oldest committed position.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from ingest.api import Store
from ingest.config.model import Configuration, Pipeline
from ingest.durable import StatePath
from ingest.service.replay_lock import refuse_unfinished_replay
from ingest.service.state_folders import update_replay_file
from sinks.owning.committed_position import COMMITTED, CommittedPosition
from sinks.rewriting.store_calls import StoreCalls
from sinks.updates.feature import Updates


class OldestPosition(NamedTuple):
    """
    The oldest committed position of several tables.

    Attributes:
        table: which has it.
        time_ms: its batch time.
    """

    table: str
    time_ms: int


class TableGroup:
    """
    The tables with deferred updates that one pipeline writes.

    Args:
        pipeline: its name.
        tables: name of a store -> names of its tables.
        calls: of these stores, by name; a store without calls does not exist yet.
        replay: file of the pipeline's unfinished replay.
    """

    def __init__(
        self,
        pipeline: str,
        tables: Mapping[str, Collection[str]],
        calls: Mapping[str, StoreCalls],
        replay: StatePath,
    ) -> None:
        self._pipeline = pipeline
        self._tables = tables
        self._calls = calls
        self._replay = replay

    def oldest_committed(self, table: str) -> OldestPosition | None:
        """
        The oldest committed position of the tables; None if the given one has no committed position.

        Other tables without a committed position do not count: they get the committed position of the others when the
        pipeline starts.

        Raises:
            IntegrityError: a committed position cannot be read.
            StoreError: a store is unavailable.
        """
        positions = [
            OldestPosition(name, CommittedPosition.of(text, name).time_ms)
            for store, names in self._tables.items()
            if store in self._calls
            for name in names
            if (text := self._calls[store](_committed_of(name))) is not None
        ]
        if all(committed.table != table for committed in positions):
            return None
        return min(positions, key=lambda committed: (committed.time_ms, committed.table != table))

    def check_no_replay(self) -> None:
        """
        Refuse to delete updates while a replay of the pipeline may have to write some of them again.

        Called after the committed positions were read: a replay that starts later writes above them.

        Raises:
            ConflictError: a replay was interrupted, or runs.
            StoreUnavailableError: its file cannot be read now.
        """
        refuse_unfinished_replay(
            self._replay,
            self._pipeline,
            "would write updates at a time that is rolled back",
            "if it was interrupted, run its command again: 'attr2hbase replay' with the same times, "
            "or 'attr2hbase dead-letters replay'",
        )


def table_group(configuration: Configuration, pipeline: Pipeline, calls: Mapping[str, StoreCalls]) -> TableGroup:
    """The tables with deferred updates of a pipeline, in stores that are open."""
    tables: dict[str, list[str]] = {}
    for table in configuration.written_by(pipeline, Updates):
        tables.setdefault(table.store, []).append(table.name)
    return TableGroup(pipeline.name, tables, calls, update_replay_file(configuration, pipeline.name))


def _committed_of(table: str) -> Callable[[Store[Any]], str | None]:
    return lambda store: store.properties(table).get(COMMITTED)
