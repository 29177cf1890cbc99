"""Estimates of the sizes of mutations, in memory and on the wire."""

from ingest.api import Mutation, Put

ROW_COST_BYTES = 48
"""Bytes of a row besides its content: object headers in memory, framing in a Thrift message."""
CELL_COST_BYTES = 32
"""Bytes of a cell besides its content: 20 bytes of lengths, time and type in HBase, and Thrift framing."""


def size_of(mutation: Mutation) -> int:
    """Estimate of the size of a mutation in bytes."""
    if not isinstance(mutation, Put):
        return ROW_COST_BYTES + CELL_COST_BYTES + len(mutation.row)
    if not mutation.size_bytes:
        columns = mutation.columns
        content = len(b"".join([*columns, *columns.values()]))  # quicker than the sum of the lengths
        mutation.size_bytes = ROW_COST_BYTES + len(mutation.row) + CELL_COST_BYTES * len(columns) + content
    return mutation.size_bytes
