"""
What a table says of the files that may be loaded into it.

Source: as in `schema`; `TableDescriptorBuilder` for the attributes of a table.
"""

from collections.abc import Mapping
from typing import NamedTuple

from sinks.hbase.hfile.codecs import Codec
from sinks.hbase.hfile.writer import DEFAULT_BLOCK_BYTES, HFileFormat
from sinks.hbase.protobuf import Message
from sinks.hbase.rpc.schema import BLOOM, COMPRESSION, number_in, raw_attributes, replicated_in

_BLOCK_BYTES, _ENCRYPTION, _IN_ORDER = b"BLOCKSIZE", b"ENCRYPTION", b"NEW_VERSION_BEHAVIOR"
_READ_ONLY, _COPROCESSOR = b"READONLY", b"coprocessor$"
"""Attributes of a table: one, and the start of one for each coprocessor."""
_CODECS = {b"NONE": Codec.NONE, b"SNAPPY": Codec.SNAPPY, b"LZ4": Codec.LZ4}
"""
Compression of a family -> that of files that are loaded into it; `gz` for the others, as every HBase has it.

For `zstd`, Hadoop's codec and those of HBase have different frames, and neither says which of them a cluster has.
"""


class LoadableTable(NamedTuple):
    """
    What a load of files needs to know of a table.

    Attributes:
        families: family -> format of its files. One that is encrypted gets none, nor one in which the order of writes
            decides what a delete hides, nor any of a table that is read only, which HBase checks for calls alone.
        replicated: families that are replicated to other clusters.
        coprocessors: classes of the table's coprocessors.
    """

    families: dict[bytes, HFileFormat]
    replicated: tuple[bytes, ...] = ()
    coprocessors: tuple[str, ...] = ()


def loadable_table(table: Message) -> LoadableTable:
    """What a load of files needs to know of a table, given its TableSchema."""
    found = {}
    of_table = raw_attributes(table)
    is_read_only = of_table.get(_READ_ONLY, b"").lower() == b"true"
    for each in table.messages(3):
        attributes = raw_attributes(each)
        if is_read_only or _ENCRYPTION in attributes or attributes.get(_IN_ORDER, b"").lower() == b"true":
            continue
        found[each.data(1)] = HFileFormat(
            _CODECS.get(attributes.get(COMPRESSION, b"NONE").upper(), Codec.GZ),
            number_in(attributes.get(_BLOCK_BYTES), DEFAULT_BLOCK_BYTES),
            has_bloom=attributes.get(BLOOM, b"ROW").upper() == b"ROW",
        )
    return LoadableTable(found, replicated_in(table), _coprocessors(of_table))


def _coprocessors(attributes: Mapping[bytes, bytes]) -> tuple[str, ...]:
    """Classes of coprocessors: the second part of `JAR|CLASS|PRIORITY|ARGUMENTS`; the whole if it has no such parts."""
    names = []
    for name, value in sorted(attributes.items()):
        if name.strip().lower().startswith(_COPROCESSOR):  # as HBase finds them
            text = value.decode("utf-8", "replace")
            parts = text.split("|")
            names.append(parts[1].strip() if len(parts) > 1 else text)
    return tuple(names)
