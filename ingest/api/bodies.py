"""The tables that have the large values of another table."""

MAX_BLOCK_BYTES = 8 << 20
"""A block is a cell, and HBase refuses cells above 10 MiB by default (`hbase.client.keyvalue.maxsize`)."""


def body_tables(prefix: str) -> dict[str, str]:
    """
    The tables of a body store: name -> the name of its only family.

    Args:
        prefix: of their names.
    """
    return {f"{prefix}_meta": "m", f"{prefix}_value": "b", f"{prefix}_refs": "r"}
