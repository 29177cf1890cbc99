"""The options of `tables`: families, split points, and how rows are stored."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationError, WithJsonSchema, field_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from ingest.api import DecodeError, Duration, FamilySpec, FeedSpec, Model, TableSpec, family_rejection, option
from ingest.api.buckets import MAX_BUCKETS, buckets_rejection, splits_of
from ingest.api.notation import Notation, from_notation, name_to_bytes, shown
from ingest.config.blobs import BlobsOptions
from ingest.formats.cell_types import CellType


def _notation(value: object) -> object:
    if isinstance(value, str | dict):
        try:
            from_notation(value)
        except DecodeError as error:
            raise PydanticCustomError("wrong_type", "{problem}", {"problem": str(error)}) from error
        return value
    raise PydanticCustomError("string_type", "must be text, or {b64: …} for bytes")


Text = Annotated[
    Notation,
    BeforeValidator(_notation),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object", "properties": {"b64": {"type": "string"}}}]}),
]
"""Bytes in the form of `ingest.api.notation`: text, or `{b64: …}` for bytes that are not UTF-8."""


MAX_FIRST_SHARDS = 256
"""Shards of a new feed; each has a region in HBase."""


class Compression(StrEnum):
    """Compression of a family's files."""

    NONE = "none"
    GZ = "gz"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class TableFamilyOptions(Model):
    """A column family."""

    versions: int = option("Maximum number of versions of a cell.", default=1, ge=1)
    ttl: Duration | None = option("Time to live of cells.", default=None, example="30d", ge=1)
    compression: Compression = option(
        "Compression of its files: none, gz, snappy, lz4 or zstd.", default="none", strict=False
    )
    bloom: Literal["none", "row", "rowcol"] = option("Type of its Bloom filter.", default="row")


class DistributeOptions(Model):
    """How row keys are distributed over the regions of a table."""

    hash: int = option(
        "Number of buckets. The physical row key starts with a byte of a hash of the key, so that adjacent keys are in "
        "different regions; `get` and `scan` take and return the logical keys.",
        ge=1,
        le=MAX_BUCKETS,
    )

    @field_validator("hash")
    @classmethod
    def _buckets_can_be_filled(cls, buckets: int) -> int:
        rejection = buckets_rejection(buckets)
        if rejection is not None:
            raise PydanticCustomError("out_of_range", "{why}", {"why": rejection})
        return buckets


ColumnType = Annotated[CellType, Field(strict=False)]
"""A type of cells, by its name."""

ComponentText = Annotated[str | dict[str, object], WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]})]
"""A component as it is written: its name, or `name: {options}`; the binder checks it."""


DEFAULT_SPAN = "1h"
"""Default age from which updates are merged, and default length of the windows."""


class CompactionOptions(Model):
    """Which updates of a table a compaction merges."""

    older_than: Duration = option(
        "Updates of this time before the newest complete micro-batch of the table stay as they are.",
        default=DEFAULT_SPAN,
        ge=0,
    )
    window: Duration = option(
        "Updates are merged within windows of this length, the shortest interval that `attr2hbase rollback` can roll "
        "back afterwards.",
        default=DEFAULT_SPAN,
        ge=0.001,
    )


class CompactOptions(CompactionOptions):
    """How the service that writes a table merges its updates."""

    every: Duration = option("Time between the starts of two compactions.", example="10m", ge=1)


def _refuse_without_family(columns: Iterable[tuple[int | str, str]]) -> None:
    """
    Refuse names of columns, each with its place in the option `columns`, that begin with no possible family.

    Raises:
        ValidationError: of all of them.
    """
    refused = [
        InitErrorDetails(
            type=PydanticCustomError(
                "wrong_type", "{column} names no family", {"column": column, "hint": "write FAMILY:QUALIFIER"}
            ),
            loc=(place,),
            input=None,
        )
        for place, column in columns
        if family_rejection(name_to_bytes(column.partition(":")[0])) is not None
    ]
    if refused:
        raise ValidationError.from_exception_data("columns", refused)


class UpdatesOptions(Model):
    """How the updates of a row are merged: rows are appended, and merged when they are read."""

    processor: ComponentText = option(
        "Processor that merges the updates of a column, by its name or as `name: {options}`.", example="sum"
    )
    columns: list[str] = option(
        "Columns (`family:qualifier`) and families that the processor merges; all if left out. Of other columns the "
        "newest value remains.",
        default=[],
        example=["c:hits"],
    )
    compact: CompactOptions | None = option(
        "Compacts the table regularly, as a job of the service that writes it. It can be changed at any time.",
        default=None,
        example={"every": "10m"},
    )

    @field_validator("columns")
    @classmethod
    def _families_can_exist(cls, columns: list[str]) -> list[str]:
        _refuse_without_family(enumerate(columns))
        return columns


class FeedOptions(Model):
    """The change feed of a table: what the pipeline changes in it, as records that programs read in order."""

    expiration: Duration = option("How long a change can be read.", default="24h", ge=60, le=31_536_000)
    shards: int = option(
        "Number of shards of a new feed, at most one for each bucket of a salted table. A shard has a range of row "
        "keys, whose changes are in order; 'attr2hbase admin feed split' and 'merge' change the shards later.",
        default=4,
        ge=1,
        le=MAX_FIRST_SHARDS,
    )
    before: bool = option(
        "Read each row before it is changed, and store it with the change: a get for each row and micro-batch.",
        default=False,
    )
    heartbeat: Duration = option(
        "Interval of heartbeats to consumers of a shard without changes; 0s for none.", default="0s", ge=0
    )

    def spec(self) -> FeedSpec:
        """The feed in the form that sinks take."""
        return FeedSpec(int(self.expiration * 1000), self.shards, self.before)


class TableOptions(Model):
    """The desired definition of a table."""

    store: str | None = option(
        "Store to which the definition applies; may be left out if the file has only one.",
        default=None,
        example="logs",
    )
    families: dict[str, TableFamilyOptions] = option(
        "Column families.", default={}, example={"colfam": {"versions": 3, "ttl": "30d"}}
    )
    splits: list[Text] = option(
        "Split points of a new table, in any order; with `distribute` they are physical keys, by default one for each "
        "bucket.",
        default=[],
        example=["g", "p"],
    )
    distribute: DistributeOptions | None = option(
        "Distributes row keys over buckets (salting), so that rising keys do not all go to one region. It cannot be "
        "changed once the table has rows.",
        default=None,
        example={"hash": 16},
    )
    updates: UpdatesOptions | None = option(
        "Deferred updates: what a sink maps to this table is added to the row instead of replacing it. It cannot be "
        "changed once the table has rows.",
        default=None,
        example={"processor": "sum", "columns": ["c:hits"]},
    )
    columns: dict[str, ColumnType] = option(
        "Types with which commands and Spark show the values of columns (`FAMILY:QUALIFIER`), or of all other columns "
        "of a family: text (`utf8`, `json`), a big-endian number (`int16`, `int32`, `int64`, `float32`, `float64`), or "
        "a boolean of one byte (`bool8`). Columns that the processor of `updates` merges have its type. Nothing that "
        "is stored depends on it.",
        default={},
        example={"e:ms": "int64"},
    )
    blobs: BlobsOptions | None = option(
        "A blob store for large values of this table; see `attr2hbase blob`.",
        default=None,
        example={"compression": "zstd"},
    )
    feed: FeedOptions | None = option(
        "Change feed: what the pipeline writes to this table, in order, for 'attr2hbase feed'. Removing it closes the "
        "feed at the next start or reload.",
        default=None,
        example={"expiration": "24h", "shards": 4},
    )

    @field_validator("families")
    @classmethod
    def _families_can_exist(cls, families: dict[str, TableFamilyOptions]) -> dict[str, TableFamilyOptions]:
        rules = {family: family_rejection(name_to_bytes(family)) for family in families}
        refused = [
            InitErrorDetails(
                type=PydanticCustomError(
                    "wrong_type",
                    "{family} cannot be the name of a family",
                    {"family": shown(name_to_bytes(family)), "hint": rule},
                ),
                loc=(family,),
                input=None,
            )
            for family, rule in rules.items()
            if rule is not None
        ]
        if refused:
            raise ValidationError.from_exception_data("families", refused)
        return families

    @field_validator("columns")
    @classmethod
    def _columns_have_families(cls, columns: dict[str, CellType]) -> dict[str, CellType]:
        _refuse_without_family((column, column) for column in columns)
        return columns

    @field_validator("splits")
    @classmethod
    def _splits_differ(cls, splits: list[Notation]) -> list[Notation]:
        keys = [from_notation(split) for split in splits]
        wrong = {
            index: "this split point is listed twice" if key else "the empty key cannot be a split point"
            for index, key in enumerate(keys)
            if not key or key in keys[:index]
        }
        if wrong:
            problems = [
                InitErrorDetails(type=PydanticCustomError("conflict", "{why}", {"why": why}), loc=(index,), input=None)
                for index, why in wrong.items()
            ]
            raise ValidationError.from_exception_data("splits", problems)
        return splits

    def spec(self, name: str) -> TableSpec:
        """The definition in the form that stores take."""
        families = tuple(
            FamilySpec(
                name=family.encode(),
                versions=options.versions,
                ttl_s=None if options.ttl is None else int(options.ttl),
                compression=options.compression.value,
                bloom=options.bloom,
            )
            for family, options in self.families.items()
        )
        buckets = None if self.distribute is None else self.distribute.hash
        splits = tuple(sorted(from_notation(split) for split in self.splits))
        feed = None if self.feed is None else self.feed.spec()
        return TableSpec(name, families, splits or splits_of(buckets), buckets, feed=feed)
