"""
The call `Mutate` with a condition.

Source: MutateRequest, MutationProto and Condition of Client.proto; Comparator.proto.
"""

from ingest.api import Durability, split_column
from sinks.hbase.protobuf import Message, data, number
from sinks.hbase.rpc.connection import Answer
from sinks.hbase.rpc.requests import DURABILITIES, MUTATION_PUT

_EQUAL = 2  # CompareType
_BINARY_COMPARATOR = b"org.apache.hadoop.hbase.filter.BinaryComparator"


def check_and_put(row: bytes, column: bytes, *, before: bytes | None, value: bytes) -> bytes:
    """
    A MutateRequest, but for its region, that writes a cell if its value is still the one before.

    Args:
        row: the row key.
        column: of the cell.
        before: the expected value; an empty one is equal to None, which is no cell.
        value: the new value, with the server's time.
    """
    family, qualifier = split_column(column)
    # ColumnValue: family 1, qualifier_value 2; QualifierValue: qualifier 1, value 2
    cell = data(1, family) + data(2, data(1, qualifier or b"") + data(2, value))
    mutation = data(1, row) + number(2, MUTATION_PUT) + data(3, cell) + number(6, DURABILITIES[Durability.SYNC])
    # Condition, Comparator, BinaryComparator, ByteArrayComparable
    comparator = data(1, _BINARY_COMPARATOR) + data(2, data(1, data(1, before or b"")))
    condition = data(1, row) + data(2, family) + data(3, qualifier or b"") + number(4, _EQUAL) + data(5, comparator)
    return data(2, mutation) + data(3, condition)


def is_written(answer: Answer) -> bool:
    """Whether the condition was true, in the answer to a check-and-put."""
    return Message(answer.message).flag(2)  # MutateResponse: processed 2
