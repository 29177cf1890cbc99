"""Converts messages to dicts and lists, with the types of `google.protobuf` as ProtoJSON has them."""

from collections.abc import Callable, Iterable
from typing import Any, cast

from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from ingest.api import DecorateError
from ingest.api.event_errors import TooLargeError
from ingest.api.growth import max_grown
from ingest.api.notation import name_from_bytes
from ingest.formats.nested import written
from ingest.formats.numbers import float32

_DEFAULT_BYTES = 100  # of a name and a value in a dict, or in JSON
_PACKAGE = "google.protobuf"
_AS_TEXT = frozenset(f"{_PACKAGE}.{kind}" for kind in ("Timestamp", "Duration", "FieldMask"))
_WRAPPERS = frozenset(
    f"{_PACKAGE}.{kind}Value"
    for kind in ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")
)
_VARINT, _LENGTH_DELIMITED = 0, 2  # wire types
_HALF_INT32 = 2**31
_TYPE = "@type"

Convert = Callable[[Any], object]


class WithoutJsonFormError(DecorateError):
    """A Timestamp, Duration or FieldMask of a message has a value that ProtoJSON cannot write."""

    code = "no_json_form"
    remedy = "Correct the producer; or read the field with another type, whose fields are numbers or texts."


class NoJsonFormError(Exception):
    """A value of `google.protobuf` has no form in ProtoJSON."""


class Defaults:
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
            raise TooLargeError(
                "the defaults of its absent fields take too much memory",
                hint="leave out `on_absent: default`",
            )


class Contents:
    """
    Makes dicts and lists of the messages of a descriptor set.

    Args:
        counted: counts defaults; None if absent fields have none.
    """

    def __init__(self, pool: DescriptorPool, counted: Defaults | None) -> None:
        self.counted = counted
        self._pool = pool
        self._known: dict[str, Convert] = {}
        self._special: dict[str, Convert] = {
            f"{_PACKAGE}.Struct": _struct,
            f"{_PACKAGE}.Value": _value,
            f"{_PACKAGE}.ListValue": _list,
            f"{_PACKAGE}.Any": self._any,
            **dict.fromkeys(_AS_TEXT, _json_text),
        }

    def of_whole(self, descriptor: Descriptor) -> Callable[[Any], dict[str, object]]:
        """The function that converts a message which is a whole value, and so has to become a dict."""
        if descriptor.full_name in {f"{_PACKAGE}.Struct", f"{_PACKAGE}.Any"}:
            return cast("Callable[[Any], dict[str, object]]", self.of(descriptor))
        return _Content(descriptor, self)

    def of(self, descriptor: Descriptor) -> Convert:
        """The function that converts the messages of a type."""
        name = descriptor.full_name
        if name in _WRAPPERS:
            of_value = self.of_single(descriptor.fields_by_name["value"]) or _same
            return lambda message: of_value(message.value)
        return self._special.get(name) or self._known.get(name) or _Content(descriptor, self)

    def add(self, descriptor: Descriptor, convert: Convert) -> None:
        """Know a converter before its fields do: the fields may have the same type."""
        self._known[descriptor.full_name] = convert

    def of_single(self, field: FieldDescriptor) -> Convert | None:
        """The function that converts one value of a field; None if the value needs no conversion."""
        if field.type == FieldDescriptor.TYPE_FLOAT:
            return float32
        if field.enum_type is not None:
            names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
            return lambda number: names.get(number, number)
        return None if field.message_type is None else self.of(field.message_type)

    def _any(self, message: Any) -> dict[str, object]:
        """The message of its type; the type and the bytes if the descriptor set has no such type."""
        url, value = message.type_url, message.value
        if not url and not value:
            return {}
        try:
            descriptor = self._pool.FindMessageTypeByName(url.rpartition("/")[2])
        except KeyError:
            return {_TYPE: url, "value": value}
        convert = self.of(descriptor)
        content = convert(message_factory.GetMessageClass(descriptor).FromString(value))
        if isinstance(convert, _Content):
            return {_TYPE: url, **cast("dict[str, object]", content)}
        return {_TYPE: url, "value": content}


class _Content:
    """Converts messages of one type, which has no form of its own in JSON, to dicts."""

    def __init__(self, descriptor: Descriptor, contents: Contents) -> None:
        contents.add(descriptor, self)
        self._contents = contents
        self._fields = {field.number: (field.name, self._convert(field)) for field in descriptor.fields}
        self._closed = {field.number: _ClosedEnum(field) for field in descriptor.fields if _has_closed_enum(field)}
        self._defaults: dict[str, object] = {}
        for field in descriptor.fields:
            if contents.counted is not None and not field.has_presence and not _is_repeated(field):
                convert = self._fields[field.number][1]
                self._defaults[field.name] = convert(field.default_value) if convert else field.default_value

    def __call__(self, message: Message) -> dict[str, object]:
        counted = self._contents.counted
        if self._defaults and counted is not None:
            counted.add(len(self._defaults))
        content = dict(self._defaults)
        fields = self._fields
        name = ""
        try:
            for field, value in message.ListFields():
                name, convert = fields.get(field.number, ("", None))
                if name:
                    content[name] = value if convert is None else convert(value)
        except NoJsonFormError as error:
            raise no_json_form(f"the field {name} of a {message.DESCRIPTOR.full_name}", error) from error
        if self._closed:
            self._add_unknown(message, content)
        return content

    def _convert(self, field: FieldDescriptor) -> Convert | None:
        """The function that converts a value of the field; None if the value needs no conversion."""
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            of_value = self._contents.of_single(entry.fields_by_name["value"]) or _same
            return lambda value: {_key(key): of_value(each) for key, each in sorted(value.items())}
        convert = self._contents.of_single(field)
        if not _is_repeated(field):
            return convert
        return list if convert is None else lambda value: [convert(each) for each in value]

    def _add_unknown(self, message: Message, content: dict[str, object]) -> None:
        known = frozenset(content)
        for unknown in _unknown(message):
            enum = self._closed.get(unknown.field_number)
            if enum is not None:
                enum.add(unknown.wire_type, unknown.data, content, known)


class _ClosedEnum:
    """A field of proto2 with an enum: the parser keeps its unknown numbers as unknown fields."""

    def __init__(self, field: FieldDescriptor) -> None:
        self._name = field.name
        self._is_repeated = _is_repeated(field)
        entry = field.message_type
        self._parse = None if entry is None else message_factory.GetMessageClass(entry).FromString

    def add(self, wire_type: int, data: Any, content: dict[str, object], known: frozenset[str]) -> None:
        """Add an unknown field of this number to the content, unless the field has a known value or another type."""
        if self._parse is not None:
            if wire_type == _LENGTH_DELIMITED:
                entry: Any = self._parse(data)
                for each in _unknown(entry):
                    if each.wire_type == _VARINT:
                        values = cast("dict[str, object]", content.setdefault(self._name, {}))
                        values[_key(entry.key)] = _int32(each.data)
        elif wire_type == _VARINT:
            if self._is_repeated:
                cast("list[object]", content.setdefault(self._name, [])).append(_int32(data))
            elif self._name not in known:
                content[self._name] = _int32(data)


def _has_closed_enum(field: FieldDescriptor) -> bool:
    entry = field.message_type
    if entry is not None:
        return bool(entry.GetOptions().map_entry) and _has_closed_enum(entry.fields_by_name["value"])
    return field.enum_type is not None and field.enum_type.is_closed


def _unknown(message: Message) -> Iterable[Any]:
    return cast("Iterable[Any]", UnknownFieldSet(message))


def _int32(number: int) -> int:
    """The enum value in a varint, which has its sign in 64 bits."""
    return (number + _HALF_INT32) % (2 * _HALF_INT32) - _HALF_INT32


def no_json_form(what: str, error: "NoJsonFormError") -> DecorateError:
    """The refusal of a message that is valid, and has no text."""
    return WithoutJsonFormError(f"{what} is {error}")


def _json_text(message: Any) -> str:
    try:
        return str(message.ToJsonString())
    except ValueError as error:
        raise NoJsonFormError(f"a {message.DESCRIPTOR.full_name} without a form in JSON: {error}") from error


def _struct(message: Any) -> dict[str, object]:
    return {name: _value(value) for name, value in sorted(message.fields.items())}


def _list(message: Any) -> list[object]:
    return [_value(value) for value in message.values]


def _value(message: Any) -> object:
    kind = message.WhichOneof("kind")
    if kind in {None, "null_value"}:
        return None
    value = getattr(message, kind)
    if kind == "struct_value":
        return _struct(value)
    return _list(value) if kind == "list_value" else value


def _is_repeated(field: FieldDescriptor) -> bool:
    return bool(field.default_value == [])  # the only way that works in all releases of protobuf


def _same(value: object) -> object:
    return value


def _key(key: object) -> str:
    return key if isinstance(key, str) else name_from_bytes(written(key))
