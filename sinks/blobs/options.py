"""The option `blobs` of tables."""

from collections.abc import Mapping
from typing import Literal

from pydantic import field_validator
from pydantic_core import PydanticCustomError

from ingest.api import ByteSize, Duration, Model, alias_rejection, option
from ingest.api.blobs import MAX_BLOCK_BYTES, MIN_SWEEP_AFTER_S, blob_tables
from ingest.api.cells import TABLE_NAME
from ingest.formats.time_of_day import PATTERN, seconds_of_day
from sinks.blobs.blob_options import BlobCompression, BlobOptions


class BlobsOptions(Model):
    """A blob store: large values in blocks, stored once for each content, in three tables beside the table."""

    name: str | None = option(
        "Prefix of the names of its tables `NAME_meta`, `NAME_value` and `NAME_refs`; the name of the table and "
        "`_blobs` if left out. It cannot be changed once blobs are stored.",
        default=None,
        example="events_blobs",
    )
    threshold: ByteSize | None = option(
        "Sinks move values of this table that are larger than this into the blob store, and write a pointer into the "
        "cell; none are moved if left out.",
        default=None,
        example="1MiB",
        ge=1,
    )
    block_size: ByteSize = option(
        "Size of a block before its compression. It cannot be changed once blobs are stored.",
        default="1MB",
        ge=1,
        le=MAX_BLOCK_BYTES,
    )
    read_ahead: ByteSize = option(
        "Blocks that a reader fetches in one call, before their compression; at least one block.", default="4MiB", ge=1
    )
    compression: Literal["none", "lz4", "zstd"] = option(
        "Compression of the blocks: none, lz4 or zstd. It cannot be changed once blobs are stored.", default="none"
    )
    sweep_after: Duration = option(
        "A sweep deletes a blob that nothing has referred to for so long, and what a killed writer has left; at least "
        "a minute.",
        default="24h",
        ge=MIN_SWEEP_AFTER_S,
    )
    sweep_at: str | None = option(
        "Time of day, in UTC, at which a running service starts a sweep, as a job. If left out, it starts none by "
        "itself.",
        default=None,
        example="03:00",
        pattern=PATTERN,
    )

    @field_validator("name")
    @classmethod
    def _tables_can_exist(cls, name: str | None) -> str | None:
        if name is not None and (not TABLE_NAME.fullmatch(name) or alias_rejection(name) is not None):
            hint = alias_rejection(name) or "use only letters, digits, _, - and ."
            raise PydanticCustomError("wrong_type", '"{name}" is not a valid name', {"name": name, "hint": hint})
        return name

    @property
    def sweep_at_s(self) -> int | None:
        """Seconds from midnight to the start of the daily sweep; None without one."""
        return seconds_of_day(self.sweep_at)

    def prefix(self, table: str) -> str:
        """The names of its tables begin with this."""
        return self.name or f"{table}_blobs"

    def tables(self, table: str) -> Mapping[str, str]:
        """The names of its tables, each with that of its only family."""
        return blob_tables(self.prefix(table))

    def stored(self) -> BlobOptions:
        """The options as a blob store takes them."""
        return BlobOptions(
            block_bytes=self.block_size,
            read_ahead_bytes=self.read_ahead,
            compression=BlobCompression(self.compression),
            sweep_after_s=self.sweep_after,
        )
