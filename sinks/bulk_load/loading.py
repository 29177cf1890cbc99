"""The connection of a task to a store that loads files."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ingest.api import (
    LifecycleError,
    Mutation,
    Put,
    StoreBusyError,
    StoreUnavailableError,
    TimestampRefusedError,
    UnclearRefusalError,
    WriteRejectedError,
)
from ingest.api.bulk_load import BulkLoading
from ingest.api.table_writer import FeatureMessages
from sinks.bulk_load.modes import BEHIND, NAME, ONLY_CALLS, ONLY_CHECKED, UP_TO_DATE, LoadRule, RegionModes
from sinks.folding.sizes import size_of
from sinks.writing.buffer import MAX_ROWS
from sinks.writing.target import TargetLayer

CALL_BYTES = 2 << 20
"""Of the rows of one call, as `write_buffer_size` by default: the chunks of a store with bulk load are larger."""
MAX_SENT_ROWS = 500_000
"""Rows of a flush cycle that are known to be sent, at 70 bytes each; the rows after them are written in calls."""
_REFUSALS = (WriteRejectedError, UnclearRefusalError, TimestampRefusedError)


@dataclass(slots=True)
class _TableLoads:
    """
    The loads of one table.

    Attributes:
        may_load: whether regions may get files in this flush cycle.
        only_checked: whether they get none, but are refused what files may not bypass.
        sent: hashes of the row keys that were sent in this flush cycle; of two rows with one hash, the later one has a
            call.
    """

    rule: LoadRule
    modes: RegionModes
    may_load: bool = False
    only_checked: bool = False
    sent: set[int] = field(default_factory=set)


class BulkLoadingStore(TargetLayer):
    """
    A store whose tables with bulk load get files in place of calls: for tasks of a pipeline, and for jobs.

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
        self._loader: BulkLoading = store
        self._tables = {table: _TableLoads(rule, RegionModes(rule)) for table, rule in rules.items()}
        self._clock = clock
        self._counted: Counter[tuple[str, str]] = Counter()
        self._on_progress: Callable[[], None] = _nothing
        self._new_times_ms: Collection[int] = ()

    def begin(
        self, messages: FeatureMessages, on_progress: Callable[[], None], new_times_ms: Collection[int] = ()
    ) -> None:
        """Start a flush cycle."""
        self._on_progress = on_progress
        self._new_times_ms = new_times_ms
        for table, loads in self._tables.items():
            message = messages.get(table, {}).get(NAME, BEHIND)
            loads.modes.begin(is_behind=message != UP_TO_DATE)
            loads.may_load = message != ONLY_CALLS and loads.modes.may_have_files and bool(new_times_ms)
            loads.only_checked = message == ONLY_CHECKED
            loads.sent.clear()
        if any(loads.may_load for loads in self._tables.values()):
            self._loader.begin_loads()

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """
        Make mutations durable, which have physical row keys: as files, or in calls.

        Raises:
            StoreError: as `Store.apply`.
        """
        loads = self._tables.get(table)
        if loads is None or not loads.may_load:
            self._call(table, mutations, range(len(mutations)))
            return
        new = self._new_rows(loads, mutations)
        left: Sequence[int] = new
        if new and loads.only_checked:
            some = [mutations[index] for index in new]
            self._loader.check_load(table, some, loads.modes.would_want_files, confirmed=loads.rule.confirmed)
        elif new:
            left = [new[at] for at in self._load(table, loads, [mutations[index] for index in new])]
        self._call(table, mutations, sorted(set(range(len(mutations))).difference(new).union(left)))
        if len(loads.sent) < MAX_SENT_ROWS:  # a chunk that fails is sent again, with the same values
            loads.sent.update(hash(mutation.row) for mutation in mutations)

    def _new_rows(self, loads: _TableLoads, mutations: Sequence[Mutation]) -> list[int]:
        """The indexes of the mutations that may be in a file."""
        sent, times_ms = loads.sent, self._new_times_ms
        if len(sent) >= MAX_SENT_ROWS:
            return []
        return [
            index
            for index, mutation in enumerate(mutations)
            if mutation.timestamp_ms in times_ms and mutation.ttl_ms is None and hash(mutation.row) not in sent
        ]

    def _load(self, table: str, loads: _TableLoads, mutations: Sequence[Mutation]) -> Sequence[int]:
        """Load files; returns the indexes of the mutations that are left."""
        begun = self._clock()
        try:
            result = self._loader.load(
                table, mutations, loads.modes.wants_files, confirmed=loads.rule.confirmed, on_progress=self._on_progress
            )
        except (StoreUnavailableError, StoreBusyError):  # also if the chunk was abandoned meanwhile
            loads.modes.pause()
            raise
        for start in result.refused:
            loads.modes.refuse_files(start)
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
