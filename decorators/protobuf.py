"""Parse a Protocol Buffers message into attributes."""

import binascii
from base64 import b64decode
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Self

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, SmallFile, option
from ingest.api.growth import max_grown
from ingest.api.notation import name_from_bytes
from ingest.formats.nested import Flattening, NestedSettings, written
from ingest.formats.number_types import number_writer
from ingest.formats.numbers import float32

_DEFAULT_BYTES = 100  # of a name and a value in a dict, or in JSON
_CONFLUENT_BYTES = 5  # a zero byte, and the schema ID
_CONTINUATION = 0x80  # set in every byte of a varint but the last
_MAX_VARINT_BYTES = 10
_AS_TEXT = frozenset({"google.protobuf.Timestamp", "google.protobuf.Duration"})
_WRAPPERS = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")
)

# message Access { int32 status = 1; User user = 2; repeated string tags = 3; }  message User { string name = 1; }
_ACCESS = (
    "CmQKB2EucHJvdG8iOwoGQWNjZXNzEg4KBnN0YXR1cxgBIAEoBRITCgR1c2VyGAIgASgLMgUuVXNlchIMCgR0YWdzGAMgAygJIhQKBFVzZXISDAoE"
    "bmFtZRgBIAEoCWIGcHJvdG8z"
)

Convert = Callable[[Any], object]


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

    Names are those of the .proto file. Text is UTF-8; bytes are unchanged; an enum is its name, or its number if that
    is unknown; booleans are `true` and `false`. Timestamp and Duration are written as in JSON (`2003-10-11T22:14:15Z`,
    `1.5s`); a wrapper such as StringValue is its value. In the JSON of an array, bytes that are not UTF-8 are
    `{"b64": …}`, and maps are sorted by key. A float is written with the fewest digits that identify it; values that
    are not finite are `nan`, `inf` or `-inf`, and null in an array. Unknown fields and extensions are ignored.

    With `numbers: auto` integers are an int64, also that of an unknown enum value, and float and double a float64.

    Source: own design; the encoding of Protocol Buffers, and the wire format of Confluent's serializers.
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
        descriptor = _pool(settings).FindMessageTypeByName(settings.message)
        self._parse = message_factory.GetMessageClass(descriptor).FromString
        self._defaults = _Defaults()
        defaults = self._defaults if settings.on_absent is OnAbsent.DEFAULT else None
        self._content = _Content(descriptor, {}, defaults)
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
            raise DecorateError(f"the value is not a {self.settings.message}: {error}", code="bad_protobuf") from error
        event.update(self._flattening.attributes(content))
        return True


class _Defaults:
    """Counts the defaults of absent fields: an empty message, of two bytes, has those of all its fields."""

    def __init__(self) -> None:
        self._left = 0

    def start(self, size: int) -> None:
        """Start with a value of so many bytes."""
        self._left = max_grown(size) // _DEFAULT_BYTES

    def add(self, count: int) -> None:
        """
        Count some more.

        Raises:
            DecorateError: these are too many.
        """
        self._left -= count
        if self._left < 0:
            raise DecorateError(
                "the defaults of its absent fields take too much memory",
                code="too_large",
                hint="leave out `on_absent: default`",
            )


class _Content:
    """
    Converts messages of one type to dicts and lists.

    Args:
        known: the converters of all types so far, by name; recursive types need it.
        counted: counts defaults; None if absent fields have none.
    """

    def __init__(self, descriptor: Descriptor, known: dict[str, "_Content"], counted: _Defaults | None) -> None:
        known[descriptor.full_name] = self
        self._known = known
        self._counted = counted
        self._fields = {field.number: (field.name, self._convert(field)) for field in descriptor.fields}
        self._defaults: dict[str, object] = {}
        for field in descriptor.fields:
            if counted is not None and not field.has_presence and not _is_repeated(field):
                convert = self._fields[field.number][1]
                self._defaults[field.name] = convert(field.default_value) if convert else field.default_value

    def __call__(self, message: Message) -> dict[str, object]:
        if self._defaults and self._counted is not None:
            self._counted.add(len(self._defaults))
        content = dict(self._defaults)
        fields = self._fields
        for field, value in message.ListFields():
            name, convert = fields.get(field.number, ("", None))
            if name:
                content[name] = value if convert is None else convert(value)
        return content

    def _convert(self, field: FieldDescriptor) -> Convert | None:
        """The function that converts a value of the field; None if the value needs no conversion."""
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            of_value = self._convert_one(entry.fields_by_name["value"]) or _same
            return lambda value: {_key(key): of_value(each) for key, each in sorted(value.items())}
        convert = self._convert_one(field)
        if not _is_repeated(field):
            return convert
        return list if convert is None else lambda value: [convert(each) for each in value]

    def _convert_one(self, field: FieldDescriptor) -> Convert | None:
        if field.type == FieldDescriptor.TYPE_FLOAT:
            return float32
        if field.enum_type is not None:
            names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
            return lambda number: names.get(number, number)
        inner = field.message_type
        if inner is None:
            return None
        if inner.full_name in _AS_TEXT:
            return lambda message: message.ToJsonString()
        if inner.full_name in _WRAPPERS:
            of_value = self._convert_one(inner.fields_by_name["value"]) or _same
            return lambda message: of_value(message.value)
        return self._known.get(inner.full_name) or _Content(inner, self._known, self._counted)


def _is_repeated(field: FieldDescriptor) -> bool:
    return bool(field.default_value == [])  # the only way that works in all releases of protobuf


def _same(value: object) -> object:
    return value


def _key(key: object) -> str:
    return key if isinstance(key, str) else name_from_bytes(written(key))


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
        raise DecorateError("the value does not begin with a zero byte and a schema ID", code="bad_protobuf")
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
    raise DecorateError("the message indexes of the value are invalid", code="bad_protobuf")
