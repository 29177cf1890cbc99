"""
Avro's binary encoding, and the events that Flume writes in it.

Source: the Apache Avro specification; Flume's AvroFlumeEvent.
"""

import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal, Inexact
from functools import cache
from typing import Any, NamedTuple, cast

import fastavro
from fastavro._read_py import schemaless_reader as read_in_python
from fastavro.read import LOGICAL_READERS, SchemaResolutionError
from fastavro.schema import SchemaParseException, fingerprint, parse_schema, to_parsing_canonical_form

from ingest.api.notation import name_to_bytes
from ingest.formats.numbers import float32

_KEPT_LOGICAL = "decimal"  # its bytes are meaningless without the scale
_WRAPPED = "value"
_OURS = "attr2hbase"  # a logical type: fastavro converts only values of logical types
_MAX_DIGITS = 4300  # of a decimal, whose conversion takes quadratic time: Python's limit for the text of an integer
_END = 10**_MAX_DIGITS
_MAX_REASON = 300  # characters of the library's message, which has both schemas
_MAX_EMPTY_FIELDS = 16  # of what may be repeated: a record of one byte takes 200 bytes of memory, with these 480
_INNER = frozenset({"type", "items", "values"})
_INT32 = 2**31
_OF_VALUES = (EOFError, ValueError, IndexError, ArithmeticError, MemoryError)
_OF_SCHEMAS = (SchemaParseException, ValueError, TypeError, KeyError, AttributeError)


def _float(number: float, _written: object = None, _read: object = None) -> float:
    return float32(number)


def _int(number: int, _written: object = None, _read: object = None) -> int:
    if -_INT32 <= number < _INT32:
        return number
    raise ValueError(f"an int of 32 bits is {number}")


_EXACT = Context(prec=2 * _MAX_DIGITS, traps=[Inexact])


def _decimal(data: bytes, written: Mapping[str, Any], _read: object = None) -> Decimal:
    """
    The number in the bytes, whatever precision its schema declares: so does Java's Conversions.DecimalConversion.

    fastavro rounds a decimal to its precision, and has no limit to its digits.
    """
    unscaled = int.from_bytes(data, "big", signed=True)  # in linear time, unlike the conversion to a Decimal
    if -_END < unscaled < _END:
        return Decimal(unscaled).scaleb(-written.get("scale", 0), _EXACT)
    raise ValueError(f"a decimal has more than {_MAX_DIGITS} digits")


_DECIMAL = f"{_OURS}-{_KEPT_LOGICAL}"
LOGICAL_READERS |= {f"float-{_OURS}": _float, f"int-{_OURS}": _int}
LOGICAL_READERS |= dict.fromkeys((f"bytes-{_DECIMAL}", f"fixed-{_DECIMAL}"), cast("Any", _decimal))

# In a list, a negative index of the data counts from the end; so fastavro gets what it looks up as dicts by index. It
# reads each byte but 0 as true; as an index, which is zigzag-encoded, the byte 1 is -1.
_BOOLEAN = {"type": "enum", "symbols": {0: False, -1: True}}


class AvroSchema:
    """
    The schema of a record or a union of records, with all the types it references.

    Values are Python's: bytes for bytes and fixed, str for strings and enums (invalid UTF-8 as lone surrogates),
    Decimal for decimals, and for 32-bit floats the number with the fewest digits that rounds to the same float. All
    other logical types are ignored, as is a decimal whose precision or scale the specification forbids. A decimal has
    all its digits, also if they are more than its precision; one with more than 4,300 is not of the schema. Nor is an
    int of more than 32 bits, a boolean other than 0 and 1, or an index of an enum or a union that the schema lacks; a
    long of more than 64 bits is not detected, nor a number with more bytes than it needs, or a block of an array or a
    map whose size is not the one before it.

    Attributes:
        fingerprint: CRC-64-AVRO of its canonical form, little-endian, as in single-object encoding.

    Args:
        text: JSON.
        references: JSON of the schemas whose types it names, each after those that it names itself.
        reader: as which values are returned; None for values as they were written.
        any_type: whether it may be of another type, as that of a key often is: a map is returned as the fields of a
            record, any other value as a field with the empty name.

    Raises:
        ValueError: it is not such a schema.
    """

    def __init__(
        self,
        text: str | bytes,
        references: Sequence[str | bytes] = (),
        reader: "ReaderSchema | None" = None,
        *,
        any_type: bool = False,
    ) -> None:
        try:
            self._is_wrapped = any_type and reader is None and not _has_fields(json.loads(text))
            schema: Any = _parsed(text, references, is_wrapped=self._is_wrapped)
            recursive = _TypeCheck(schema).recursive
            self.fingerprint = bytes.fromhex(fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO"))
        except _OF_SCHEMAS as error:
            raise ValueError(str(error)) from error
        except RecursionError as error:
            raise ValueError("it is nested too deep") from error
        branches = schema if isinstance(schema, list) else [schema]
        if not branches or any(not isinstance(each, dict) or each["type"] != "record" for each in branches):
            raise ValueError("it is not a record")
        marks = {key: value for key, value in branches[0].items() if key.startswith("__")}
        self._ints = () if recursive or isinstance(schema, list) else tuple(_read_as_longs(schema["fields"]))
        self._reader = reader
        self._written: Any = None if reader is None else _converting(_parsed(text, references))
        self._schema: Any = _checking(schema) | marks
        # fastavro's C code crashes the process on deep recursion, which a recursive schema allows
        self._read = read_in_python if recursive else fastavro.schemaless_reader
        is_recursive = recursive or (reader is not None and reader.is_recursive)
        self._read_as = read_in_python if is_recursive else fastavro.schemaless_reader

    def read(self, value: bytes) -> dict[str, object]:
        """
        The fields of a record.

        Raises:
            ValueError: the value is not of this schema.
            RecursionError: it is nested too deep.
        """
        stream = io.BytesIO(value)
        try:
            fields: Any = self._read(stream, self._schema, None, handle_unicode_errors="surrogateescape")
        except KeyError as error:
            raise ValueError(f"{error} is not an index of the union, enum or boolean") from error
        except _OF_VALUES as error:
            raise ValueError(_reason(error)) from error
        rest = len(value) - stream.tell()
        if rest:
            raise ValueError(f"{rest} bytes follow it")
        for name in self._ints:
            number = fields[name]
            if number is not None and not -_INT32 <= number < _INT32:
                _int(number)
        if self._is_wrapped:
            only = fields[_WRAPPED]
            fields = only if isinstance(only, dict) else {"": only}
        elif self._reader is not None:
            fields = self._resolved(value, self._reader)  # the library's resolution has none of the checks above
        return cast("dict[str, object]", fields)

    def _resolved(self, value: bytes, reader: "ReaderSchema") -> object:
        try:
            return self._read_as(
                io.BytesIO(value), self._written, reader.schema, handle_unicode_errors="surrogateescape"
            )
        except (SchemaResolutionError, KeyError) as error:
            raise ValueError(f"it cannot be read with the reader's schema: {str(error)[:_MAX_REASON]}") from error
        except _OF_VALUES as error:
            raise ValueError(_reason(error)) from error


def _reason(error: BaseException) -> str:
    """Why fastavro cannot read a value."""
    return "it ends too early" if isinstance(error, EOFError) else f"{type(error).__name__} {error}"


class ReaderSchema:
    """
    The schema that a program reads records with, whatever schema they were written with.

    By the specification of Avro fields are matched by name or alias; one that was not written has the default, one that
    the program does not know is left out; numbers are promoted.

    Attributes:
        schema: parsed, with the defaults of fields as values.
        is_recursive: whether a record may contain itself.

    Raises:
        ValueError: it is not the schema of a record.
    """

    def __init__(self, text: str | bytes) -> None:
        try:
            self.schema: Any = parse_schema(_stripped(json.loads(text)))
            self.is_recursive = _TypeCheck(self.schema).recursive
            if not isinstance(self.schema, dict) or self.schema["type"] != "record":
                raise ValueError("it is not a record")
            _set_defaults(self.schema, self.schema.get("__named_schemas", {}))
        except _OF_SCHEMAS as error:
            raise ValueError(str(error)) from error
        except RecursionError as error:
            raise ValueError("it is nested too deep") from error


def flume_event(value: bytes) -> tuple[bytes, dict[str, bytes]]:
    """
    Body and headers of an AvroFlumeEvent, as Flume's Kafka sink and channel write it.

    Raises:
        ValueError: the value is not one.
    """
    content = _flume_schema().read(value)
    body, headers = content["body"], content["headers"]
    assert isinstance(body, bytes) and isinstance(headers, Mapping)  # noqa: S101, PT018 - by its schema
    return body, {name: name_to_bytes(text) for name, text in headers.items()}


@cache
def _flume_schema() -> AvroSchema:
    headers = {"name": "headers", "type": {"type": "map", "values": "string"}}
    fields = [headers, {"name": "body", "type": "bytes"}]
    return AvroSchema(json.dumps({"type": "record", "name": "AvroFlumeEvent", "fields": fields}))


def _has_fields(schema: Any) -> bool:
    """Whether a schema is that of a record, or of a union of records."""
    branches = schema if isinstance(schema, list) else [schema]
    return bool(branches) and all(isinstance(each, dict) and each.get("type") == "record" for each in branches)


def _parsed(text: str | bytes, references: Sequence[str | bytes], *, is_wrapped: bool = False) -> Any:
    """
    A parsed schema, with the definitions of the types that it names.

    If it is wrapped, it is that of the only field of a record, which is encoded as the field.
    """
    schema = _stripped(json.loads(text))
    if is_wrapped:
        schema = {"type": "record", "name": f"{_OURS}.{_WRAPPED}", "fields": [{"name": _WRAPPED, "type": schema}]}
    if not references:
        return parse_schema(schema)
    named: dict[str, Any] = {}
    for each in references:
        parse_schema(_stripped(json.loads(each)), named)
    return parse_schema(_with_definitions(parse_schema(schema, named), named, set()))


def _with_definitions(schema: Any, named: Mapping[str, Any], defined: set[str]) -> Any:
    """A parsed schema with the definition of each named type where it is first used, since names are full names."""
    match schema:
        case str():
            is_used_first = schema in named and schema not in defined
            return _with_definitions(named[schema], named, defined) if is_used_first else schema
        case list():
            return [_with_definitions(each, named, defined) for each in schema]
    name = schema.get("name")
    if name in defined:
        return name
    if name is not None:
        defined.add(name)
    own = {key: value for key, value in schema.items() if not key.startswith("__")}
    if "fields" in own:
        fields = ({**field, "type": _with_definitions(field["type"], named, defined)} for field in own["fields"])
        return {**own, "fields": list(fields)}
    return {key: _with_definitions(value, named, defined) if key in _INNER else value for key, value in own.items()}


def _stripped(schema: Any) -> Any:
    """The schema without logical types other than valid decimals."""
    match schema:
        case list():
            return [_stripped(each) for each in schema]
        case {"type": "record" | "error", "fields": list(fields)}:
            return {**_inner_stripped(schema), "fields": [_inner_stripped(field) for field in fields]}
        case dict():
            return _inner_stripped(schema)
    return schema


def _inner_stripped(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    return {
        key: _stripped(value) if key in _INNER else value
        for key, value in schema.items()
        if key != "logicalType" or (value == _KEPT_LOGICAL and _is_decimal(schema))
    }


def _is_decimal(schema: Mapping[str, Any]) -> bool:
    """Whether a type with the logical type decimal is one; the specification tells readers to ignore an invalid one."""
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision or precision == 0:
        return False
    match schema:
        case {"type": "bytes"}:
            return True
        case {"type": "fixed", "size": int(size)}:
            return precision <= math.floor(math.log10(2) * (8 * size - 1))
    return False


def _read_as_longs(fields: list[dict[str, Any]]) -> Iterator[str]:
    """Make longs of the ints among fields, in place, and name them: a check after the read takes far less time."""
    for field in fields:
        match field["type"]:
            case "int" | {"type": "int"}:
                field["type"] = "long"
                yield field["name"]
            case ["null", "int"] | ["int", "null"]:
                field["type"] = ["null" if each == "null" else "long" for each in field["type"]]
                yield field["name"]


def _checking(schema: Any) -> Any:
    """A parsed schema, changed in place so that fastavro converts and checks values with the functions above."""
    match schema:
        case list():
            return {"type": "union", **{index: _checking(each) for index, each in enumerate(schema)}}
        case "boolean" | {"type": "boolean"}:
            return _BOOLEAN
        case "float" | "int" | {"type": "float" | "int"}:
            return {"type": schema["type"] if isinstance(schema, dict) else schema, "logicalType": _OURS}
        case {"type": "record" | "error"}:
            for field in schema["fields"]:
                field["type"] = _checking(field["type"])
        case {"type": "enum"}:
            schema["symbols"] = dict(enumerate(schema["symbols"]))
        case {"logicalType": str(kind)} if kind == _KEPT_LOGICAL:
            schema["logicalType"] = _DECIMAL
        case dict():
            for key in _INNER & schema.keys():
                schema[key] = _checking(schema[key])
    return schema


def _converting(schema: Any) -> Any:
    """A parsed schema, changed in place so that fastavro converts floats and decimals, also while it resolves."""
    match schema:
        case list():
            return [_converting(each) for each in schema]
        case "float" | {"type": "float"}:
            return {"type": "float", "logicalType": _OURS}
        case {"type": "record" | "error"}:
            for field in schema["fields"]:
                field["type"] = _converting(field["type"])
        case {"logicalType": str(kind)} if kind == _KEPT_LOGICAL:
            schema["logicalType"] = _DECIMAL
        case dict():
            for key in _INNER & schema.keys():
                schema[key] = _converting(schema[key])
    return schema


def _set_defaults(schema: Any, named: Mapping[str, Any]) -> None:
    """Replace the JSON of the defaults of all fields by their values, in place; those of inner records come first."""
    match schema:
        case list():
            for each in schema:
                _set_defaults(each, named)
        case {"type": "record" | "error"}:
            for field in schema["fields"]:
                _set_defaults(field["type"], named)
                if "default" in field:
                    field["default"] = _value_of(field["type"], field["default"], named)
        case dict():
            for key in _INNER & schema.keys():
                _set_defaults(schema[key], named)


def _value_of(schema: Any, default: Any, named: Mapping[str, Any]) -> Any:  # noqa: PLR0911 - one for each type
    """The value that the JSON of a default is, by the table of the specification; a value stays as it is."""
    if isinstance(schema, str) and schema in named:
        schema = named[schema]
    match schema:
        case list():  # the default is of the first branch
            return _value_of(schema[0], default, named)
        case {"logicalType": str(kind)} if kind == _KEPT_LOGICAL:
            return default if isinstance(default, Decimal) else _decimal(default.encode("latin-1"), schema)
        case "bytes" | {"type": "bytes" | "fixed"}:
            return default if isinstance(default, bytes) else default.encode("latin-1")
        case "float" | "double" | {"type": "float" | "double"}:
            return float(default)
        case {"type": "array", "items": items}:
            return [_value_of(items, each, named) for each in default]
        case {"type": "map", "values": values}:
            return {key: _value_of(values, each, named) for key, each in default.items()}
        case {"type": "record" | "error", "fields": fields}:
            return {
                field["name"]: _value_of(
                    field["type"],
                    default[field["name"]] if field["name"] in default else field["default"],
                    named,
                )
                for field in fields
            }
    return default


class _TypeCheck:
    """
    A check of all types in a parsed schema.

    Attributes:
        recursive: whether a record may contain itself.

    Raises:
        ValueError: a few bytes could encode very much: an array has items of zero bytes, so it may have any length; or
            what may be repeated, in an array, a map or itself, has many fields of zero bytes.
    """

    def __init__(self, schema: Any) -> None:
        self._named: dict[str, _Least | None] = {}  # None while the fields are checked
        self._recursive: set[str] = set()
        self._least(schema)
        self.recursive = bool(self._recursive)

    def _least(self, schema: Any) -> "_Least":
        if isinstance(schema, str):
            found = self._named.get(schema, _Least(has_bytes=schema != "null"))
            if found is None:
                self._recursive.add(schema)
            return found or _Least()
        if isinstance(schema, list):
            return _Least(empty_fields=max((self._least(branch).empty_fields for branch in schema), default=0))
        match schema["type"]:
            case "record" | "error":
                self._named[schema["name"]] = None
                fields = [self._least(field["type"]) for field in schema["fields"]]
                least = _Least(
                    has_bytes=any(field.has_bytes for field in fields),
                    empty_fields=sum(field.empty_fields + (not field.has_bytes) for field in fields),
                )
                self._named[schema["name"]] = least
                if schema["name"] in self._recursive:
                    _refuse_many_empty(least)
            case "fixed" | "enum":
                self._named[schema["name"]] = least = _Least(has_bytes=schema.get("size") != 0)
            case "map":
                _refuse_many_empty(self._least(schema["values"]))
                least = _Least()
            case "array":
                items = self._least(schema["items"])
                if not items.has_bytes:
                    raise ValueError("it has an array with items of zero bytes")
                _refuse_many_empty(items)
                least = _Least()
            case inner:
                least = self._least(inner)
        return least


class _Least(NamedTuple):
    """The least that a value of a type takes: whether it has bytes, and how many of its fields may have none."""

    has_bytes: bool = True
    empty_fields: int = 0


def _refuse_many_empty(repeated: _Least) -> None:
    if repeated.empty_fields > _MAX_EMPTY_FIELDS:
        raise ValueError(
            f"it has an array, a map or a recursive record with {repeated.empty_fields} fields of zero bytes, such as "
            f"of the type null; {_MAX_EMPTY_FIELDS} are allowed"
        )
