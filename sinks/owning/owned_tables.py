"""The tables with features that one pipeline owns: their records, owner and committed positions."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

from ingest.api import Store, TableSpec
from ingest.api.driver_feature import DriverFeature, DriverTables, Released, StartAfter, StoreFeatures
from ingest.api.table_feature import TableFeature
from sinks.owning.committed_position import (
    COMMITTED,
    FORMER,
    OWNER,
    CommittedPosition,
    FormerOwners,
    former_owners,
    later_offsets,
)
from sinks.owning.owner import CommittedPositionsDifferError, lost, refuse_other_owner
from sinks.owning.taken_over import NOT_TAKEN, Taken, taken_over
from sinks.table_records import record_updates, refuse_other_updates
from sinks.writing.driver_store import DriverStore

HalfT = TypeVar("HalfT", bound=DriverFeature)


class OwnedTables:
    """
    The tables with features that one pipeline owns, on the driver.

    A table has one owner, because only the pipeline that writes all of its updates, or changes, knows up to which batch
    time they are complete: the committed position. A micro-batch moves it as the last act before its acknowledgement.
    What an incomplete micro-batch has written is withdrawn from tables whose events are counted again; other tables are
    rolled forward.

    Called by one thread. Order: `claim` at each start of the pipeline, then the other methods.

    Args:
        pipeline: its name.
        stores: the driver's, by name.
        tables: name of a store -> declarations of the tables.
        written: name of a store -> all tables that the pipeline names.
        plain: name of a store -> declarations of those among them that no pipeline owns.
        features: all of them, in the order in which what they have written is withdrawn.
    """

    def __init__(
        self,
        pipeline: str,
        stores: Mapping[str, DriverStore],
        tables: Mapping[str, Sequence[TableSpec]],
        written: Mapping[str, Collection[str]] = MappingProxyType({}),
        plain: Mapping[str, Sequence[TableSpec]] = MappingProxyType({}),
        *,
        features: Sequence[TableFeature[Any]],
    ) -> None:
        self._pipeline = pipeline
        self._stores = stores
        self._tables = tables
        self._plain = plain
        self._committed: dict[tuple[str, str], str | None] = {}
        self._taken: dict[str, Taken] = {}
        self._unowned: set[str] = (
            set()
        )  # tables without an owner before this start, so that no process has written them
        self._features = features
        owning = frozenset(feature.name for feature in features if feature.has_owner)
        self._halves: list[DriverFeature] = []
        for feature in features:
            others = {
                name: set(found) - {spec.name for spec in tables.get(name, ()) if feature.is_in(spec)}
                for name, found in written.items()
            }
            self._halves.append(feature.on_driver(DriverTables(pipeline, stores, tables, others, plain, owning)))

    @property
    def add_to_rows(self) -> bool:
        """Whether events add to the rows of a table, so that they must not be counted twice."""
        return any(self._adds(spec) for _, spec in self._declared())

    def half(self, kind: type[HalfT]) -> HalfT:
        """The half on the driver of the feature whose half is of a class."""
        return next(each for each in self._halves if isinstance(each, kind))

    def of_store(self, name: str) -> StoreFeatures:
        """The halves of the features, for the committer of a store."""
        return StoreFeatures(name, self._halves)

    def newest_edge_ms(self) -> int:
        """As `DriverFeature.newest_edge_ms`, of all features."""
        return max((half.newest_edge_ms() for half in self._halves), default=0)

    def begun(self, time_ms: int) -> None:
        """As `DriverFeature.begun`, of all features."""
        for half in self._halves:
            half.begun(time_ms)

    def replay_at(self, time_ms: int | None) -> None:
        """As `DriverFeature.replay_at`, of all features."""
        for half in self._halves:
            half.replay_at(time_ms)

    def may_run_again(self, until_ms: int) -> None:
        """As `DriverFeature.may_run_again`, of all features."""
        for half in self._halves:
            half.may_run_again(until_ms)

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
            for half in self._halves:
                half.check_others()

    def release_undeclared(self) -> list[Released]:
        """
        End the features of tables that the pipeline no longer declares with them.

        Returns:
            Messages for users.

        Raises:
            UpdatesDifferError: a table has rows of deferred updates.
            StoreError: a store is unavailable.
        """
        return [released for half in self._halves for released in half.release_others()]

    def claim(self, *, take_over: bool = False, start_after: StartAfter = lambda newest_ms: newest_ms) -> None:
        """
        Record what the file declares of the tables, note the pipeline as their owner, and read their positions.

        Args:
            take_over: also take tables that another pipeline owns, after withdrawing what it has written above the
                committed position: the next committed position would make it visible. Tables whose events are not
                counted again are completed instead.
            start_after: as in `DriverFeature.withdraw_after`, for each table that is taken over.

        Raises:
            UpdatesDifferError: a table has rows that were written in another way.
            ConflictError: another pipeline owns a table; or as `DriverFeature.withdraw`.
            StoreError: a store is unavailable.
        """
        self._taken, self._unowned = {}, set()
        self.check(take_over=take_over)
        for name, spec in self._declared():
            with self._stores[name].held() as store:
                self._committed[name, spec.name] = self._claim(store, spec, start_after, take_over=take_over)
        for half in self._halves:
            half.claim()
        self._end_interrupted_move()
        self._commit_new_ones()

    def roll_forward(self, keep_ms: int | None = None) -> None:
        """
        Complete the tables whose events are not counted again, from what their features have above the positions.

        The positions move past it. Tables to whose rows events add stay as they are, see `remove_batch`.

        Args:
            keep_ms: a micro-batch that runs again as it was, and so completes the tables itself; None without one. A
                table that has something of later ones is completed up to these.

        Raises:
            ConflictError: another pipeline has taken over a table.
            IngestError: as `DriverFeature.roll_forward`.
        """
        for name, spec in self._declared():
            if self._adds(spec):
                continue
            text = self._committed[name, spec.name]
            committed = CommittedPosition(0, {}) if text is None else CommittedPosition.of(text, spec.name)
            with self._stores[name].held() as store:
                for half in self._halves_of(spec):
                    newest_ms = half.roll_forward(store, spec, committed.time_ms, keep_ms)
                    if newest_ms is not None:
                        moved = replace(committed, time_ms=newest_ms)
                        text = self._moved(store, spec.name, text, moved, is_alone=True)
                        self._committed[name, spec.name] = text

    def newest(self) -> CommittedPosition | None:
        """
        The newest committed position; None if no table has one.

        Raises:
            IntegrityError: a committed position cannot be read.
        """
        return max(self._known().values(), key=lambda position: position.time_ms, default=None)

    def resume_at(self, *, is_new: bool = True) -> Mapping[str, object] | None:
        """
        The offsets up to which the tables to whose rows events add are complete; None if none of them has a position.

        The committed position of a table that was taken over, and not written since, is that of another pipeline: of
        what that one does not read, this pipeline has written what it had when it lost the table.

        Args:
            is_new: whether a new checkpoint starts there; else the oldest committed position counts if they differ,
                since the first micro-batch was interrupted while it moved them.

        Raises:
            ConflictError: the positions have different offsets, so some tables would lose events, or count them twice.
        """
        updated = {(name, spec.name) for name, spec in self._declared() if self._adds(spec)}
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
        The offsets behind which a checkpoint would count events again: of the committed positions of the tables that
        this pipeline has written last, and of `resume_at` for those that were taken over.
        """
        oldest = self.resume_at(is_new=False)
        known = self._known()
        ours = [(name, spec) for name, spec in self._declared() if self._adds(spec) and spec.name not in self._taken]
        positions = [known[name, spec.name].offsets for name, spec in ours if (name, spec.name) in known]
        return positions if oldest is None else [oldest, *positions]

    def remove_uncommitted(self, start_after: StartAfter) -> None:
        """
        Withdraw what is above the position of each table whose events count, before a new checkpoint reads them.

        Args:
            start_after: as in `DriverFeature.withdraw_after`, for each table.

        Raises:
            ConflictError: as `DriverFeature.withdraw`.
            StoreError: a store is unavailable.
        """
        known = self._known()
        for name, spec in self._declared():
            if self._adds(spec):
                committed_ms = known.get((name, spec.name), CommittedPosition(-1, {})).time_ms
                is_new = spec.name in self._unowned and (name, spec.name) not in known
                with self._stores[name].held() as store:
                    self._withdraw_after(store, spec, committed_ms, _if_found(start_after) if is_new else start_after)

    def note_run_again(self, until_ms: int, *, after_ms: int = -1) -> None:
        """
        Note that the records of micro-batches after the committed positions, and after a time, run again.

        Args:
            until_ms: the time of the last of them.
            after_ms: the time that all of them are after.

        Raises: as `DriverFeature.runs_again`.
        """
        positions = self._known()
        first_ms = {table: max(committed.time_ms, after_ms) + 1 for (_, table), committed in positions.items()}
        self._run_again(first_ms, until_ms)

    def remove_batch(self, first_ms: int, last_ms: int) -> None:
        """
        Withdraw one micro-batch of this pipeline, before it runs at another time; the tables note that it runs again.

        Args:
            first_ms: its first time; an earlier start may have renewed it without a table that is declared now.
            last_ms: its last time.

        Raises:
            ConflictError: as `DriverFeature.withdraw`.
            StoreError: a store is unavailable.
        """
        adding = [(name, spec) for name, spec in self._declared() if self._adds(spec)]
        for name, spec in adding:
            ours_ms, theirs_ms, _ = self._taken.get(spec.name, NOT_TAKEN)
            # what another pipeline wrote may have the same times
            for begin_ms, end_ms in ((first_ms, min(last_ms, ours_ms)), (max(first_ms, theirs_ms + 1), last_ms)):
                if begin_ms <= end_ms:
                    with self._stores[name].held() as store:
                        for half in self._halves_of(spec):
                            half.withdraw(store, spec, begin_ms, end_ms)
        self._run_again({spec.name: first_ms for _, spec in adding}, last_ms)

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
        """The tables whose events count and whose positions show readers a micro-batch, whose end may be unknown."""
        positions = self._known()
        followed = {
            spec.name: positions.get((name, spec.name))
            for name, spec in self._declared()
            if self._adds(spec) and any(feature.is_followed and feature.is_in(spec) for feature in self._features)
        }
        return [
            table
            for table, committed in followed.items()
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

    def _adds(self, spec: TableSpec) -> bool:
        return any(feature.adds_to_rows and feature.is_in(spec) for feature in self._features)

    def _halves_of(self, spec: TableSpec) -> Iterator[DriverFeature]:
        pairs = zip(self._features, self._halves, strict=True)
        return (half for feature, half in pairs if feature.is_in(spec))

    def _withdraw_after(self, store: Store[Any], spec: TableSpec, committed_ms: int, start_after: StartAfter) -> None:
        for half in self._halves_of(spec):
            half.withdraw_after(store, spec, committed_ms, start_after)

    def _run_again(self, first_ms: Mapping[str, int], last_ms: int) -> None:
        for half in self._halves:
            half.runs_again(first_ms, last_ms)

    def _known(self) -> dict[tuple[str, str], CommittedPosition]:
        return {key: CommittedPosition.of(text, key[1]) for key, text in self._committed.items() if text is not None}

    def _end_interrupted_move(self) -> None:
        """Move the positions that a process, killed within `move`, has left behind: their tables are complete."""
        known = self._known()
        newest_ms = max((each.time_ms for each in known.values()), default=-1)
        moved = {each.after_ms: each for each in known.values() if each.time_ms == newest_ms}
        for (name, table), committed in known.items():
            position = moved.get(committed.time_ms)
            if position is not None and table not in self._taken:
                with self._stores[name].held() as store:
                    text = self._committed[name, table]
                    self._committed[name, table] = self._moved(store, table, text, position)

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
            refuse_other_owner(found, spec, self._pipeline, self._features)
        refuse_other_updates(store, spec)
        return found

    def _claim(self, store: Store[Any], spec: TableSpec, start_after: StartAfter, *, take_over: bool) -> str | None:
        """Claim one table; returns its committed position."""
        found = self._check(store, spec, take_over=take_over)
        record_updates(store, spec)
        owner, committed = found.get(OWNER), found.get(COMMITTED)
        if owner is None:
            self._unowned.add(spec.name)
        committed_ms = -1 if committed is None else CommittedPosition.of(committed, spec.name).time_ms
        former = former_owners(found.get(FORMER), spec.name)
        if owner is not None and owner != self._pipeline:
            # before the owner changes: a claim that was killed does this again
            if self._adds(spec):
                self._withdraw_after(store, spec, committed_ms, start_after)
            else:
                # the position of this pipeline's other tables may be later, and then readers have these changes
                for half in self._halves_of(spec):
                    half.roll_forward(store, spec, max(committed_ms, 0), None)
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

    def _moved(
        self,
        store: Store[Any],
        table: str,
        before: str | None,
        committed: CommittedPosition,
        *,
        is_alone: bool = False,
    ) -> str:
        """Move the committed position of one table, alone or with the others; returns its committed position."""
        known = None if before is None else CommittedPosition.of(before, table)
        if before is not None and known is not None and known.time_ms >= committed.time_ms:
            return before
        moved = replace(committed, after_ms=-1 if is_alone or known is None else known.time_ms).to_text()
        owner = store.properties(table).get(OWNER)
        if owner != self._pipeline or not store.set_property(table, COMMITTED, before, moved):
            adding = [spec.name for _, spec in self._declared() if self._adds(spec)]
            raise lost(table, self._pipeline, owner=owner, written=committed.time_ms, updated=adding)
        return moved

    def _declared(self) -> Iterator[tuple[str, TableSpec]]:
        return _named(self._tables)


def _if_found(start_after: StartAfter) -> StartAfter:
    """The same for a table that is new: without updates there is no time that new micro-batches must be later than."""
    return lambda newest_ms: start_after(newest_ms) if newest_ms else -1


def _named(tables: Mapping[str, Sequence[TableSpec]]) -> Iterator[tuple[str, TableSpec]]:
    return ((name, spec) for name, specs in tables.items() for spec in specs)
