"""The connection of a task to a store that loads files."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
from sinks.bulk_load.modes import BEHIND, NAME, UP_TO_DATE, LoadRule, RegionModes
from sinks.folding.sizes import size_of
from sinks.writing.buffer import MAX_ROWS
from sinks.writing.target import TargetLayer

CALL_BYTES = 2 << 20
"""Of the rows of one call, as `write_buffer_size` by default: the chunks of a store with bulk load are larger."""
_REFUSALS = (WriteRejectedError, UnclearRefusalError, TimestampRefusedError)


class BulkLoadingStore(TargetLayer):
    """
    A store whose tables with bulk load get files in place of calls, for the tasks and probes of a pipeline.

    The chunks of all tables of the store are large, so that the rows of a region are enough for a file. What does not
    become a file is written in calls of the usual size.

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

    def begin(self, messages: FeatureMessages, on_progress: Callable[[], None]) -> None:
        """Start a flush cycle."""
        self._on_progress = on_progress
        for table, modes in self._modes.items():
            modes.begin(is_behind=messages.get(table, {}).get(NAME, BEHIND) != UP_TO_DATE)

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """
        Make mutations durable, which have physical row keys: as files, or in calls.

        Raises:
            StoreError: as `Store.apply`.
        """
        modes = self._modes.get(table)
        if modes is None or not modes.may_have_files:
            self._call(table, mutations, range(len(mutations)))
            return
        begun = self._clock()
        result = self._store.load(
            table,
            mutations,
            modes.wants_files,
            replicated=self._rules[table].replicated,
            on_progress=self._on_progress,
        )
        if result.rows or result.refused or result.unstaged:
            seconds = cast("int", self._clock() - begun)  # a metric of seconds, though amounts are mostly numbers
            self._counted.update(
                {
                    ("bulk_load_rows", table): result.rows,
                    ("bulk_load_files", table): result.files,
                    ("bulk_load_seconds", table): seconds,
                    ("bulk_load_refused", table): int(result.refused),
                    ("bulk_load_unstaged", table): int(result.unstaged is not None),
                }
            )
        self._call(table, mutations, sorted(result.left))

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


def _nothing() -> None:
    """As the progress before the first flush cycle."""
