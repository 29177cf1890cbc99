"""Turn the fields of a Protocol Buffers message into attributes."""

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
from ingest.api.notation import name_from_bytes
from ingest.formats.nested import Flattening, NestedSettings, written
from ingest.formats.numbers import float32

_CONFLUENT_BYTES = 5  # a zero, and the schema's id
_LAST_BYTE = 0x80  # a smaller one ends a number
_MAX_VARINT_BYTES = 10  # bytes
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
    """What stands in front of a message."""

    NONE = "none"
    CONFLUENT = "confluent"


class OnAbsent(StrEnum):
    """What happens to a field that is not in the message."""

    UNSET = "unset"
    DEFAULT = "default"


class ProtobufSettings(NestedSettings):
    """Options of the protobuf decorator."""

    message: str = option("Full name of the message.", example="shop.v1.Access")
    descriptor_file: SmallFile | None = option(
        "File that `protoc --include_imports --descriptor_set_out=FILE` wrote; it is read with the configuration and "
        "sent to the workers with it.",
        default=None,
        example="access.desc",
    )
    descriptor_text: str | None = option("The content of such a file in base64, instead of the file.", default=None)
    header: Header = option(
        "What precedes a message: nothing (`none`), or the zero, the schema's id and the message's place in the "
        "schema of a `confluent` registry.",
        default="none",
        strict=False,
    )
    on_absent: OnAbsent = option(
        "A field that is not in the message sets nothing (`unset`), or its `default` where proto3 writes nothing for "
        "that.",
        default="unset",
        strict=False,
    )

    @model_validator(mode="after")
    def _one_good_descriptor(self) -> Self:
        if (self.descriptor_file is None) is (self.descriptor_text is None):
            raise PydanticCustomError(
                "conflict", "one of `descriptor_file` and `descriptor_text` says what the message is"
            )
        try:
            pool = _pool(self)
        except (DecodeError, TypeError, ValueError) as error:
            name = "descriptor_text" if self.descriptor_file is None else "descriptor_file"
            raise PydanticCustomError(
                "wrong_type", "{option} does not hold descriptors: {error}", {"option": name, "error": str(error)}
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
    Set an attribute for each field of a Protocol Buffers message; messages in it and maps give dotted names.

    Names are those of the .proto file. Text is UTF-8, bytes stay bytes, enums are their names (a number that has none
    stays a number), true and false are written so. A Timestamp and a Duration are written as in their JSON
    (`2003-10-11T22:14:15Z`, `1.5s`), wrappers such as StringValue are what they wrap. In the JSON of an array, bytes
    that are not UTF-8 are `{"b64": …}`, and a map is in the order of its keys. A float has the fewest digits that tell
    it from all others of its width; values that are not finite are `nan`, `inf` or `-inf`, and null in an array. Fields
    that the descriptors do not have, and extensions, become no attribute.

    Source: ours; the encoding of Protocol Buffers, and the wire format of Confluent's serializers.
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
            "behind the header of a registry's serializer, with a default",
            settings=f"{{header: confluent, on_absent: default, message: Access, descriptor_text: {_ACCESS}}}",
            body=b"\0\0\0\0\x07\0\x1a\x01x",
            after={"status": "0", "tags": '["x"]'},
        ),
        Example(
            "cut off",
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
        self._content = _Content(descriptor, {}, with_defaults=settings.on_absent is OnAbsent.DEFAULT)
        self._flattening = Flattening(settings, written)

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        value = event.text_of(self._source, "to read a message from")
        if self.settings.header is Header.CONFLUENT:
            value = _without_header(value)
        try:
            content = self._content(self._parse(value))
        except (DecodeError, ValueError) as error:
            raise DecorateError(f"the value is not a {self.settings.message}: {error}", code="bad_protobuf") from error
        event.update(self._flattening.attributes(content))
        return True


class _Content:
    """
    The fields of messages of one type, as dicts and lists.

    Args:
        known: those of other types, by their names; for types within themselves.
    """

    def __init__(self, descriptor: Descriptor, known: dict[str, "_Content"], *, with_defaults: bool) -> None:
        known[descriptor.full_name] = self
        self._known = known
        self._with_defaults = with_defaults
        self._fields = {field.number: (field.name, self._convert(field)) for field in descriptor.fields}
        self._defaults: dict[str, object] = {}
        for field in descriptor.fields:
            if with_defaults and not field.has_presence and not _is_repeated(field):
                convert = self._fields[field.number][1]
                self._defaults[field.name] = convert(field.default_value) if convert else field.default_value

    def __call__(self, message: Message) -> dict[str, object]:
        content = dict(self._defaults)
        fields = self._fields
        for field, value in message.ListFields():
            name, convert = fields.get(field.number, ("", None))
            if name:
                content[name] = value if convert is None else convert(value)
        return content

    def _convert(self, field: FieldDescriptor) -> Convert | None:
        """What makes content of a field's value; None when it is that already."""
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
        return self._known.get(inner.full_name) or _Content(inner, self._known, with_defaults=self._with_defaults)


def _is_repeated(field: FieldDescriptor) -> bool:
    return bool(field.default_value == [])  # the one way that all releases of protobuf know


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
    """The message itself: behind zero and id stands a number, and so many others, that say which message it is."""
    if value[:1] != b"\0":
        raise DecorateError("the value does not begin with a zero and the id of a schema", code="bad_protobuf")
    count, at = _number(value, _CONFLUENT_BYTES)
    for _ in range(count):
        _, at = _number(value, at)
    return value[at:]


def _number(value: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte whose last bit is its sign, and where it ends."""
    number = 0
    for index, byte in enumerate(value[at : at + _MAX_VARINT_BYTES]):
        number |= (byte & (_LAST_BYTE - 1)) << (7 * index)
        if byte < _LAST_BYTE:
            return number >> 1, at + index + 1
    raise DecorateError("the value has no place of its message", code="bad_protobuf")
