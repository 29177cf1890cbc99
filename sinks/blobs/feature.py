"""A blob store as a feature of a table: large values are moved into it, and pointers are written in their place."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ingest.api import Committer
from ingest.api.table_feature import Counted, Locator, TableFeature
from sinks.blobs.large_values import LargeValues
from sinks.blobs.options import options_of

if TYPE_CHECKING:  # planning imports no writer, so that `explain` and `test` start faster
    from sinks.blobs.moving import BlobMovingStore
    from sinks.blobs.staging import BlobStagingWriter
    from sinks.writing.staging import StagingWriter


class Blobs(TableFeature):
    """A blob is durable before the pointer to it is written."""

    name = "blobs"

    def planned(self, table: Any, locator: Locator) -> LargeValues | None:  # noqa: ARG002
        """Which values are moved; None if no value is, as without `threshold`."""
        blobs = table.options.blobs
        if blobs is None or blobs.threshold is None:
            return None
        return LargeValues(blobs.prefix(table.name), options_of(blobs), blobs.threshold)

    def connection(
        self, target: Any, planned: Mapping[str, LargeValues], staging: "StagingWriter | None" = None
    ) -> "BlobMovingStore | BlobStagingWriter":
        """Moves large values before a call, or stages them beside the file of the task."""
        from sinks.blobs.moving import BlobMovingStore
        from sinks.blobs.staging import BlobStagingWriter

        if staging is None:
            return BlobMovingStore(target, planned)
        return BlobStagingWriter(target, planned, staging)

    def committer(
        self,
        committer: Committer,
        store: Any,
        planned: Mapping[str, LargeValues],
        on_counted: Callable[[Counted], None],
    ) -> Committer:
        """Stores the staged values before the rows with their pointers."""
        from sinks.blobs.staging import BlobCommitter

        return BlobCommitter(committer, store, planned, on_counted)
