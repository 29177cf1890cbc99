"""The options of `tables`: families, split points, and how rows are stored."""

from enum import StrEnum
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, ValidationError, WithJsonSchema, create_model, field_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from ingest.api import DecodeError, Duration, FamilySpec, Model, TableSpec, family_rejection, option
from ingest.api.buckets import MAX_BUCKETS, buckets_rejection, splits_of
from ingest.api.declared_table import refuse_without_family
from ingest.api.notation import Notation, from_notation, name_to_bytes, shown
from ingest.api.table_feature import TableFeature
from ingest.formats.cell_types import CellType
from ingest.suggest import did_you_mean


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


class Compression(StrEnum):
    """Compression of a family's files."""

    NONE = "none"
    GZ = "gz"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


_BOOLEAN, _NUMBER = ("true", "false"), ("a whole number",)
_CODECS = ("NONE", "GZ", "SNAPPY", "LZ4", "ZSTD", "LZO", "BZIP2")
FAMILY_ATTRIBUTES = {
    "BLOCKCACHE": _BOOLEAN,
    "BLOCKSIZE": _NUMBER,
    "CACHE_BLOOMS_ON_WRITE": _BOOLEAN,
    "CACHE_DATA_ON_WRITE": _BOOLEAN,
    "CACHE_INDEX_ON_WRITE": _BOOLEAN,
    "COMPRESSION_COMPACT": _CODECS,
    "COMPRESSION_COMPACT_MAJOR": _CODECS,
    "COMPRESSION_COMPACT_MINOR": _CODECS,
    "COMPRESS_TAGS": _BOOLEAN,
    "DATA_BLOCK_ENCODING": ("NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"),
    "DFS_REPLICATION": _NUMBER,
    "EVICT_BLOCKS_ON_CLOSE": _BOOLEAN,
    "IN_MEMORY": _BOOLEAN,
    "IN_MEMORY_COMPACTION": ("NONE", "BASIC", "EAGER", "ADAPTIVE"),
    "IS_MOB": _BOOLEAN,
    "KEEP_DELETED_CELLS": ("FALSE", "TRUE", "TTL"),
    "MIN_VERSIONS": _NUMBER,
    "MOB_COMPACT_PARTITION_POLICY": ("DAILY", "WEEKLY", "MONTHLY"),
    "MOB_THRESHOLD": _NUMBER,
    "NEW_VERSION_BEHAVIOR": _BOOLEAN,
    "PREFETCH_BLOCKS_ON_OPEN": _BOOLEAN,
    "REPLICATION_SCOPE": ("0", "1"),
    "STORAGE_POLICY": ("HOT", "WARM", "COLD", "ALL_SSD", "ONE_SSD", "LAZY_PERSIST"),
}
"""
The attributes of `ColumnFamilyDescriptorBuilder` that have no option of ours -> their values.

HBase keeps wrong names without effect. It accepts wrong values too, and then no region server can open the regions.
"""
_OURS = {"VERSIONS": "versions", "TTL": "ttl", "COMPRESSION": "compression", "BLOOMFILTER": "bloom"}


def _checked(attributes: object) -> object:
    """The attributes as HBase keeps them: text."""
    if not isinstance(attributes, dict):
        return attributes
    return {name: _text_of(name, value) for name, value in attributes.items()}


def _text_of(name: str, value: object) -> str:
    if name in _OURS:
        raise PydanticCustomError(
            "conflict", "write the option `{ours}` in place of {name}", {"ours": _OURS[name], "name": name}
        )
    allowed = FAMILY_ATTRIBUTES.get(name)
    if allowed is None:
        hint = did_you_mean(name, FAMILY_ATTRIBUTES) or f"there are {', '.join(FAMILY_ATTRIBUTES)}"
        raise PydanticCustomError("not_one_of", '"{name}" is no attribute of a family', {"name": name, "hint": hint})
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = text if allowed is _BOOLEAN else text.upper()
    if text not in allowed and not (allowed is _NUMBER and text.isascii() and text.isdecimal()):
        raise PydanticCustomError(
            "not_one_of",
            '{name} cannot be "{value}"',
            {
                "name": name,
                "value": str(value),
                "hint": f"one of {', '.join(allowed)}" if allowed is not _NUMBER else "write a whole number",
            },
        )
    return text


FamilyAttributes = Annotated[
    dict[str, str],
    BeforeValidator(_checked),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                name: {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}]}
                for name in FAMILY_ATTRIBUTES
            },
            "additionalProperties": False,
        }
    ),
]


class TableFamilyOptions(Model):
    """A column family."""

    versions: int = option("Maximum number of versions of a cell.", default=1, ge=1)
    ttl: Duration | None = option("Time to live of cells.", default=None, example="30d", ge=1)
    compression: Compression = option(
        "Compression of its files: none, gz, snappy, lz4 or zstd.", default="none", strict=False
    )
    bloom: Literal["none", "row", "rowcol"] = option("Type of its Bloom filter.", default="row")
    attributes: FamilyAttributes = option(
        "Further attributes by HBase's names, in a store with HBase's native RPC; through a Thrift server only "
        "BLOCKCACHE and IN_MEMORY. `attr2hbase table apply` sets those "
        "that are listed, and leaves the others as they are.",
        default={},
        example={"DATA_BLOCK_ENCODING": "FAST_DIFF", "REPLICATION_SCOPE": 1},
    )


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


class TableOptions(Model):
    """The desired definition of a table."""

    features: ClassVar[tuple[TableFeature[Any], ...]] = ()

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
    columns: dict[str, ColumnType] = option(
        "Types with which commands and Spark show the values of columns (`FAMILY:QUALIFIER`), or of all other columns "
        "of a family: text (`utf8`, `json`), a big-endian number (`int8`, `int16`, `int32`, `int64`, `float32`, "
        "`float64`), or a boolean of one byte (`bool8`). Columns that the processor of `updates` merges have its type. "
        "Nothing that is stored depends on it.",
        default={},
        example={"e:ms": "int64"},
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
        refuse_without_family("columns", ((column, column) for column in columns))
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

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.features, self.__getstate__())

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
        attributes = tuple(
            (family.encode(), name, value)
            for family, options in self.families.items()
            for name, value in options.attributes.items()
        )
        return TableSpec(name, families, splits or splits_of(buckets), buckets, attributes=attributes)


@cache
def table_options(features: tuple[TableFeature[Any], ...]) -> type[TableOptions]:
    """The options of a table, with those of its features."""
    fields: dict[str, Any] = {
        feature.name: (
            feature.options_model | None,
            option(feature.text, default=None, example=dict(feature.example)),
        )
        for feature in features
    }
    model = create_model(
        TableOptions.__name__, __base__=TableOptions, __module__=__name__, __doc__=TableOptions.__doc__, **fields
    )
    model.features = features
    return model


def _restored(features: tuple[TableFeature[Any], ...], state: Any) -> TableOptions:
    """The inverse of `TableOptions.__reduce__`: pickle finds no class by its name that is made at run time."""
    restored = TableOptions.__new__(table_options(features))
    restored.__setstate__(state)
    return restored
