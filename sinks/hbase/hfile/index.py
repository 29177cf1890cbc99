"""
Index of blocks by their first key.

A root index is in memory while a file is open. It has for each block 8 bytes offset, 4 bytes size, and the key as a
byte array. One that would be large has leaf index blocks in place of data blocks. Such a block has 4 bytes with the
number of its entries, the places of all entries and of their end (4 bytes each, from the first entry), then the
entries, whose keys have no length.
"""

import struct
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from sinks.hbase.hfile.blocks import BlockWriter, Kind, Place
from sinks.hbase.hfile.numbers import byte_array

MAX_BYTES = 128 << 10
"""Of the entries of an index block, as `hfile.index.block.max.size`."""
_PLACE = struct.Struct(">qi")


class Entry(NamedTuple):
    """A block and its first key."""

    key: bytes
    place: Place


class Root(NamedTuple):
    """
    A root index.

    Attributes:
        content: of its block.
        entries: their number.
        levels: 1, or 2 with leaf index blocks.
        leaf_bytes: of the leaf index blocks, before their compression.
    """

    content: bytes
    entries: int
    levels: int
    leaf_bytes: int


def root_content(entries: Sequence[Entry]) -> bytes:
    """The entries of a root index."""
    return b"".join(_PLACE.pack(*entry.place) + byte_array(entry.key) for entry in entries)


def index_of(entries: Sequence[Entry], blocks: BlockWriter, max_bytes: int = MAX_BYTES) -> Root:
    """
    The root index of the data blocks; writes leaf index blocks if it needs them.

    Args:
        entries: of all data blocks.
        blocks: of the file.
        max_bytes: of the entries of one index block.
    """
    content = root_content(entries)
    if len(content) <= max_bytes or len(entries) == 1:
        return Root(content, len(entries), 1, 0)
    leaves: list[Entry] = []
    last: list[int] = []  # index of the last data block of each leaf
    before = blocks.plain_bytes
    begin = size = 0
    for at, entry in enumerate(entries):
        size += _PLACE.size + 4 + len(entry.key)
        if size >= max_bytes or at == len(entries) - 1:
            leaves.append(Entry(entries[begin].key, blocks.add(Kind.LEAF_INDEX, _leaf(entries[begin : at + 1]))))
            last.append(at)
            begin, size = at + 1, 0
    return Root(root_content(leaves) + _middle(leaves, last), len(leaves), 2, blocks.plain_bytes - before)


def _leaf(entries: Sequence[Entry]) -> bytes:
    ends = accumulate((_PLACE.size + len(entry.key) for entry in entries), initial=0)
    places = struct.pack(f">{len(entries) + 1}i", *ends)
    return b"".join(
        (struct.pack(">i", len(entries)), places, *(_PLACE.pack(*entry.place) + entry.key for entry in entries))
    )


def _middle(leaves: Sequence[Entry], last: Sequence[int]) -> bytes:
    """Where the key in the middle of the file is, at which HBase splits a region: the leaf, and the entry in it."""
    middle = last[-1] // 2
    leaf = next(number for number, end in enumerate(last) if end >= middle)
    begin = last[leaf - 1] + 1 if leaf else 0
    return _PLACE.pack(*leaves[leaf].place) + struct.pack(">i", middle - begin)
