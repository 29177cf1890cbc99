"""
A bootstrap: loads the rows of a dump into a table, then applies the changes of the feed since.

Every cell and every delete is written with the time that it has in the source, and the newest time decides. So a row or
a change that is applied twice, or after a later one, changes nothing, and the bootstrap can resume after a kill at any
point.
"""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

from ingest import failpoint
from ingest.api import ConflictError, Delete, IntegrityError, Row
from sinks.bootstrap.comparison import compared, counting
from sinks.bootstrap.delete_log import DeleteLog
from sinks.bootstrap.following import FeedFollower
from sinks.bootstrap.progress import BOOTSTRAP, BootstrapProgress, Stage
from sinks.bootstrap.puts import puts_of
from sinks.bootstrap.reopening_store import size_of_row
from sinks.bootstrap.target import TargetInUseError, TargetTable
from sinks.bootstrap.versions import TouchedRows, unless_newer
from sinks.dumps.checksum import TableChecksum, no_rows
from sinks.scanning.stored_rows import has_rows

_CHECKED_BYTES = 1 << 20  # of rows that are compared with those of the target at once
SAVED_ROWS = 50_000
"""After so many rows the progress is saved; at most as many are loaded again after a kill."""
SAVED_LOADED_ROWS = 200_000
"""The same if rows are loaded as files, or after `LOADED_BYTES` of them: with less, the files would be small."""
_ROUNDS = 60
_ROUND_S = 2.0
"""Rows that differ because the source is being written are compared again for two minutes: longer than most
micro-batches take, whose cells are in the source before their changes can be read."""


class TargetHasRowsError(ConflictError):
    """A table has rows that no bootstrap has written."""

    code = "target_has_rows"
    hint = "load into a table without rows"


class DumpedRows(Protocol):
    """The rows of one table in a dump."""

    @property
    def files(self) -> int:
        """Number of files."""

    def rows(self, file: int) -> Generator[Row]:
        """The rows of a file, in an order that does not change."""


@dataclass(frozen=True, slots=True)
class Following:
    """
    The feed that a bootstrap applies.

    Attributes:
        feed: with the positions of the dump.
        deletes: log of deletes, if the feed is applied while the rows are loaded; else None.
    """

    feed: FeedFollower
    deletes: DeleteLog | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    """
    Whether the target is a copy.

    Attributes:
        source: checksum of the source, or of the rows of the dump.
        target: checksum of the target.
        differing: keys of rows that differ; at most 100,000.
        recompared: number of rows that were compared again, because the source was being written.
        is_equal: whether no row differs. While the source is written, the checksums may differ nevertheless.
    """

    source: TableChecksum
    target: TableChecksum
    differing: tuple[bytes, ...]
    recompared: int
    is_equal: bool


class Bootstrap:
    """
    Loads a dump into a table, and applies the changes since.

    Called by one thread. Order: `loading`, `following`, `verify`.

    Args:
        dumped: the rows of the dump.
        target: the table that is written.
        progress: of a bootstrap that has not begun; with root, dump, source, and with a feed its id, positions and
            whether the feed is applied while the rows are loaded.
        following: the feed; None without one.
        before_first: called once the target is known to have no rows, before anything is written; perhaps again after a
            kill.
        sleep: between comparisons.
        saved_rows: after so many rows the progress is saved; None for `SAVED_ROWS`, or `SAVED_LOADED_ROWS` with files.

    Attributes:
        progress: as saved.
        on_progress: called after each save.
    """

    def __init__(
        self,
        dumped: DumpedRows,
        target: TargetTable,
        progress: BootstrapProgress,
        following: Following | None = None,
        *,
        before_first: Callable[[], object] = lambda: None,
        sleep: Callable[[float], object] = time.sleep,
        saved_rows: int | None = None,
    ) -> None:
        self.progress = progress
        self._dumped = dumped
        self._target = target
        self._feed = None if following is None else following.feed
        self._deletes = None if following is None else following.deletes
        self.on_progress: Callable[[BootstrapProgress], object] = lambda _progress: None
        self._before_first = before_first
        self._sleep = sleep
        self._saved_rows = saved_rows or (SAVED_LOADED_ROWS if target.loads_files else SAVED_ROWS)
        self._saved: str | None = None
        self._set_property = failpoint.after("bootstrap_saved", target.set_property)
        self._written = failpoint.point("bootstrap_written")
        self._touched = TouchedRows(is_full=True)

    def loading(self) -> Iterator[None]:
        """
        Load the rows that are not loaded yet; nothing if all are. Yields after each file.

        Raises:
            ConflictError: the table has rows, or another bootstrap writes it.
            ConfigError: the source has deferred updates, and there is a feed.
            TrimmedError: changes since the dump, or since the last run, have expired.
            IntegrityError: the table has lost the rows that were loaded.
            DumpCorruptError: a file of the dump is damaged.
            StoreError: a store is unavailable; run it again.
        """
        self._begin()
        if self.progress.stage is Stage.LOADING:
            for file in range(self.progress.files, self._dumped.files):
                self._load_file(file)
                yield
            self._save(stage=Stage.DELETING if self.progress.is_concurrent else Stage.FOLLOWING)
        if self.progress.stage is Stage.DELETING and self._deletes is not None:
            self._target.add(self._deletes.deletes(self.progress.deletes))
            self._target.flush()
            self._save(stage=Stage.FOLLOWING)
            self._deletes.remove()

    def following(self) -> Iterator[None]:
        """
        Apply the changes of the feed up to the newest complete micro-batch; nothing without a change feed. Yields after
        a page of each shard.

        Raises:
            TrimmedError: changes after a position have expired.
            StoreError: a store is unavailable; run it again.
        """
        while self._feed is not None:
            self._apply(self._feed)
            yield
            if not self._feed.behind_ms:
                return

    def verify(self, on_rows: Callable[[int], object] = lambda _rows: None) -> Verified | None:
        """
        Compare every row, times included: with the source if there is a feed, else with the rows that were loaded.

        Rows that differ because the source is being written are compared again after the feed was applied.

        Args:
            on_rows: called with the number of rows of the target that were read, from time to time.

        Returns:
            None if there is no feed and a family has a time to live: cells of the dump may have expired.

        Raises:
            StoreError: a store is unavailable.
        """
        feed = self._feed
        if feed is None:
            return self._compared_with_dump(on_rows)

        def advance(rows: int) -> None:
            on_rows(rows)
            self._apply(feed)  # else all that is written during the comparison would differ

        with (
            closing(feed.store.rows(feed.table)) as source,
            closing(self._target.store.rows(self._target.table)) as target,
        ):
            comparison = compared(source, counting(target, advance))
        differing = comparison.differing
        if not comparison.is_cut:
            differing = self._still_differing(feed, differing)
        recompared = 0 if comparison.is_cut else len(comparison.differing)
        return Verified(comparison.source, comparison.target, tuple(differing), recompared, not differing)

    def _begin(self) -> None:
        """Resume at the saved progress, or save that of the beginning."""
        self._saved = self._target.property(BOOTSTRAP)
        if self._saved is not None:
            found = BootstrapProgress.of(self._saved, self._target.table)
            if not found.is_of(self.progress):
                raise TargetInUseError(
                    f'table "{self._target.table}" is loaded from table "{found.source}" of dump {found.dump} '
                    f'in "{found.root}"{", with" if found.feed_id else ", without"} a feed',
                )
            self.progress = found
            if self._feed is not None:
                self._feed.positions = dict(found.positions)
                self._feed.check()
            self._check_loaded()
        elif self._target.has_rows():
            raise TargetHasRowsError(f'table "{self._target.table}" has rows')
        else:
            if self._feed is not None:
                self._feed.check()
            self._touched = TouchedRows()
            if self._deletes is not None:
                self._deletes.remove()  # that of an earlier bootstrap of a table of this name
            self._before_first()
            self._save()

    def _check_loaded(self) -> None:
        """Refuse a table that lost its rows after they were loaded; HBase keeps the progress of a dropped table."""
        loaded = self.progress.checksum.rows
        if not loaded or self._target.has_rows():
            return
        feed = self._feed
        if feed is None:
            may_be_empty = self._may_expire()
        else:
            may_be_empty = not feed.store.call(lambda store: has_rows(store, feed.table))
        if not may_be_empty:
            raise IntegrityError(
                f'table "{self._target.table}" has no rows, and {loaded} were loaded from dump {self.progress.dump}',
                hint="the table was dropped or its rows were deleted: load the dump into another table",
            )

    def _may_expire(self) -> bool:
        """Whether cells of the target have a time to live."""
        spec = self._target.store.call(lambda store: store.describe_table(self._target.table))
        return spec is not None and any(family.ttl_s is not None for family in spec.families)

    def _load_file(self, file: int) -> None:
        first = self.progress.rows  # rows of this file that were loaded before
        checksum = replace(self.progress.checksum)
        count = size = 0
        pending: list[Row] = []
        with closing(self._dumped.rows(file)) as rows:
            for row in rows:
                count += 1
                if count <= first:
                    continue
                checksum.add(row)
                pending.append(row)
                size += size_of_row(row)
                is_saved = count % self._saved_rows == 0
                if is_saved or size >= _CHECKED_BYTES:
                    self._add(pending)
                    pending, size = [], 0
                    is_saved |= self._target.has_enough_rows
                if is_saved:
                    self._save(rows=count, checksum=replace(checksum))
                    self._apply_meanwhile()
        self._add(pending)
        if count < first:
            raise IntegrityError(
                f"file {file} of dump {self.progress.dump} had {first} rows or more, and has {count} now",
                hint="restore the dump from a copy, or load another one into another table",
            )
        self._save(files=file + 1, rows=0, checksum=checksum)
        self._apply_meanwhile()

    def _add(self, rows: Sequence[Row]) -> None:
        present: Mapping[bytes, Row] = {}
        if self.progress.is_concurrent:
            touched = [row.key for row in rows if self._touched.may_have(row.key)]
            present = self._target.store.rows_of(self._target.table, touched)
        for row in rows:
            self._target.load(puts_of(unless_newer(row, present.get(row.key))))

    def _apply_meanwhile(self) -> None:
        if self.progress.is_concurrent and self._feed is not None:
            self._apply(self._feed)

    def _apply(self, feed: FeedFollower) -> None:
        """Apply a page of each shard."""
        applied = deletes = 0
        for changes in feed.pages():
            mutations = [mutation for change in changes for mutation in change.mutations()]
            if self.progress.stage is Stage.LOADING and self._deletes is not None:
                deletes += self._deletes.append(each for each in mutations if isinstance(each, Delete))
                for change in changes:
                    self._touched.add(change.row)
            self._target.add(mutations)
            applied += len(changes)
        if applied or feed.positions != self.progress.positions:
            self._save(
                positions=dict(feed.positions),
                changes=self.progress.changes + applied,
                deletes=self.progress.deletes + deletes,
            )

    def _compared_with_dump(self, on_rows: Callable[[int], object]) -> Verified | None:
        if self._may_expire():
            return None
        expected, found = self.progress.checksum, no_rows()
        with closing(self._target.store.rows(self._target.table)) as rows:
            for row in counting(rows, on_rows):
                found.add(row)
        return Verified(expected, found, (), 0, expected == found)

    def _still_differing(self, feed: FeedFollower, keys: list[bytes]) -> list[bytes]:
        for number in range(_ROUNDS):
            if not keys:
                return keys
            if number:
                self._sleep(_ROUND_S)
            before = feed.store.rows_of(feed.table, keys)
            for _ in self.following():
                pass
            found = self._target.store.rows_of(self._target.table, keys)
            after = feed.store.rows_of(feed.table, keys)
            keys = [key for key in keys if found.get(key) not in (before.get(key), after.get(key))]
        return keys

    def _save(self, **changes: object) -> None:
        """Save the progress; all that was added before is durable then."""
        self._target.flush()
        self.progress = replace(self.progress, **changes)  # type: ignore[arg-type]
        text = self.progress.to_text()
        if text != self._saved:
            self._written()
            self._set_property(BOOTSTRAP, self._saved, text)
            self._saved = text
        self.on_progress(self.progress)
