"""The newest values."""

from collections.abc import Sequence

from ingest.api import Model, Processor, ProcessorExample


class AddCells(Processor[Model]):
    """
    Keep the newest value of each column, as a table without a processor does.

    With it, batches of a table can be rolled back: the values that they replaced are visible again.

    Source: HBaseHUT's SimpleAddCellsProcessor.
    """

    kind = "add_cells"
    merges_all = True
    merge_examples = (
        ProcessorExample("the last status of a host", values=("up", "down"), merged="down"),
        ProcessorExample("an empty value is a value", values=("up", ""), merged=""),
    )

    def update(self, value: bytes) -> bytes:
        """The value."""
        return value

    def merge(self, updates: Sequence[bytes]) -> bytes:
        """The newest."""
        return updates[-1]
