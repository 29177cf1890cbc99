"""Merges the columns of update rows: those of a processor by the processor, all others by their newest value."""

from collections.abc import Callable, Iterable, Mapping
from reprlib import repr as short
from typing import Any, NamedTuple, TypeVar

from ingest.api import MappingError, NotMergeableError, Processor
from ingest.api.notation import shown
from ingest.plugins.guard import describe_exception

A = TypeVar("A")

_MAX_UPDATES = 32
"""Updates of a column that are held before they are merged; more take memory, fewer take calls."""


class Unmerged(NamedTuple):
    """A column whose updates cannot be merged, and why."""

    column: bytes
    reason: str


class MergedColumns(NamedTuple):
    """
    The columns of several update rows.

    Attributes:
        columns: column -> value; of a column in `unmerged` the newest update.
        unmerged: the columns whose updates cannot be merged, sorted.
    """

    columns: dict[bytes, bytes]
    unmerged: tuple[Unmerged, ...] = ()


class Merging:
    """
    How the update rows of a table are merged.

    Args:
        processor: of the table.
        columns: the columns that it merges: `family:qualifier`, or `family` for all columns of the family; without any,
            all columns.
    """

    def __init__(self, processor: Processor[Any], columns: Iterable[bytes] = ()) -> None:
        self._processor = processor
        self._names = frozenset(columns)
        self._has_results = type(processor).result is not Processor.result

    @property
    def returns_updates(self) -> bool:
        """Whether a read returns the update of a column as it is stored."""
        return not self._has_results

    @property
    def merges_all(self) -> bool:
        """As `Processor.merges_all`."""
        return self._processor.merges_all

    def applies_to(self, column: bytes) -> bool:
        """Whether the processor merges a column; of all others the newest value wins."""
        names = self._names
        return not names or column in names or column.partition(b":")[0] in names

    def updates(self, columns: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """
        The updates that add the values of an event.

        Raises:
            MappingError: the processor cannot take one of the values; the message names its column.
        """
        return {column: self._update(column, value) for column, value in columns.items()}

    def merger(self) -> "RowMerger":
        """A merger for one row."""
        return RowMerger(self)

    def merged(self, rows: Iterable[Mapping[bytes, bytes]]) -> MergedColumns:
        """
        The columns of update rows, merged.

        Args:
            rows: their columns, oldest first.
        """
        merger = self.merger()
        for columns in rows:
            merger.add(columns)
        return merger.merged()

    def results(self, merged: MergedColumns) -> MergedColumns:
        """The same with the values that a read returns (`Processor.result`); those of unmerged columns are updates."""
        if not self._has_results:
            return merged
        columns, unmerged = dict(merged.columns), {each.column: each for each in merged.unmerged}
        for column, update in merged.columns.items():
            if column in unmerged or not self.applies_to(column):
                continue
            try:
                columns[column] = self._called(self._processor.result, update)
            except NotMergeableError as error:
                unmerged[column] = Unmerged(column, _reason(error))
        return MergedColumns(columns, tuple(unmerged[column] for column in sorted(unmerged)))

    def merge(self, updates: list[bytes]) -> bytes:
        """
        One update of a column in place of several.

        Raises:
            NotMergeableError: see `Processor.merge`; or the processor has a bug.
        """
        return self._called(self._processor.merge, updates)

    def _called(self, call: Callable[[A], bytes], argument: A) -> bytes:
        try:
            return _checked(call(argument), call)
        except (NotMergeableError, MemoryError):
            raise
        except Exception as bug:  # a bug of a plugin must not hide the other columns and rows
            about = describe_exception(bug, type(self._processor).__module__)
            raise NotMergeableError(f'the processor "{self._processor.kind}" failed: {about}') from bug

    def _update(self, column: bytes, value: bytes) -> bytes:
        if not self.applies_to(column):
            return value
        try:
            return self._processor.update(value)
        except MappingError as error:
            raise MappingError(f"{shown(column)}: {error.message}", code=error.code, hint=error.hint) from error


class RowMerger:
    """
    Merges the update rows of one row, added oldest first.

    It holds at most 32 updates of a column, unless they cannot be merged: those are held until the end, because updates
    that follow may make it possible, as a negative number after a sum beyond 64 bits.
    """

    __slots__ = ("_limits", "_merging", "_updates")

    def __init__(self, merging: Merging) -> None:
        self._merging = merging
        self._updates: dict[bytes, list[bytes]] = {}
        self._limits: dict[bytes, int] | None = None  # of columns that could not be merged: updates before a new try

    def add(self, columns: Mapping[bytes, bytes]) -> None:
        """Add the columns of the next update row."""
        for column, update in columns.items():
            updates = self._updates.get(column)
            if updates is None:
                self._updates[column] = [update]
            elif not self._merging.applies_to(column):
                updates[0] = update
            else:
                updates.append(update)
                if len(updates) > _MAX_UPDATES:
                    self._shorten(column, updates)

    def merged(self) -> MergedColumns:
        """The columns of all rows so far; further rows may be added."""
        reasons = {column: self._merge(updates) for column, updates in self._updates.items()}
        return MergedColumns(
            {column: updates[-1] for column, updates in self._updates.items()},
            tuple(Unmerged(column, reasons[column]) for column in sorted(reasons) if reasons[column]),
        )

    def merged_or_raise(self) -> dict[bytes, bytes]:
        """
        The same columns, if the processor can merge all updates.

        Raises:
            NotMergeableError: it has a bug.
        """
        columns, unmerged = self.merged()
        if unmerged:
            raise NotMergeableError(f"{shown(unmerged[0].column)}: {unmerged[0].reason}")
        return columns

    def _shorten(self, column: bytes, updates: list[bytes]) -> None:
        limits = self._limits or {}
        if len(updates) > limits.get(column, 0) and self._merge(updates):
            self._limits = limits | {column: 2 * len(updates)}

    def _merge(self, updates: list[bytes]) -> str:
        """Replace updates by one; if they cannot be merged, the reason."""
        if len(updates) == 1:
            return ""
        try:
            updates[:] = [self._merging.merge(updates)]
        except NotMergeableError as error:
            return _reason(error)
        return ""


def _checked(found: object, call: Callable[[A], bytes]) -> bytes:
    if not isinstance(found, bytes):
        raise TypeError(f"{call.__name__} returned {short(found)}; it must return bytes")
    return found


def _reason(error: NotMergeableError) -> str:
    return str(error) or "the updates cannot be merged"
