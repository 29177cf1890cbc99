"""Parse a Protocol Buffers message into attributes."""

import binascii
from base64 import b64decode
from enum import StrEnum
from typing import Self

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from pydantic import model_validator
from pydantic_core import PydanticCustomError

from decorators.protobuf.content import Contents, Defaults, NoJsonFormError, no_json_form
from ingest.api import DecorateError, Decorator, Event, Example, SmallFile, option
from ingest.api.event_errors import TooDeepError
from ingest.formats.nested import Flattening, NestedSettings, written
from ingest.formats.number_types import number_writer

_CONFLUENT_BYTES = 5  # a zero byte, and the schema ID
_CONTINUATION = 0x80  # set in every byte of a varint but the last
_MAX_VARINT_BYTES = 10

# message Access { int32 status = 1; User user = 2; repeated string tags = 3; }  message User { string name = 1; }
_ACCESS = (
    "CmQKB2EucHJvdG8iOwoGQWNjZXNzEg4KBnN0YXR1cxgBIAEoBRITCgR1c2VyGAIgASgLMgUuVXNlchIMCgR0YWdzGAMgAygJIhQKBFVzZXISDAoE"
    "bmFtZRgBIAEoCWIGcHJvdG8z"
)


class BadProtobufError(DecorateError):
    """The value is not a message of the decorator's type, or lacks the required header."""

    code = "bad_protobuf"
    remedy = "Set the decorator's type and header to the producer's; then replay the dead letters."


class Header(StrEnum):
    """What precedes a message."""

    NONE = "none"
    CONFLUENT = "confluent"


class OnAbsent(StrEnum):
    """The result for a field that is not in the message."""

    UNSET = "unset"
    DEFAULT = "default"


class ProtobufSettings(NestedSettings):
    """Options of the protobuf decorator."""

    message: str = option("Full name of the message type.", example="shop.v1.Access")
    descriptor_file: SmallFile | None = option(
        "File written by `protoc --include_imports --descriptor_set_out=FILE`; it is read with the configuration and "
        "sent to the workers.",
        default=None,
        example="access.desc",
    )
    descriptor_text: str | None = option("Content of such a file in base64, instead of the file.", default=None)
    header: Header = option(
        "What precedes a message: nothing (`none`), or the zero byte, schema ID and message indexes of a `confluent` "
        "registry.",
        default="none",
        strict=False,
    )
    on_absent: OnAbsent = option(
        "A field that is not in the message sets nothing (`unset`), or, if it is a proto3 field without presence, its "
        "`default`.",
        default="unset",
        strict=False,
    )

    @model_validator(mode="after")
    def _valid_descriptor(self) -> Self:
        if (self.descriptor_file is None) is (self.descriptor_text is None):
            raise PydanticCustomError("conflict", "protobuf needs either `descriptor_file` or `descriptor_text`")
        try:
            pool = _pool(self)
        except (DecodeError, TypeError, ValueError) as error:
            name = "descriptor_text" if self.descriptor_file is None else "descriptor_file"
            raise PydanticCustomError(
                "wrong_type", "{option} is not a descriptor set: {error}", {"option": name, "error": str(error)}
            ) from error
        try:
            pool.FindMessageTypeByName(self.message)
        except KeyError as error:
            raise PydanticCustomError(
                "unknown_reference",
                'the descriptors have no message "{name}"',
                {"option": "message", "name": self.message},
            ) from error
        return self


class Protobuf(Decorator[ProtobufSettings]):
    """
    Set an attribute for each field of a Protocol Buffers message; nested messages and maps get dotted names.

    Names are as in the .proto file. Text is UTF-8; bytes are unchanged; an enum is its name, or its number if that
    is unknown; booleans are `true` and `false`. In the JSON of an array, bytes that are not UTF-8 are `{"b64": …}`, and
    maps are sorted by key. A float is written with the fewest digits that identify it; values that are not finite are
    `nan`, `inf` or `-inf`, and null in an array. Unknown fields and extensions are ignored.

    The types of `google.protobuf` are as in ProtoJSON: a Timestamp is `2003-10-11T22:14:15Z`, a Duration `1.5s`, a
    FieldMask `a.bC,d`, a wrapper such as StringValue its value, a Struct an object, a ListValue an array, a Value one
    of them. An Any is the message of its type, with the type as `@type`; `@type` and the bytes as `value` if the
    descriptors have no such type. A value that ProtoJSON has no form for, such as a Timestamp after the year 9999 or a
    FieldMask of `fooBar`, fails the event with `no_json_form`.

    An unknown enum number of proto2 comes after the known values of a repeated field; in any other field it counts if
    there is no known value, since the parser does not tell their order.

    With `numbers: auto` integers are an int64, also that of an unknown enum value, and float and double a float64.

    Source: own design; the encoding of Protocol Buffers, ProtoJSON as protobuf.dev describes it, and the wire format of
    Confluent's serializers.
    """

    kind = "protobuf"
    examples = (
        Example(
            "a column for each field",
            settings=f"{{prefix: '2hb_app:', message: Access, descriptor_text: {_ACCESS}}}",
            body=b"\x08\xc8\x01\x12\x05\n\x03ann\x1a\x01x\x1a\x01y",
            after={"2hb_app:status": "200", "2hb_app:user.name": "ann", "2hb_app:tags": '["x","y"]'},
        ),
        Example(
            "with the header of a registry's serializer, and a default",
            settings=f"{{header: confluent, on_absent: default, message: Access, descriptor_text: {_ACCESS}}}",
            body=b"\0\0\0\0\x07\0\x1a\x01x",
            after={"status": "0", "tags": '["x"]'},
        ),
        Example(
            "a number as HBase's tools write it",
            settings=f"{{numbers: auto, message: Access, descriptor_text: {_ACCESS}}}",
            body=b"\x08\x64",
            after={"status": "\0\0\0\0\0\0\0d"},
        ),
        Example(
            "a truncated message",
            settings=f"{{message: Access, descriptor_text: {_ACCESS}}}",
            body=b"\x12\x05\n\x03a",
            error="bad_protobuf",
        ),
        Example(
            "an absent attribute",
            settings=f"{{source: payload, message: User, descriptor_text: {_ACCESS}}}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: ProtobufSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        pool = _pool(settings)
        descriptor = pool.FindMessageTypeByName(settings.message)
        self._parse = message_factory.GetMessageClass(descriptor).FromString
        self._defaults = Defaults()
        defaults = self._defaults if settings.on_absent is OnAbsent.DEFAULT else None
        self._content = Contents(pool, defaults).of_whole(descriptor)
        self._flattening = Flattening(settings, number_writer(settings.numbers, written))

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        value = event.text_of(self._source, "to read a message from")
        if self.settings.header is Header.CONFLUENT:
            value = _without_header(value)
        self._defaults.start(len(value))
        try:
            content = self._content(self._parse(value))
        except (DecodeError, ValueError) as error:
            raise BadProtobufError(f"the value is not a {self.settings.message}: {error}") from error
        except NoJsonFormError as error:
            raise no_json_form("the message", error) from error
        except RecursionError as error:
            raise TooDeepError("the message is nested too deep") from error
        event.update(self._flattening.attributes(content))
        return True


def _pool(settings: ProtobufSettings) -> descriptor_pool.DescriptorPool:
    if settings.descriptor_file is not None:
        content = settings.descriptor_file.content
    else:
        try:
            content = b64decode(settings.descriptor_text or "", validate=True)
        except binascii.Error as error:
            raise ValueError(f"not base64: {error}") from error
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(content).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


def _without_header(value: bytes) -> bytes:
    """The message after the zero byte, the schema ID and the message indexes: a count, and that many numbers."""
    if value[:1] != b"\0":
        raise BadProtobufError("the value does not begin with a zero byte and a schema ID")
    count, at = _zigzag(value, _CONFLUENT_BYTES)
    for _ in range(count):
        _, at = _zigzag(value, at)
    return value[at:]


def _zigzag(value: bytes, at: int) -> tuple[int, int]:
    """Decode a zigzag varint; returns the number and the position after it."""
    number = 0
    for index, byte in enumerate(value[at : at + _MAX_VARINT_BYTES]):
        number |= (byte & (_CONTINUATION - 1)) << (7 * index)
        if byte < _CONTINUATION:
            return number >> 1, at + index + 1
    raise BadProtobufError("the message indexes of the value are invalid")
