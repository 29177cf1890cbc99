"""
The contract of a processor: how the updates of a column are merged into one value.

A table with `updates` stores updates instead of values. A task merges the updates of a row in its split and writes one
update row; reads merge the update rows of a row, and a compaction replaces them by one.

Source: HBaseHUT's UpdateProcessor, by column instead of by row.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from ingest.api.component import ComponentBase
from ingest.api.settings import Model

S = TypeVar("S", bound=Model)


class NotMergeableError(ValueError):
    """A stored value is not one that the processor writes, or a result has no representation; the message says why."""


@dataclass(frozen=True, slots=True)
class ProcessorExample:
    """
    One use of a processor, shown on its page and run by the conformance suite.

    Attributes:
        title: what it shows.
        values: as the sink maps them, oldest first; text, or bytes when it is not text.
        merged: the cell that a read returns.
        settings: the options as YAML text.
        refused: further values, which the processor refuses.
    """

    title: str
    values: tuple[str | bytes, ...]
    merged: str | bytes
    settings: str = "{}"
    refused: tuple[str | bytes, ...] = ()


class Processor(ComponentBase[S]):
    """
    Merges the updates of one column of one row.

    Pure, and called by one thread. `merge` is associative over intervals: of the updates u1 … un, merging any runs of
    neighbours first, and then the results in order, gives the same value as merging all at once. So it does not matter
    which updates a task, a compaction or a read merges.

    Attributes:
        merges_all: whether `merge` can merge all results of `update`. A task then holds some updates of a column before
            it merges them; else it merges each when it comes, so that an event whose update cannot be merged fails. A
            subclass inherits it. If it is wrong, the task fails, and its micro-batch runs again and again.
    """

    settings_base = Model
    merge_examples: ClassVar[tuple[ProcessorExample, ...]] = ()
    merges_all: ClassVar[bool] = False

    @classmethod
    def value_type(cls, settings: S) -> str | None:  # noqa: ARG003 - for processors that write one type
        """
        The type of the values that a read returns: one of the types of the option `columns` of a table.

        Commands show the columns that the processor merges with it. None if it is the type of the values that events
        have.
        """
        return None

    @abstractmethod
    def update(self, value: bytes) -> bytes:
        """
        The update that adds one value.

        Raises:
            MappingError: the processor cannot take this value; its event fails.
        """

    @abstractmethod
    def merge(self, updates: Sequence[bytes]) -> bytes:
        """
        One update in place of several.

        Args:
            updates: two or more results of `update` or `merge`, oldest first.

        Raises:
            NotMergeableError: one of them is no update of this processor, or the result has no representation, as a sum
                beyond 64 bits. The updates then stay as they are.
        """

    def result(self, update: bytes) -> bytes:
        """
        The value that a read returns for the merged update of a column; by default the update itself.

        Raises:
            NotMergeableError: it is no update of this processor; the read returns it as it is.
        """
        return update
