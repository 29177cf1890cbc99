"""The tables that have the large values of another table."""

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
