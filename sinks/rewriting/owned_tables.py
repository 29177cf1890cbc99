"""The tables of a pipeline with deferred updates or a change feed: their records, owner and committed positions."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ingest.api import Store, TableSpec
from ingest.api.feeds import FEED
from sinks.rewriting.counted_letters import change_counted
from sinks.rewriting.incomplete_updates import remove_with_changes
from sinks.rewriting.owned_feeds import OwnedFeeds
from sinks.rewriting.owned_letters import OwnedLetters
from sinks.rewriting.owner import CommittedPositionsDifferError, lost, refuse_other_owner
from sinks.rewriting.rolling_forward import newest_change_ms, recorded_feed, roll_forward
from sinks.rewriting.taken_over import NOT_TAKEN, Taken, taken_over
from sinks.rowkeys.row_format import UPDATES
from sinks.table_records import record_updates, refuse_other_updates
from sinks.updates.committed_position import (
    COMMITTED,
    FORMER,
    OWNER,
    CommittedPosition,
    FormerOwners,
    former_owners,
    later_offsets,
)
from sinks.writing.driver_store import DriverStore


class OwnedTables:
    """
    The tables with deferred updates or with a change feed of one pipeline, on the driver.

    A table has one owner, because only the pipeline that writes all of its updates, or changes, knows up to which batch
    time they are complete: the committed position. A micro-batch moves it as the last act before its acknowledgement.

    Called by one thread. Order: `claim` at each start of the pipeline, then the other methods.

    Args:
        pipeline: its name.
        stores: the driver's, by name.
        tables: name of a store -> declarations of the tables.
        others: name of a store -> tables that the pipeline writes and that have no feed.
        plain: name of a store -> declarations of those among them that have no deferred updates either.

    Attributes:
        feeds: of the tables.
        letters: what the tables know of dead letters.
    """

    def __init__(
        self,
        pipeline: str,
        stores: Mapping[str, DriverStore],
        tables: Mapping[str, Sequence[TableSpec]],
        others: Mapping[str, Collection[str]] = MappingProxyType({}),
        plain: Mapping[str, Sequence[TableSpec]] = MappingProxyType({}),
    ) -> None:
        self._pipeline = pipeline
        self._stores = stores
        self._tables = tables
        self._plain = plain
        self._committed: dict[tuple[str, str], str | None] = {}
        self._taken: dict[str, Taken] = {}
        self.feeds = OwnedFeeds(pipeline, stores, tables, others)
        self.letters = OwnedLetters(stores, tables)

    @property
    def have_updates(self) -> bool:
        """Whether a table has deferred updates, whose events must not be counted twice."""
        return any(spec.updates for _, spec in self._declared())

    def __bool__(self) -> bool:
        return any(self._tables.values())

    def has_another_owner(self) -> bool:
        """Whether another pipeline has taken over one of the tables."""
        for name, spec in self._declared():
            with self._stores[name].held() as store:
                if store.properties(spec.name).get(OWNER) not in (None, self._pipeline):
                    return True
        return False

    def check(self, *, take_over: bool = False) -> None:
        """
        Check that the pipeline may write its tables, before any of them is changed.

        Args:
            take_over: also tables that another pipeline owns.

        Raises:
            UpdatesDifferError: a table has rows that were written in another way.
            ConflictError: another pipeline owns a table.
            StoreError: a store is unavailable.
        """
        for name, spec in (*self._declared(), *_named(self._plain)):
            with self._stores[name].held() as store:
                self._check(store, spec, take_over=take_over)
        if not take_over:
            self.feeds.check_undeclared()

    def release_undeclared(self) -> list[str]:
        """
        End the deferred updates of tables without rows, and the feeds, that the pipeline no longer declares.

        Returns:
            The tables whose feeds are closed now.

        Raises:
            UpdatesDifferError: a table has rows of deferred updates.
            StoreError: a store is unavailable.
        """
        for name, spec in _named(self._plain):
            with self._stores[name].held() as store:
                found = store.properties(spec.name)
                if UPDATES in found:
                    record_updates(store, spec)
                    if FEED not in found:
                        store.set_property(spec.name, OWNER, found.get(OWNER), None)
        return self.feeds.close_undeclared()

    def claim(self, *, take_over: bool = False, on_found: Callable[[int], None] = lambda _newest_ms: None) -> None:
        """
        Record what the file declares of the tables, note the pipeline as their owner, and read their positions.

        Args:
            take_over: also take tables that another pipeline owns, after deleting its deferred updates above the
                committed position: the next committed position would make them visible.
            on_found: as in `sinks.rewriting.incomplete_updates.remove_updates`, for each table that is taken over.

        Raises:
            UpdatesDifferError: a table has rows that were written in another way.
            ConflictError: another pipeline owns a table; or as `sinks.rewriting.incomplete_updates.remove_updates`.
            StoreError: a store is unavailable.
        """
        self._taken = {}
        self.check(take_over=take_over)
        for name, spec in self._declared():
            with self._stores[name].held() as store:
                self._committed[name, spec.name] = self._claim(store, spec, on_found, take_over=take_over)
        self.feeds.claim()
        self._commit_new_ones()

    def roll_forward(self, keep_ms: int | None = None) -> None:
        """
        Complete the tables with a change feed from the changes above their positions, and move these past the changes.

        Tables with deferred updates stay as they are, see `remove_batch`.

        Args:
            keep_ms: a micro-batch that runs again as it was, and so completes its changes itself; None without one.
                If a table has later changes, those of this micro-batch are applied too.

        Raises:
            ConflictError: another pipeline has taken over a table.
            IngestError: as `sinks.rewriting.rolling_forward.roll_forward`.
        """
        for name, spec in self._declared():
            if spec.feed is None or spec.updates:
                continue
            text = self._committed[name, spec.name]
            committed = CommittedPosition(0, {}) if text is None else CommittedPosition.of(text, spec.name)
            with self._stores[name].held() as store:
                feed = recorded_feed(store, spec.name)
                if feed is None:
                    continue
                last_ms = None
                if keep_ms is not None and newest_change_ms(store, spec.name, feed, committed.time_ms) == keep_ms:
                    last_ms = keep_ms - 1
                newest_ms = roll_forward(store, spec.name, feed, committed.time_ms, last_ms)
                if newest_ms is not None:
                    moved = replace(committed, time_ms=newest_ms)
                    self._committed[name, spec.name] = self._moved(store, spec.name, text, moved)

    def newest(self) -> CommittedPosition | None:
        """
        The newest committed position; None if no table has one.

        Raises:
            IntegrityError: a committed position cannot be read.
        """
        return max(self._known().values(), key=lambda position: position.time_ms, default=None)

    def resume_at(self, *, is_new: bool = True) -> Mapping[str, object] | None:
        """
        The offsets up to which the tables with deferred updates are complete; None if none of them has a position.

        The committed position of a table that was taken over, and not written since, is that of another pipeline: of
        what that one does not read, this pipeline has written what it had when it lost the table.

        Args:
            is_new: whether a new checkpoint starts there; else the oldest committed position counts if they differ,
                since the first micro-batch was interrupted while it moved them.

        Raises:
            ConflictError: the positions have different offsets, so some tables would lose events, or count them twice.
        """
        updated = {(name, spec.name) for name, spec in self._declared() if spec.updates}
        known = {
            key: replace(one, offsets=later_offsets(self._taken.get(key[1], NOT_TAKEN).offsets, one.offsets))
            for key, one in self._known().items()
            if key in updated
        }
        positions = sorted(known.values(), key=lambda position: position.time_ms)
        if not positions:
            return None
        if is_new and any(committed.offsets != positions[0].offsets for committed in positions):
            raise CommittedPositionsDifferError(
                f"the tables {', '.join(table for _, table in known)} are complete up to different offsets"
            )
        return positions[0].offsets

    def reached(self) -> list[Mapping[str, object]]:
        """
        The offsets behind which a checkpoint would read events again: of the committed positions of the tables with
        deferred updates that this pipeline has written last, and of `resume_at` for those that were taken over.
        """
        oldest = self.resume_at(is_new=False)
        known = self._known()
        ours = [(name, spec) for name, spec in self._declared() if spec.updates and spec.name not in self._taken]
        positions = [known[name, spec.name].offsets for name, spec in ours if (name, spec.name) in known]
        return positions if oldest is None else [oldest, *positions]

    def remove_uncommitted(self, on_found: Callable[[int], None]) -> None:
        """
        Delete the updates above the position of each table, and their changes, before a new checkpoint reads them.

        Args:
            on_found: as in `sinks.rewriting.incomplete_updates.remove_updates`, for each table.

        Raises:
            ConflictError: as `sinks.rewriting.incomplete_updates.remove_updates`.
            StoreError: a store is unavailable.
        """
        known = self._known()
        for name, spec in self._declared():
            if spec.updates:
                committed_ms = known.get((name, spec.name), CommittedPosition(-1, {})).time_ms
                with self._stores[name].held() as store:
                    remove_with_changes(store, spec, committed_ms + 1, on_found=on_found)
                self.letters.remove_after(spec.name, committed_ms)

    def note_run_again(self, until_ms: int, *, after_ms: int = -1) -> None:
        """
        Note that the records of micro-batches after the committed positions, and after a time, run again.

        Args:
            until_ms: the time of the last of them.
            after_ms: the time that all of them are after.

        Raises: as `letters.note_run_again`.
        """
        positions = self._known()
        first_ms = {table: max(committed.time_ms, after_ms) + 1 for (_, table), committed in positions.items()}
        self.letters.note_run_again(first_ms, until_ms)

    def remove_batch(self, first_ms: int, last_ms: int) -> None:
        """
        Delete the updates of one micro-batch of this pipeline, and their changes, before it runs at another time.

        The tables note that its records run again: a topic keeps the dead letters of these times.

        Args:
            first_ms: its first time; an earlier start may have renewed it without a table that is declared now.
            last_ms: its last time.

        Raises:
            ConflictError: as `sinks.rewriting.incomplete_updates.remove_updates`.
            StoreError: a store is unavailable.
        """
        updated = []
        for name, spec in self._declared():
            ours_ms, theirs_ms, _ = self._taken.get(spec.name, NOT_TAKEN)
            if spec.updates:
                updated.append(spec.name)
            # what another pipeline wrote may have the same times
            for begin_ms, end_ms in ((first_ms, min(last_ms, ours_ms)), (max(first_ms, theirs_ms + 1), last_ms)):
                if spec.updates and begin_ms <= end_ms:
                    with self._stores[name].held() as store:
                        remove_with_changes(store, spec, begin_ms, end_ms)
        self.letters.note_run_again(dict.fromkeys(updated, first_ms), last_ms)

    def is_complete(self, time_ms: int, offsets: Mapping[str, object]) -> bool:
        """Whether the committed positions of all tables are those of a micro-batch, or of a later replay."""
        positions = self._known()
        return len(positions) == len(self._committed) > 0 and all(
            time_ms <= committed.time_ms and committed.offsets == offsets for committed in positions.values()
        )

    def is_past(self, time_ms: int, offsets: Mapping[str, object]) -> bool:
        """Whether a position is above the time of a micro-batch, or is at this time with other offsets than its end."""
        return any(
            time_ms < committed.time_ms or (time_ms == committed.time_ms and committed.offsets != offsets)
            for committed in self._known().values()
        )

    def visible_to_readers(self, time_ms: int, offsets: Mapping[str, object] | None = None) -> list[str]:
        """The tables with updates and a feed whose positions show readers a micro-batch, whose end may be unknown."""
        positions = self._known()
        fed = {one.name: positions.get((name, one.name)) for name, one in self._declared() if one.updates and one.feed}
        return [
            table
            for table, committed in fed.items()
            if committed
            and time_ms <= committed.time_ms
            and (offsets in (None, committed.offsets) or time_ms <= self._taken.get(table, NOT_TAKEN).ours_ms)
        ]

    def move(self, committed: CommittedPosition) -> None:
        """
        Move the committed positions to a complete micro-batch; a committed position that is above it stays.

        Raises:
            ConflictError: another pipeline has taken over a table.
            StoreError: a store is unavailable; the caller repeats the call.
        """
        for name, spec in self._declared():
            with self._stores[name].held() as store:
                self._committed[name, spec.name] = self._moved(
                    store, spec.name, self._committed[name, spec.name], committed
                )

    def _known(self) -> dict[tuple[str, str], CommittedPosition]:
        return {key: CommittedPosition.of(text, key[1]) for key, text in self._committed.items() if text is not None}

    def _commit_new_ones(self) -> None:
        """Give tables that the pipeline has not written yet the position of the others: they are complete so far."""
        known = {key: committed for key, committed in self._known().items() if key[1] not in self._taken}
        newest = max(known.values(), key=lambda position: position.time_ms, default=None)
        if newest is None:
            return
        for name, spec in self._declared():
            key, text = (name, spec.name), self._committed[name, spec.name]
            if key in known:
                continue
            earlier = 0 if text is None else CommittedPosition.of(text, spec.name).time_ms
            committed = CommittedPosition(max(earlier, newest.time_ms), newest.offsets)
            with self._stores[name].held() as store:
                if not store.set_property(spec.name, COMMITTED, text, committed.to_text()):
                    raise lost(spec.name, self._pipeline)
            self._committed[key] = committed.to_text()

    def _check(self, store: Store[Any], spec: TableSpec, *, take_over: bool) -> Mapping[str, str]:
        """Check that the pipeline may write a table; returns its properties."""
        found = store.properties(spec.name)
        if not take_over:
            refuse_other_owner(found, spec, self._pipeline)
        refuse_other_updates(store, spec)
        return found

    def _claim(
        self, store: Store[Any], spec: TableSpec, on_found: Callable[[int], None], *, take_over: bool
    ) -> str | None:
        """Claim one table; returns its committed position."""
        found = self._check(store, spec, take_over=take_over)
        record_updates(store, spec)
        owner, committed = found.get(OWNER), found.get(COMMITTED)
        committed_ms = -1 if committed is None else CommittedPosition.of(committed, spec.name).time_ms
        former = former_owners(found.get(FORMER), spec.name)
        if owner is not None and owner != self._pipeline:
            # before the owner changes: a claim that was killed does this again
            if spec.updates:
                remove_with_changes(store, spec, committed_ms + 1, on_found=on_found)
                change_counted(store, spec.name, lambda known: known.without_after(committed_ms))
            former[owner] = (
                CommittedPosition(-1, {}) if committed is None else CommittedPosition.of(committed, spec.name)
            )
            if not store.set_property(spec.name, FORMER, found.get(FORMER), FormerOwners(former).to_text()):
                raise lost(spec.name, self._pipeline)
        if owner != self._pipeline and not store.set_property(spec.name, OWNER, owner, self._pipeline):
            raise lost(spec.name, self._pipeline)
        taken = taken_over(former, self._pipeline, committed_ms)  # also at a start after one that was interrupted here
        if taken is not None:
            self._taken[spec.name] = taken
        return committed

    def _moved(self, store: Store[Any], table: str, before: str | None, committed: CommittedPosition) -> str:
        """Move the committed position of one table; returns its committed position."""
        known = None if before is None else CommittedPosition.of(before, table)
        if before is not None and known is not None and known.time_ms >= committed.time_ms:
            return before
        owner = store.properties(table).get(OWNER)
        if owner != self._pipeline or not store.set_property(table, COMMITTED, before, committed.to_text()):
            updated = [spec.name for _, spec in self._declared() if spec.updates]
            raise lost(table, self._pipeline, owner=owner, written=committed.time_ms, updated=updated)
        return committed.to_text()

    def _declared(self) -> Iterator[tuple[str, TableSpec]]:
        return _named(self._tables)


def _named(tables: Mapping[str, Sequence[TableSpec]]) -> Iterator[tuple[str, TableSpec]]:
    return ((name, spec) for name, specs in tables.items() for spec in specs)
