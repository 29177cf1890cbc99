"""
The time to live of the cells of a put: an attribute of the mutation, from which a region server tags each cell.

Source: `OP_ATTRIBUTE_TTL` and `setTTL` of `org.apache.hadoop.hbase.client.Mutation`.
"""

ATTRIBUTE = b"_ttl"


def ttl_value(ttl_ms: int) -> bytes:
    """The value of the attribute: a long of Java."""
    return ttl_ms.to_bytes(8, "big")
