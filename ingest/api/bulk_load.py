"""The contract of stores that take over files of rows in place of calls."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ingest.api.cells import Mutation

WantsFiles = Callable[[bytes, int, int], bool]
"""Whether the rows of a region are loaded as files, given its start, the number of its rows, and about their bytes."""


@dataclass(slots=True)
class LoadResult:
    """
    The result of a load.

    Attributes:
        rows: mutations that were loaded.
        files: in which they were.
        left: indexes of the mutations that were not loaded, and are to be written in calls; those of a row in order.
        unstaged: why files could not be written for the store; None if they could.
        refused: whether the store has not loaded files, for a reason that it does not say.
    """

    rows: int = 0
    files: int = 0
    left: list[int] = field(default_factory=list)
    unstaged: str | None = None
    refused: bool = False


class BulkLoading(ABC):
    """A store that takes over files."""

    @abstractmethod
    def load(
        self,
        table: str,
        mutations: Sequence[Mutation],
        wants_files: WantsFiles,
        *,
        replicated: bool = False,
        on_progress: Callable[[], None] = lambda: None,
    ) -> LoadResult:
        """
        Make mutations durable as files, those of the regions that get some; idempotent.

        What a file cannot do is left: a mutation that can never be written, a family that is missing or may have no
        file, files that the store or their folder refuses.

        Args:
            table: of the mutations.
            mutations: of any rows and times; of cells with the same row key, column, time and type the last one counts.
            wants_files: asked for each region, more than once if a load is repeated.
            replicated: also as files of families that are replicated to other clusters.
            on_progress: called after each step that may take seconds.

        Raises:
            StoreError: some may have been loaded; repeat the call. As `Store.apply`.
        """

    @abstractmethod
    def check_loading(self, table: str, *, replicated: bool) -> None:
        """
        Check that files can be loaded into a table, without loading one; a file is written and removed.

        Args:
            table: that exists.
            replicated: as in `load`.

        Raises:
            StoreError: they cannot be written, or a family may have none.
            IntegrityError: the disk fails.
        """
