"""The tables that have the large values of another table, and counts of the values that are moved there."""

from typing import NamedTuple

MAX_BLOCK_BYTES = 8 << 20
"""A block is a cell, and HBase refuses cells above 10 MiB by default (`hbase.client.keyvalue.maxsize`)."""
MIN_SWEEP_AFTER_S = 60
"""Least `sweep_after`: what writes blobs relies on it, because a sweep may have another value than the writer."""


def blob_tables(prefix: str) -> dict[str, str]:
    """
    The tables of a blob store: name -> the name of its only family.

    Args:
        prefix: of their names.
    """
    return {f"{prefix}_meta": "m", f"{prefix}_value": "b", f"{prefix}_refs": "r"}


class BlobCounts(NamedTuple):
    """
    Large values that were moved into a blob store.

    Attributes:
        stored: values of which the store did not have the content.
        stored_bytes: of these, before their compression.
        deduplicated: values of which the store had the content.
    """

    stored: int = 0
    stored_bytes: int = 0
    deduplicated: int = 0

    def plus(self, other: "BlobCounts") -> "BlobCounts":
        """The sums of both."""
        return BlobCounts(*(mine + others for mine, others in zip(self, other, strict=True)))
