"""
The header of values that a schema registry's serializers write: a zero byte, the ID of the schema, and for protobuf
the message's place in its file, or, from Apicurio's serializers, its name.

Source: Confluent's wire format; KafkaAvroSerializer, KafkaProtobufSerializer and KafkaJsonSchemaSerializer write it.
ref.proto and ProtobufKafkaSerializer of Apicurio Registry 2.6.13 for the name.
"""

HEADER_BYTES = 5
"""Of the zero byte and the ID."""
_MAGIC = b"\0"
_FIRST = b"\0"  # a count of 0
_NO_NAME = "the value has no name of a message after its schema ID"
_NAME = b"\x0a"  # before the name: field 1, a text
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
        if index < 0:
            raise ValueError(f"the value has the message index {index}")
        indexes.append(index)
    return tuple(indexes), at


def message_name_of(value: bytes) -> tuple[str, int]:
    """
    The name after the ID, and the position of the message after it.

    Apicurio's serializers write it in place of the indexes, as a message with its length before it.

    Raises:
        ValueError: the value has no such name.
    """
    length, at = _varint(value, HEADER_BYTES, _NO_NAME)
    end = at + length
    size, start = _varint(value, at + 1, _NO_NAME)
    if value[at : at + 1] != _NAME or start + size != end or not start < end <= len(value):
        raise ValueError(_NO_NAME)
    return value[start:end].decode(), end


def _zigzag(value: bytes, at: int) -> tuple[int, int]:
    """Decode a zigzag varint; returns the number and the position after it."""
    number, at = _varint(value, at, "the message indexes of the value are invalid")
    return (number >> 1) ^ -(number & 1), at


def _varint(value: bytes, at: int, error: str) -> tuple[int, int]:
    """Decode a varint; returns the number and the position after it."""
    number = 0
    for index, byte in enumerate(value[at : at + _MAX_VARINT_BYTES]):
        number |= (byte & (_CONTINUATION - 1)) << (7 * index)
        if byte < _CONTINUATION:
            return number, at + index + 1
    raise ValueError(error)
