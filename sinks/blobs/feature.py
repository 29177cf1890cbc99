"""A blob store as a feature of a table: large values are moved into it, and pointers are written in their place."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ingest.api import Committer, Store
from ingest.api.declared_table import CheckedFile, CheckedTable, DeclaredTable, Locator
from ingest.api.table_feature import Counted, DeadLetterPlace, TableFeature
from ingest.api.table_reader import ReaderPlace, TableReader
from sinks.blobs.checks import check_blobs
from sinks.blobs.options import BlobsOptions

if TYPE_CHECKING:  # reading a file imports no blob store, and planning no writer
    from sinks.blobs.dead_letters import DeadLetterSink
    from sinks.blobs.declared import BlobsToRead
    from sinks.blobs.large_values import LargeValues
    from sinks.blobs.moving import BlobMovingStore
    from sinks.blobs.resolving_reader import ResolvingReader
    from sinks.blobs.staging import BlobStagingWriter
    from sinks.writing.driver_store import DriverStore
    from sinks.writing.staging import StagingWriter


class Blobs(TableFeature[BlobsOptions]):
    """A blob is durable before the pointer to it is written."""

    name = "blobs"
    text = "A blob store for large values of this table; see `attr2hbase blob`."
    example = MappingProxyType({"compression": "zstd"})
    options_model = BlobsOptions
    read_options = MappingProxyType({"blobs": None})

    @classmethod
    def owner_of(cls, tables: Mapping[str, DeclaredTable], table: str) -> str | None:
        """The table to whose blob store a table belongs, of a file with these tables; None if it belongs to none."""
        found = ((name, cls.options_of(each)) for name, each in tables.items())
        return next((name for name, blobs in found if blobs is not None and table in blobs.tables(name)), None)

    def check(self, options: BlobsOptions, table: CheckedTable, file: CheckedFile) -> None:
        """Report a table that cannot have a blob store, and a blob store whose tables have another use."""
        check_blobs(options, table, file)

    def declared_tables(self, table: DeclaredTable) -> Mapping[str, Mapping[str, object]]:
        """The tables of the blob store."""
        blobs = self.options_of(table)
        tables = {} if blobs is None else blobs.tables(table.name)
        return {name: {"families": {family: {}}} for name, family in tables.items()}

    def check_store(self, store: Store[Any], table: DeclaredTable) -> str:
        """Compare the options and the owner of the blob store with those that are recorded."""
        from sinks.blobs.blob_store import BlobStore

        blobs = self.options_of(table)
        if blobs is not None:
            BlobStore(store, blobs.prefix(table.name), blobs.stored(), owner=table.name).check()
        return ""

    def planned(self, table: DeclaredTable, locator: Locator) -> "LargeValues | None":  # noqa: ARG002
        """Which values are moved; None if no value is, as without `threshold`."""
        from sinks.blobs.large_values import LargeValues

        blobs = self.options_of(table)
        if blobs is None or blobs.threshold is None:
            return None
        return LargeValues(blobs.prefix(table.name), blobs.stored(), blobs.threshold)

    def planned_to_read(
        self,
        table: DeclaredTable,
        tables: Mapping[str, DeclaredTable],
        locator: Locator,  # noqa: ARG002 - a blob store has no component
    ) -> "BlobsToRead | None":
        """Its blob store, or the table to whose blob store it belongs."""
        owner = self.owner_of(tables, table.name)
        if owner is None and self.options_of(table) is None:
            return None
        from sinks.blobs.declared import BlobsToRead, blobs_of

        return BlobsToRead(blobs_of(tables, table.name), owner)

    def reader(self, below: TableReader, planned: "BlobsToRead | None", place: ReaderPlace) -> "ResolvingReader | None":
        """Returns large values in place of pointers to their blobs, if `blobs` is asked."""
        if "blobs" not in place.asked:
            return None
        from sinks.blobs.declared import no_blob_store
        from sinks.blobs.resolving_reader import ResolvingReader

        if planned is None or planned.blobs is None:
            raise no_blob_store(place.table, None if planned is None else planned.owner)
        return ResolvingReader(below, planned.blobs.resolving(place.store, place.table))

    def connection(
        self, target: Any, planned: "Mapping[str, LargeValues]", staging: "StagingWriter | None" = None
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
        planned: "Mapping[str, LargeValues]",
        on_counted: Callable[[Counted], None],
    ) -> Committer:
        """Stores the staged values before the rows with their pointers."""
        from sinks.blobs.staging import BlobCommitter

        return BlobCommitter(committer, store, planned, on_counted)

    def kept_above(self, planned: "LargeValues") -> int:
        """The threshold of the table."""
        return planned.threshold

    def dead_letter_sink(self, place: DeadLetterPlace, store: Store[Any]) -> "DeadLetterSink":
        """Puts the values into the blob store, or stages them for the driver."""
        from sinks.blobs.dead_letters import StagedDeadLetters, StoredDeadLetters

        is_staged = store.capabilities.written_by_driver
        return StagedDeadLetters(place) if is_staged else StoredDeadLetters(place, store)

    def dead_letter_committer(
        self, place: DeadLetterPlace, store: "DriverStore", folder: Path | None, on_counted: Callable[[Counted], None]
    ) -> Committer:
        """Pins the blobs of the values."""
        from sinks.blobs.dead_letters import StagedDeadLetterCommitter, StoredDeadLetterCommitter

        if folder is None:
            return StoredDeadLetterCommitter(place, store)
        return StagedDeadLetterCommitter(place, store, folder, on_counted)
