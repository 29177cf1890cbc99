"""The connection of a task to a store that loads files."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from ingest.api import (
    LifecycleError,
    Mutation,
    Put,
    TimestampRefusedError,
    UnclearRefusalError,
    WriteRejectedError,
)
from ingest.api.bulk_load import BulkLoading
from ingest.api.table_writer import FeatureMessages
from sinks.bulk_load.modes import AGAIN, BEHIND, NAME, REPLAY, UP_TO_DATE, LoadRule, RegionModes
from sinks.folding.sizes import size_of
from sinks.writing.buffer import MAX_ROWS
from sinks.writing.target import TargetLayer

CALL_BYTES = 2 << 20
"""Of the rows of one call, as `write_buffer_size` by default: the chunks of a store with bulk load are larger."""
MAX_WRITTEN_ROWS = 500_000
"""Rows of a flush cycle that are known to be written, at 70 bytes each; the rows after them are written in calls."""
_REFUSALS = (WriteRejectedError, UnclearRefusalError, TimestampRefusedError)


class BulkLoadingStore(TargetLayer):
    """
    A store whose tables with bulk load get files in place of calls: for tasks and probes of a pipeline, and for jobs.

    The chunks of all tables of the store are large, so that the rows of a region are enough for a file. What does not
    become a file is written in calls of the usual size.

    A file that HBase loads while it flushes does not replace a cell with the same time. So a row is loaded only if no
    earlier flush cycle has given its cells other values at their time, as a new micro-batch, and if no earlier chunk of
    the flush cycle had the row. A time to live is an attribute of a mutation, so a row that has one is not
    loaded.

    Args:
        store: that loads files; not yet open.
        rules: name of a table -> when its rows are loaded as files.
        clock: monotonic seconds.
    """

    def __init__(
        self, store: Any, rules: Mapping[str, LoadRule], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(store)
        if not isinstance(store, BulkLoading):
            raise LifecycleError(f"{store} loads no files")
        self._store = store
        self._rules = rules
        self._modes = {table: RegionModes(rule) for table, rule in rules.items()}
        self._clock = clock
        self._counted: Counter[tuple[str, str]] = Counter()
        self._on_progress: Callable[[], None] = _nothing
        self._new_times_ms: Collection[int] = ()
        self._loaded_tables: frozenset[str] = frozenset()
        self._written_before: set[str] = set()
        self._written: dict[str, set[int]] = {}

    def begin(
        self, messages: FeatureMessages, on_progress: Callable[[], None], new_times_ms: Collection[int] = ()
    ) -> None:
        """Start a flush cycle."""
        self._on_progress = on_progress
        self._new_times_ms = new_times_ms
        self._written = {table: set() for table in self._modes}
        self._written_before = set()
        loaded = set()
        for table, modes in self._modes.items():
            message = messages.get(table, {}).get(NAME, BEHIND)
            modes.begin(is_behind=message != UP_TO_DATE)
            if message == AGAIN:
                self._written_before.add(table)
            if message != REPLAY and modes.may_have_files and new_times_ms:
                loaded.add(table)
        self._loaded_tables = frozenset(loaded)
        if loaded:
            self._store.begin_loads()

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """
        Make mutations durable, which have physical row keys: as files, or in calls.

        Raises:
            StoreError: as `Store.apply`.
        """
        if table not in self._loaded_tables:
            self._call(table, mutations, range(len(mutations)))
            return
        written, times_ms = self._written[table], self._new_times_ms
        if len(written) < MAX_WRITTEN_ROWS:
            new = [
                index
                for index, mutation in enumerate(mutations)
                if mutation.timestamp_ms in times_ms and mutation.ttl_ms is None and hash(mutation.row) not in written
            ]
        else:
            new = []
        others = set(range(len(mutations))).difference(new)
        left = self._load(table, [mutations[index] for index in new]) if new else []
        self._call(table, mutations, sorted(others.union(new[at] for at in left)))
        if len(written) < MAX_WRITTEN_ROWS:  # a chunk that fails is sent again, with the same values
            written.update(hash(mutation.row) for mutation in mutations)

    def _load(self, table: str, mutations: Sequence[Mutation]) -> Sequence[int]:
        """Load files; returns the indexes of the mutations that are left."""
        modes = self._modes[table]
        begun = self._clock()
        result = self._store.load(
            table,
            mutations,
            modes.wants_files,
            confirmed=self._rules[table].confirmed,
            on_progress=self._on_progress,
            only_check=table in self._written_before,
        )
        for start in result.refused:
            modes.refuse_files(start)
        if result.rows or result.refused or result.unstaged:
            seconds = cast("int", self._clock() - begun)  # a metric of seconds, though amounts are mostly numbers
            self._counted.update(
                {
                    ("bulk_load_rows", table): result.rows,
                    ("bulk_load_files", table): result.files,
                    ("bulk_load_seconds", table): seconds,
                    ("bulk_load_refused", table): int(bool(result.refused)),
                    ("bulk_load_unstaged", table): int(result.unstaged is not None),
                }
            )
        return result.left

    def take_counted(self) -> Counter[tuple[str, str]]:
        """What was loaded."""
        counted, self._counted = self._counted, Counter()
        return counted + self.target.take_counted()

    def _call(self, table: str, mutations: Sequence[Mutation], indexes: Sequence[int]) -> None:
        """
        Write some of the mutations in calls, puts and deletes apart: as folded, they may be written in any order.

        Raises:
            StoreError: as `Store.apply`; indexes in it are those of all mutations.
        """
        for is_put in (True, False):
            part: list[int] = []
            size = 0
            for index in indexes:
                if isinstance(mutations[index], Put) is not is_put:
                    continue
                part.append(index)
                size += size_of(mutations[index])
                if size >= CALL_BYTES or len(part) >= MAX_ROWS:
                    self._call_once(table, mutations, part)
                    part, size = [], 0
            if part:
                self._call_once(table, mutations, part)

    def _call_once(self, table: str, mutations: Sequence[Mutation], indexes: Sequence[int]) -> None:
        try:
            self.target.apply(table, [mutations[index] for index in indexes])
        except _REFUSALS as error:
            if error.indexes is not None:
                error.indexes = [indexes[at] for at in error.indexes]
            raise
        finally:
            self._on_progress()


def loading_rows(store: Any, table: str, rule: LoadRule) -> BulkLoadingStore:
    """
    Around a store that gets many rows of a table, in the order of their keys: a job, which is always behind.

    Args:
        store: that loads files; not yet open.
        table: its name.
        rule: of the table.
    """
    return BulkLoadingStore(store, {table: replace(rule, keeps_calls=False)})


def _nothing() -> None:
    """As the progress before the first flush cycle."""
