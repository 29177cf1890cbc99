"""
Tables and families as messages.

Source: TableName, TableSchema, ColumnFamilySchema and BytesBytesPair of HBase.proto; the names of a family's attributes
are those of `ColumnFamilyDescriptorBuilder`. All attributes are text, and one that is absent has its default.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ingest.api import FamilySpec, TableSpec
from sinks.hbase.protobuf import Message, data

_FOREVER_S = 2**31 - 1  # HBase's TTL for cells that never expire
_MAX_DIGITS = 10
"""Of a number, which has 31 bits."""
COMPRESSION, BLOOM = b"COMPRESSION", b"BLOOMFILTER"
"""Attributes of a family."""
_VERSIONS, _TTL, _SCOPE = b"VERSIONS", b"TTL", b"REPLICATION_SCOPE"
_DEFAULTS = {
    "BLOCKCACHE": "true",
    "BLOCKSIZE": "65536",
    "CACHE_BLOOMS_ON_WRITE": "false",
    "CACHE_DATA_ON_WRITE": "false",
    "CACHE_INDEX_ON_WRITE": "false",
    "COMPRESS_TAGS": "true",
    "DATA_BLOCK_ENCODING": "NONE",
    "DFS_REPLICATION": "0",
    "EVICT_BLOCKS_ON_CLOSE": "false",
    "IN_MEMORY": "false",
    "INDEX_BLOCK_ENCODING": "NONE",
    "IS_MOB": "false",
    "KEEP_DELETED_CELLS": "FALSE",
    "MIN_VERSIONS": "0",
    "NEW_VERSION_BEHAVIOR": "false",
    "PREFETCH_BLOCKS_ON_OPEN": "false",
    "REPLICATION_SCOPE": "0",
}
"""Of attributes that a family does not have, as in `ColumnFamilyDescriptorBuilder`."""


def table_name(name: str) -> bytes:
    """A TableName."""
    namespace, colon, qualifier = name.encode().rpartition(b":")
    return data(1, namespace if colon else b"default") + data(2, qualifier)


def name_of(table: Message) -> str:
    """The name in a TableName; the namespace `default` is left out."""
    namespace, qualifier = table.text(1), table.text(2)
    return qualifier if namespace == "default" else f"{namespace}:{qualifier}"


def table_schema(spec: TableSpec) -> bytes:
    """A TableSchema."""
    families = (family_schema(family, others=spec.attributes_of(family.name)) for family in spec.families)
    return data(1, table_name(spec.name)) + b"".join(data(3, family) for family in families)


def family_schema(
    family: FamilySpec, before: Message | None = None, others: Mapping[str, str] = MappingProxyType({})
) -> bytes:
    """
    A ColumnFamilySchema.

    Args:
        family: its options.
        before: the present one, whose other attributes and configuration stay; None for a new family.
        others: attributes besides the options.
    """
    attributes = {
        _VERSIONS: b"%d" % family.versions,
        _TTL: b"%d" % (_FOREVER_S if family.ttl_s is None else family.ttl_s),
        COMPRESSION: family.compression.upper().encode(),
        BLOOM: family.bloom.upper().encode(),
    }
    return _schema(family.name, before, attributes | _encoded(others))


def with_attributes(before: Message, attributes: Mapping[str, str]) -> bytes:
    """The same ColumnFamilySchema with other values of some attributes."""
    return _schema(before.data(1), before, _encoded(attributes))


def _encoded(attributes: Mapping[str, str]) -> dict[bytes, bytes]:
    return {name.encode(): value.encode() for name, value in attributes.items()}


def _schema(name: bytes, before: Message | None, changed: Mapping[bytes, bytes]) -> bytes:
    attributes = {**(raw_attributes(before) if before is not None else {}), **changed}
    parts = [data(1, name)]
    parts += [data(2, data(1, name) + data(2, value)) for name, value in attributes.items()]
    if before is not None:
        parts += [data(3, pair) for pair in before.all_data(3)]
    return b"".join(parts)


def families_of(table: Message) -> tuple[FamilySpec, ...]:
    """The families of a TableSchema, by name."""
    return tuple(sorted((_family(each) for each in table.messages(3)), key=lambda family: family.name))


def attributes_in(table: Message) -> dict[bytes, dict[str, str]]:
    """Family -> name -> value of the attributes in a TableSchema besides the options, with HBase's defaults."""
    options = {_VERSIONS, _TTL, COMPRESSION, BLOOM}
    return {
        each.data(1): _DEFAULTS
        | {
            name.decode("ascii", "replace"): value.decode("utf-8", "replace")
            for name, value in raw_attributes(each).items()
            if name not in options
        }
        for each in table.messages(3)
    }


def replicated_in(table: Message) -> tuple[bytes, ...]:
    """Names of the families in a TableSchema that are replicated to other clusters."""
    return tuple(each.data(1) for each in table.messages(3) if raw_attributes(each).get(_SCOPE, b"0") != b"0")


def family_of(table: Message, name: bytes) -> Message | None:
    """The ColumnFamilySchema of a name in a TableSchema."""
    return next((each for each in table.messages(3) if each.data(1) == name), None)


def raw_attributes(schema: Message) -> dict[bytes, bytes]:
    """The attributes that a TableSchema or ColumnFamilySchema has, without defaults."""
    return {pair.data(1): pair.data(2) for pair in schema.messages(2)}


def number_in(value: bytes | None, default: int) -> int:
    """The number in an attribute; the default if there is none."""
    return int(value) if value is not None and value.isdigit() and len(value) <= _MAX_DIGITS else default


def _family(schema: Message) -> FamilySpec:
    attributes = raw_attributes(schema)
    ttl_s = number_in(attributes.get(_TTL), _FOREVER_S)
    return FamilySpec(
        name=schema.data(1),
        versions=number_in(attributes.get(_VERSIONS), 1),
        ttl_s=ttl_s if 0 < ttl_s < _FOREVER_S else None,
        compression=attributes.get(COMPRESSION, b"NONE").decode("ascii", "replace").lower(),
        bloom=attributes.get(BLOOM, b"ROW").decode("ascii", "replace").lower(),
    )
