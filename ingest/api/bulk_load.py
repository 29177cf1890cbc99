"""The contract of stores that take over files of rows in place of calls."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ingest.api.cells import Mutation

WantsFiles = Callable[[bytes, int, int], bool]
"""Whether the rows of a region are loaded as files, given its start, the number of its rows, and about their bytes."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """
    What a load may bypass, as a file confirms it.

    Attributes:
        replicated: the replication of families that other clusters follow.
        coprocessors: the coprocessors of the table.
    """

    replicated: bool = False
    coprocessors: bool = False


NOTHING_CONFIRMED = Confirmed()


@dataclass(slots=True)
class LoadResult:
    """
    The result of a load.

    Attributes:
        rows: mutations that were loaded.
        files: in which they were.
        left: indexes of the mutations that were not loaded, and are to be written in calls; those of a row in order.
        unstaged: why files could not be written for the store; None if they could.
        refused: starts of the regions whose files the store has not loaded.
    """

    rows: int = 0
    files: int = 0
    left: list[int] = field(default_factory=list)
    unstaged: str | None = None
    refused: list[bytes] = field(default_factory=list)


class BulkLoading(ABC):
    """A store that takes over files."""

    @abstractmethod
    def begin_loads(self) -> None:
        """Start a flush cycle: what an earlier one read of the tables is read again by the next load."""

    @abstractmethod
    def load(
        self,
        table: str,
        mutations: Sequence[Mutation],
        wants_files: WantsFiles,
        *,
        confirmed: Confirmed = NOTHING_CONFIRMED,
        on_progress: Callable[[], None] = lambda: None,
    ) -> LoadResult:
        """
        Make mutations durable as files, those of the regions that get some; idempotent.

        What a file cannot do is left: a mutation that can never be written, a delete of a whole row, a family that is
        missing or may have no file, files that the store or their folder refuses. With one of these the whole region is
        left.

        A file that is loaded while the region flushes does not replace a cell with the same key and time: the store may
        show either of them. So no other write of these cells with these times may have other values.

        Args:
            table: of the mutations.
            mutations: of any rows; of cells with the same row key, column, time and type the last one counts.
            wants_files: asked for each region, more than once if a load is repeated.
            confirmed: what the load may bypass.
            on_progress: called after each step that may take seconds; what it raises ends the load.

        Raises:
            StoreError: some may have been loaded; repeat the call. As `Store.apply`.
        """

    @abstractmethod
    def check_load(
        self, table: str, mutations: Sequence[Mutation], wants_files: WantsFiles, *, confirmed: Confirmed
    ) -> None:
        """
        Refuse what `load` with these arguments would refuse to bypass, without loading anything.

        Raises:
            StoreError: the files of some mutations may not bypass something. As `Store.apply`.
        """

    @abstractmethod
    def check_loading(self, table: str, *, confirmed: Confirmed) -> None:
        """
        Check that files can be loaded into a table, without loading one; a file is written and removed.

        Args:
            table: that exists.
            confirmed: as in `load`.

        Raises:
            StoreError: they cannot be written, the store begins no load, the table may have none without a
                confirmation, or no family of it may have one at all.
            IntegrityError: the disk fails.
        """
