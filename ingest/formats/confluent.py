"""
The header of values that a schema registry's serializers write: a zero byte, the ID of the schema, and for protobuf
the message's place in its file.

Source: Confluent's wire format; KafkaAvroSerializer, KafkaProtobufSerializer and KafkaJsonSchemaSerializer write it.
"""

HEADER_BYTES = 5
"""Of the zero byte and the ID."""
_MAGIC = b"\0"
_FIRST = b"\0"  # a count of 0
_CONTINUATION = 0x80  # set in every byte of a varint but the last
_MAX_VARINT_BYTES = 5  # of an int of 32 bits
_MAX_INDEXES = 100  # a message is nested in others; protoc allows no more than 32 levels


def schema_id_of(value: bytes) -> int:
    """
    The ID of a value's schema.

    Raises:
        ValueError: the value has no such header.
    """
    if len(value) < HEADER_BYTES or value[:1] != _MAGIC:
        raise ValueError("the value does not begin with a zero byte and a schema ID")
    return int.from_bytes(value[1:HEADER_BYTES], "big")


def message_indexes_of(value: bytes) -> tuple[tuple[int, ...], int]:
    """
    The indexes after the ID, and the position of the message after them.

    They are the index of a message among those of its file, then among those nested in the one before; 0 if there is
    none, which is written as a count of 0.

    Raises:
        ValueError: the value has no such indexes.
    """
    if value[HEADER_BYTES : HEADER_BYTES + 1] == _FIRST:  # most files have one message
        return (0,), HEADER_BYTES + 1
    count, at = _zigzag(value, HEADER_BYTES)
    if not 0 < count <= _MAX_INDEXES:
        raise ValueError(f"the value has {count} message indexes")
    indexes = []
    for _ in range(count):
        index, at = _zigzag(value, at)
        indexes.append(index)
    return tuple(indexes), at


def _zigzag(value: bytes, at: int) -> tuple[int, int]:
    """Decode a zigzag varint; returns the number and the position after it."""
    number = 0
    for index, byte in enumerate(value[at : at + _MAX_VARINT_BYTES]):
        number |= (byte & (_CONTINUATION - 1)) << (7 * index)
        if byte < _CONTINUATION:
            return (number >> 1) ^ -(number & 1), at + index + 1
    raise ValueError("the message indexes of the value are invalid")
