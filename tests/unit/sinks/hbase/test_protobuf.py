"""Messages of Protocol Buffers, compared with the reference implementation."""

import contextlib

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.internal import decoder, encoder
from hypothesis import given
from hypothesis import strategies as st

from sinks.hbase.protobuf import Message, WireError, data, delimited, flag, number, read_varint, varint

NUMBERS = st.integers(min_value=0, max_value=2**64 - 1)


@given(value=NUMBERS)
def test_number_has_the_bytes_of_the_reference(value):
    assert varint(value) == encoder._VarintBytes(value)
    assert read_varint(b"x" + varint(value) + b"y", 1) == (value, 1 + len(varint(value)))
    assert decoder._DecodeVarint(varint(value), 0) == (value, len(varint(value)))


@given(name=st.text(), package=st.text(), dependencies=st.lists(st.text()), public=st.lists(st.integers(0, 2**31 - 1)))
def test_message_is_read_and_written_as_by_the_reference(name, package, dependencies, public):
    expected = FileDescriptorProto(name=name, package=package, dependency=dependencies, public_dependency=public)
    fields = [data(1, name.encode()), data(2, package.encode())]
    fields += [data(3, each.encode()) for each in dependencies] + [number(10, each) for each in public]
    assert FileDescriptorProto.FromString(b"".join(fields)) == expected
    found = Message(expected.SerializeToString())
    assert (found.text(1), found.text(2)) == (name, package)
    assert found.all_data(3) == [each.encode() for each in dependencies]
    assert found.numbers(10) == public
    assert not found.has(4)


def test_messages_within_messages_and_truth_values():
    inner = FieldDescriptorProto(name="f", number=7, proto3_optional=True)
    found = Message(FileDescriptorProto(name="n", extension=[inner, inner]).SerializeToString())
    assert [(each.text(1), each.number(3), each.flag(17)) for each in found.messages(7)] == [("f", 7, True)] * 2
    assert Message(data(7, flag(17, value=False))).message(7).flag(17, default=True) is False
    assert found.message(5).number(1, 3) == 3


@given(values=st.lists(NUMBERS))
def test_packed_numbers(values):
    assert Message(data(1, b"".join(map(varint, values)))).numbers(1) == values


def test_last_value_counts_and_fixed_sizes_are_skipped():
    source = number(1, 4) + b"\x11" + bytes(8) + b"\x1d" + bytes(4) + number(1, 5)
    assert Message(source).number(1) == 5
    assert Message(source).data(2) == bytes(8)


@given(source=st.binary(max_size=40))
def test_any_bytes_are_a_message_or_an_error(source):
    with contextlib.suppress(WireError):
        Message(source)


@pytest.mark.parametrize(
    "source", [b"\x08", b"\x08\x80", b"\x0a\x05abc", b"\x09abc", b"\x0b", b"\x0c", b"\x08" + b"\xff" * 11]
)
def test_truncated_and_unknown_fields_are_errors(source):
    with pytest.raises(WireError):
        Message(source)


def test_fields_of_another_type_are_errors():
    found = Message(number(1, 5) + data(2, b"a"))
    with pytest.raises(WireError):
        found.data(1)
    with pytest.raises(WireError):
        found.number(2)


def test_delimited_bytes():
    assert delimited(b"\x03abcd", 0) == (b"abc", 4)
    with pytest.raises(WireError):
        delimited(b"\x05abcd", 0)
