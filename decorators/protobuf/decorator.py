"""Parse a Protocol Buffers message into attributes."""

import binascii
from base64 import b64decode
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, NamedTuple, Self

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError
from pydantic import model_validator
from pydantic_core import PydanticCustomError

from decorators.protobuf.content import Contents, Defaults, NoJsonFormError, no_json_form
from ingest.api import DecorateError, Decorator, Event, Example, SmallFile, option
from ingest.api.event_errors import TooDeepError
from ingest.api.schemas import Schemas, SchemaType, WriterSchema
from ingest.decorating.registered import ParsedSchemas
from ingest.formats.confluent import message_indexes_of, message_name_of, schema_id_of
from ingest.formats.nested import Flattening, NestedSettings, written
from ingest.formats.number_types import number_writer

# message Access { int32 status = 1; User user = 2; repeated string tags = 3; }  message User { string name = 1; }
_ACCESS = (
    "CmQKB2EucHJvdG8iOwoGQWNjZXNzEg4KBnN0YXR1cxgBIAEoBRITCgR1c2VyGAIgASgLMgUuVXNlchIMCgR0YWdzGAMgAygJIhQKBFVzZXISDAoE"
    "bmFtZRgBIAEoCWIGcHJvdG8z"
)

_Place = tuple[int, ...] | str  # of a message in its file: its indexes or its name


class BadProtobufError(DecorateError):
    """The value is not a message of the decorator's type, or lacks the required header."""

    code = "bad_protobuf"
    remedy = "Set the decorator's type and header to the producer's; then replay the dead letters."


class Header(StrEnum):
    """What precedes a message."""

    NONE = "none"
    CONFLUENT = "confluent"
    APICURIO = "apicurio"


class OnAbsent(StrEnum):
    """The result for a field that is not in the message."""

    UNSET = "unset"
    DEFAULT = "default"


class ProtobufSettings(NestedSettings):
    """Options of the protobuf decorator."""

    message: str | None = option(
        "Full name of the message type, in the given descriptors.", default=None, example="shop.v1.Access"
    )
    descriptor_file: SmallFile | None = option(
        "File written by `protoc --include_imports --descriptor_set_out=FILE`; it is read with the configuration and "
        "sent to the workers. With a `header` and no descriptors, the registry of the file has the schemas.",
        default=None,
        example="access.desc",
    )
    descriptor_text: str | None = option("Content of such a file in base64, instead of the file.", default=None)
    header: Header = option(
        "What precedes a message: nothing (`none`), or the zero byte, schema ID and message indexes of a `confluent` "
        "registry, in place of which the serializers of `apicurio` write the name of the message.",
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
        if self.uses_registry:
            if self.message is not None:
                raise PydanticCustomError(
                    "missing_field",
                    "`message` needs the descriptors that have it; without them the header of a value names its type",
                    {"option": "message"},
                )
            return self
        if (self.descriptor_file is None) is (self.descriptor_text is None):
            raise PydanticCustomError(
                "conflict",
                "protobuf needs either `descriptor_file` or `descriptor_text`, or `header: confluent` or `apicurio` "
                "with the registry's schemas",
            )
        if self.message is None:
            raise PydanticCustomError("missing_field", 'protobuf needs "message"')
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

    @property
    def uses_registry(self) -> bool:
        """Whether the registry has the schemas."""
        is_given = self.descriptor_file is not None or self.descriptor_text is not None
        return self.header is not Header.NONE and not is_given


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

    With `header: confluent` and no descriptors, each message is read with the schema whose ID is before it, which the
    `registry` of the file has; the message indexes after the ID name its type. With descriptors, `message` is its type,
    whatever its header says. `header: apicurio` is the same for values of Apicurio's serializers, which write the name
    of a message of the schema's file in place of the indexes.

    With `numbers: auto` integers are an int64, also that of an unknown enum value, and float and double a float64.

    Source: own design; the encoding of Protocol Buffers, ProtoJSON as protobuf.dev describes it, and the wire
    formats of Confluent's and Apicurio's serializers.
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
            "the schema of the registry; the second message of its file",
            settings="{header: confluent}",
            schemas=(WriterSchema(7, SchemaType.PROTOBUF, b64decode(_ACCESS)),),
            body=b"\0\0\0\0\x07\x02\x02\n\x03ann",
            after={"name": "ann"},
        ),
        Example(
            "a message index that the schema does not have",
            settings="{header: confluent}",
            schemas=(WriterSchema(7, SchemaType.PROTOBUF, b64decode(_ACCESS)),),
            body=b"\0\0\0\0\x07\x02\x08\n\x03ann",
            error="bad_protobuf",
        ),
        Example(
            "a value of Apicurio's serializer, with the name of the message",
            settings="{header: apicurio}",
            schemas=(WriterSchema(7, SchemaType.PROTOBUF, b64decode(_ACCESS)),),
            body=b"\0\0\0\0\x07\x06\n\x04User\n\x03ann",
            after={"name": "ann"},
        ),
        Example(
            "the same with the other header",
            settings="{header: confluent}",
            schemas=(WriterSchema(7, SchemaType.PROTOBUF, b64decode(_ACCESS)),),
            body=b"\0\0\0\0\x07\x06\n\x04User\n\x03ann",
            error="bad_protobuf",
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
        self._defaults = Defaults()
        self._counted = self._defaults if settings.on_absent is OnAbsent.DEFAULT else None
        self._by_id = ParsedSchemas(SchemaType.PROTOBUF, self._registered)
        self._flattening = Flattening(settings, number_writer(settings.numbers, written))
        self._place_of: Callable[[bytes], tuple[_Place, int]] = (
            message_name_of if settings.header is Header.APICURIO else message_indexes_of
        )
        self._split: Callable[[bytes], tuple[_MessageType, bytes]] = self._by_registry
        if settings.message is not None:
            pool = _pool(settings)
            descriptor = pool.FindMessageTypeByName(settings.message)
            self._type = _MessageType.of(descriptor, Contents(pool, self._counted))
            self._name = descriptor.name
            self._split = self._whole if settings.header is Header.NONE else self._after_header

    def use_schemas(self, schemas: Schemas) -> None:
        """Read the schemas of the registry from here."""
        self._by_id.use(schemas)

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        kind, value = self._split(event.text_of(self._source, "to read a message from"))
        self._defaults.start(len(value))
        try:
            content = kind.content(kind.parse(value))
        except (DecodeError, ValueError) as error:
            raise BadProtobufError(f"the value is not a {kind.name}: {error}") from error
        except NoJsonFormError as error:
            raise no_json_form("the message", error) from error
        except RecursionError as error:
            raise TooDeepError("the message is nested too deep") from error
        event.update(self._flattening.attributes(content))
        return True

    def _whole(self, value: bytes) -> "tuple[_MessageType, bytes]":
        return self._type, value

    def _after_header(self, value: bytes) -> "tuple[_MessageType, bytes]":
        _, place, at = self._header_of(value)
        # some names can be read as indexes, which nothing compares with the descriptors
        if isinstance(place, tuple) and len(place) > 1 and _name_in(value) == self._name:
            raise BadProtobufError("the value has no message indexes", hint=self._hint(value))
        return self._type, value[at:]

    def _by_registry(self, value: bytes) -> "tuple[_MessageType, bytes]":
        schema_id, place, at = self._header_of(value)
        file = self._by_id.of(schema_id)
        try:
            return file.of(place), value[at:]
        except BadProtobufError as error:
            error.hint = self._hint(value)
            raise

    def _header_of(self, value: bytes) -> "tuple[int, _Place, int]":
        """The schema ID, the place of the message in its file, and the position after them."""
        try:
            return schema_id_of(value), *self._place_of(value)
        except ValueError as error:
            raise BadProtobufError(str(error), hint=self._hint(value)) from error

    def _hint(self, value: bytes) -> str | None:
        """For a value of Apicurio's serializers that is read as one of Confluent's."""
        name = None if self._place_of is message_name_of else _name_in(value)
        if name is None:
            return None
        return f'the name "{name}" is in their place: `header: apicurio` reads values of Apicurio\'s serializers'

    def _registered(self, schema: WriterSchema) -> "_SchemaFile":
        return _SchemaFile(schema.content, self._counted)


class _MessageType(NamedTuple):
    """A type of messages: parses them, and makes dicts of them."""

    name: str
    parse: Callable[[bytes], Any]
    content: Callable[[Any], dict[str, object]]

    @classmethod
    def of(cls, descriptor: Descriptor, contents: Contents) -> Self:
        """The type of a descriptor."""
        parse = message_factory.GetMessageClass(descriptor).FromString
        return cls(descriptor.full_name, parse, contents.of_whole(descriptor))


class _SchemaFile:
    """
    The messages of a schema of the registry, by their indexes or names.

    Raises:
        ValueError: the content has no files that can be used.
    """

    def __init__(self, content: bytes, counted: Defaults | None) -> None:
        try:
            files = descriptor_pb2.FileDescriptorSet.FromString(content).file
            if not files:
                raise ValueError("it has no file")
            pool = _pool_of(files)
            self._file = pool.FindFileByName(files[-1].name)
        except (DecodeError, TypeError, KeyError) as error:
            raise ValueError(str(error)) from error
        # the order of `message_types_by_name` is not said to be that of the file
        self._messages = files[-1].message_type
        self._contents = Contents(pool, counted)
        self._types: dict[_Place, _MessageType] = {}

    def of(self, place: _Place) -> _MessageType:
        """
        The type at a place.

        Raises:
            BadProtobufError: there is none.
        """
        found = self._types.get(place)
        if found is None:
            descriptor = self._named(place) if isinstance(place, str) else self._indexed(place)
            found = self._types[place] = _MessageType.of(descriptor, self._contents)
        return found

    def _named(self, name: str) -> Descriptor:
        descriptor: Descriptor | None = self._file.message_types_by_name.get(name)
        if descriptor is None:
            raise BadProtobufError(f'the schema has no message "{name}" at its top level')
        return descriptor

    def _indexed(self, indexes: tuple[int, ...]) -> Descriptor:
        first, *others = indexes
        try:
            message = self._messages[first]
            descriptor: Descriptor = self._file.message_types_by_name[message.name]
            for index in others:
                message = message.nested_type[index]
                descriptor = descriptor.nested_types_by_name[message.name]
        except (IndexError, KeyError) as error:
            raise BadProtobufError(f"the schema has no message with the indexes {list(indexes)}") from error
        return descriptor


def _pool(settings: ProtobufSettings) -> descriptor_pool.DescriptorPool:
    if settings.descriptor_file is not None:
        content = settings.descriptor_file.content
    else:
        try:
            content = b64decode(settings.descriptor_text or "", validate=True)
        except binascii.Error as error:
            raise ValueError(f"not base64: {error}") from error
    return _pool_of(descriptor_pb2.FileDescriptorSet.FromString(content).file)


def _pool_of(files: Iterable[descriptor_pb2.FileDescriptorProto]) -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


def _name_in(value: bytes) -> str | None:
    """The name of a message after the ID; None if there is none."""
    try:
        return message_name_of(value)[0]
    except ValueError:
        return None
