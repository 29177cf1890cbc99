"""The header of values that a registry's serializers write."""

import pytest
from google.protobuf import wrappers_pb2
from hypothesis import given
from hypothesis import strategies as st

from ingest.formats.confluent import HEADER_BYTES, message_indexes_of, message_name_of, schema_id_of
from tests.support.registry import with_id


def varint(number: int) -> bytes:
    """A zigzag varint."""
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    digits = []
    while True:
        digits.append(rest & 0x7F | (0x80 if rest > 0x7F else 0))
        rest >>= 7
        if not rest:
            return bytes(digits)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=100), st.binary())
def test_header_is_read_as_it_was_written(schema_id, indexes, message):
    header = with_id(schema_id, varint(len(indexes)) + b"".join(map(varint, indexes)))
    assert schema_id_of(header + message) == schema_id
    assert message_indexes_of(header + message) == (tuple(indexes), len(header))


def test_no_indexes_are_the_first_message():
    assert message_indexes_of(with_id(7, b"\0abc")) == ((0,), HEADER_BYTES + 1)


@given(st.binary(max_size=12))
def test_any_bytes_have_a_header_or_are_refused(value):
    try:
        schema_id_of(value)
        indexes, at = message_indexes_of(value)
    except ValueError:
        return
    assert value[0] == 0
    assert HEADER_BYTES < at <= len(value)
    assert 0 < len(indexes) <= 100


@pytest.mark.parametrize("value", [b"", b"\0\0\0\0", b"\1\0\0\0\7", b"{}   "])
def test_value_without_an_id(value):
    with pytest.raises(ValueError, match="does not begin with a zero byte and a schema ID"):
        schema_id_of(value)


@pytest.mark.parametrize(
    "indexes", [b"", b"\x80", b"\x01", varint(101) + b"\0" * 101, b"\x02", b"\xff" * 6, varint(1) + varint(-1)]
)
def test_value_without_indexes(indexes):
    with pytest.raises(ValueError, match="message index"):
        message_indexes_of(with_id(7, indexes))


@pytest.mark.parametrize(
    ("value", "schema_id", "indexes", "message"),
    [
        ("0000000002000a020805", 2, (0,), "0a020805"),
        ("00000000020400000a03746561", 2, (0, 0), "0a03746561"),
        ("0000000002060000000803", 2, (0, 0, 0), "0803"),
        ("000000000202020809", 2, (1,), "0809"),
    ],
)
def test_values_of_confluents_serializer(value, schema_id, indexes, message):
    """As ProtobufSerializer of confluent-kafka 2.16.1 has written them: a first, two nested, and a second message."""
    content = bytes.fromhex(value)
    assert schema_id_of(content) == schema_id
    found, at = message_indexes_of(content)
    assert (found, content[at:].hex()) == (indexes, message)


@given(st.text(min_size=1, max_size=200), st.binary())
def test_name_is_read_as_it_was_written(name, message):
    """In the form of ref.proto of Apicurio's serializers, with its length before it."""
    field = wrappers_pb2.StringValue(value=name).SerializeToString()  # field 1, a text, as the one of ref.proto
    size = len(field)
    header = with_id(7, varint((size >> 1) ^ -(size & 1)) + field)
    assert schema_id_of(header + message) == 7
    assert message_name_of(header + message) == (name, len(header))


@pytest.mark.parametrize(
    "name", ["", "00", "80", "03", "030a", "030a01", "020a00", "03120161", "040a016162", "030a01ff", "ff" * 9]
)
def test_value_without_a_name(name):
    with pytest.raises(ValueError, match=r"has no name of a message|invalid start byte"):
        message_name_of(with_id(7, bytes.fromhex(name)))
