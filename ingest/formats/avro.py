"""
Avro's binary encoding, and the events that Flume writes in it.

Source: the Apache Avro specification; Flume's AvroFlumeEvent.
"""

import io
import json
from collections.abc import Mapping
from decimal import Context, Decimal, Inexact
from functools import cache
from typing import Any, cast

import fastavro
from fastavro._read_py import schemaless_reader as read_in_python
from fastavro.read import LOGICAL_READERS
from fastavro.schema import SchemaParseException, fingerprint, parse_schema, to_parsing_canonical_form

from ingest.api.notation import name_to_bytes
from ingest.formats.numbers import float32

_KEPT_LOGICAL = "decimal"  # its bytes are meaningless without the scale
_OUR_DECIMAL = "attr2hbase-decimal"  # fastavro rounds a decimal to its precision, and has no limit to its digits
_MAX_DIGITS = 4300  # of a decimal, whose conversion takes quadratic time: Python's limit for the text of an integer
_END = 10**_MAX_DIGITS
_INNER = frozenset({"type", "items", "values"})
_FLOAT = {"type": "float", "logicalType": "attr2hbase"}  # fastavro converts only values of logical types
_OF_VALUES = (EOFError, ValueError, IndexError, ArithmeticError, MemoryError)
_OF_SCHEMAS = (SchemaParseException, ValueError, TypeError, KeyError, AttributeError)


def _float(number: float, _written: object = None, _read: object = None) -> float:
    return float32(number)


_EXACT = Context(prec=2 * _MAX_DIGITS, traps=[Inexact])


def _decimal(data: bytes, written: Mapping[str, Any], _read: object = None) -> Decimal:
    """The number in the bytes, whatever precision its schema declares: so does Java's Conversions.DecimalConversion."""
    unscaled = int.from_bytes(data, "big", signed=True)  # in linear time, unlike the conversion to a Decimal
    if -_END < unscaled < _END:
        return Decimal(unscaled).scaleb(-written.get("scale", 0), _EXACT)
    raise ValueError(f"a decimal has more than {_MAX_DIGITS} digits")


LOGICAL_READERS["float-attr2hbase"] = _float
for _of in ("bytes", "fixed"):
    LOGICAL_READERS[f"{_of}-{_OUR_DECIMAL}"] = cast("Any", _decimal)


class AvroSchema:
    """
    The schema of a record or a union of records, with all the types it references.

    Values are Python's: bytes for bytes and fixed, str for strings and enums (invalid UTF-8 as lone surrogates),
    Decimal for decimals, and for 32-bit floats the number with the fewest digits that rounds to the same float. All
    other logical types are ignored. A decimal has all its digits, also if they are more than its precision; one with
    more than 4,300 is not of the schema.

    Attributes:
        fingerprint: CRC-64-AVRO of its canonical form, little-endian, as in single-object encoding.

    Raises:
        ValueError: it is not such a schema.
    """

    def __init__(self, text: str | bytes) -> None:
        try:
            self._schema: Any = parse_schema(_with_our_decimals(_checked(_stripped(json.loads(text)))))
            recursive = _TypeCheck(self._schema).recursive
            self.fingerprint = bytes.fromhex(fingerprint(to_parsing_canonical_form(self._schema), "CRC-64-AVRO"))
        except _OF_SCHEMAS as error:
            raise ValueError(str(error)) from error
        except RecursionError as error:
            raise ValueError("it is nested too deep") from error
        branches = self._schema if isinstance(self._schema, list) else [self._schema]
        if not branches or any(not isinstance(each, dict) or each["type"] != "record" for each in branches):
            raise ValueError("it is not a record")
        # fastavro's C code crashes the process on deep recursion, which a recursive schema allows
        self._read = read_in_python if recursive else fastavro.schemaless_reader

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
        except _OF_VALUES as error:
            raise ValueError(f"{type(error).__name__} {error}") from error
        rest = len(value) - stream.tell()
        if rest:
            raise ValueError(f"{rest} bytes follow it")
        return cast("dict[str, object]", fields)


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


def _stripped(schema: Any) -> Any:
    """The schema without logical types other than decimal, and with our logical type for floats."""
    match schema:
        case "float" | {"type": "float"}:
            return _FLOAT
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
        if key != "logicalType" or value == _KEPT_LOGICAL
    }


def _checked(schema: Any) -> Any:
    """The schema, if fastavro accepts it, also what it says of decimals."""
    parse_schema(schema)
    return schema


def _with_our_decimals(schema: Any) -> Any:
    def renamed(part: dict[str, Any]) -> dict[str, Any]:
        if part.get("logicalType") != _KEPT_LOGICAL:
            return part
        if not part.get("precision"):
            raise ValueError("it has a decimal without a precision")
        return part | {"logicalType": _OUR_DECIMAL}

    return json.loads(json.dumps(schema), object_hook=renamed)


class _TypeCheck:
    """
    A check of all types in a parsed schema.

    Attributes:
        recursive: whether a record may contain itself.

    Raises:
        ValueError: an array has items of zero bytes, so a few bytes could encode an array of any length.
    """

    def __init__(self, schema: Any) -> None:
        self.recursive = False
        self._named: dict[str, bool | None] = {}  # whether a named type has bytes; None while its fields are checked
        self._has_bytes(schema)

    def _has_bytes(self, schema: Any) -> bool:
        if isinstance(schema, str):
            has_bytes = self._named.get(schema, schema != "null")
            self.recursive = self.recursive or has_bytes is None
            return has_bytes is not False
        if isinstance(schema, list):
            for branch in schema:
                self._has_bytes(branch)
            return True
        match schema["type"]:
            case "record" | "error":
                self._named[schema["name"]] = None
                of_fields = [self._has_bytes(field["type"]) for field in schema["fields"]]
                self._named[schema["name"]] = has_bytes = any(of_fields)
            case "fixed" | "enum":
                self._named[schema["name"]] = has_bytes = schema.get("size") != 0
            case "map":
                self._has_bytes(schema["values"])
                has_bytes = True
            case "array":
                has_bytes = True
                if not self._has_bytes(schema["items"]):
                    raise ValueError("it has an array with items of zero bytes")
            case inner:
                has_bytes = self._has_bytes(inner)
        return has_bytes
