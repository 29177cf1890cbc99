"""Parse an Avro record into attributes."""

from enum import StrEnum
from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, SmallFile, option
from ingest.api.event_errors import BadAvroError, TooDeepError
from ingest.formats.avro import AvroSchema
from ingest.formats.nested import Flattening, NestedSettings, OnNull, written
from ingest.formats.number_types import number_writer

_SINGLE_OBJECT = b"\xc3\x01"
_CONFLUENT_BYTES = 5  # a zero byte, and the schema ID


class WrongSchemaError(DecorateError):
    """The header of the value has a different schema than the decorator."""

    code = "wrong_schema"
    remedy = "Set the decorator's schema to the header's; then replay the dead letters."


class Header(StrEnum):
    """What precedes a value."""

    NONE = "none"
    SINGLE_OBJECT = "single_object"
    CONFLUENT = "confluent"


class AvroSettings(NestedSettings):
    """Options of the avro decorator."""

    schema_file: SmallFile | None = option(
        "File with the schema of the values (.avsc), including all types it names; it is read with the configuration "
        "and sent to the workers.",
        default=None,
        example="user.avsc",
    )
    schema_text: str | None = option("The schema itself, instead of a file.", default=None)
    header: Header = option(
        "What precedes a value: nothing (`none`), the marker and fingerprint of `single_object` encoding, or the zero "
        "byte and the schema ID of a `confluent` registry.",
        default="none",
        strict=False,
    )
    schema_ids: list[int] | None = option(
        "IDs of the schema in the registry, required for `header: confluent`; values with another ID fail.",
        default=None,
        example=[42],
        min_length=1,
    )
    on_null: OnNull = option(
        "A null sets nothing (`unset`), an `empty` value, or fails the event (`error`).", default="unset", strict=False
    )

    @model_validator(mode="after")
    def _valid_schema(self) -> Self:
        name = "schema_text" if self.schema_file is None else "schema_file"
        if (self.schema_file is None) is (self.schema_text is None):
            raise PydanticCustomError("conflict", "avro needs either `schema_file` or `schema_text`")
        if self.schema_ids is not None and self.header is not Header.CONFLUENT:
            raise PydanticCustomError(
                "conflict",
                "`schema_ids` needs `header: confluent`: other values have no schema ID",
                {"option": "schema_ids"},
            )
        if self.schema_ids is None and self.header is Header.CONFLUENT:
            raise PydanticCustomError(
                "missing_field",
                "`header: confluent` needs `schema_ids`: a value of another schema would be read into wrong fields; "
                "list the IDs of this schema in the registry",
                {"option": "header"},
            )
        try:
            _schema(self)
        except ValueError as error:
            raise PydanticCustomError(
                "wrong_type", "{option} is not an Avro schema: {error}", {"option": name, "error": str(error)}
            ) from error
        return self


class Avro(Decorator[AvroSettings]):
    """
    Set an attribute for each field of an Avro record; nested records and maps get dotted names.

    Text is UTF-8; an enum is its symbol; bytes are unchanged; booleans are `true` and `false`. A decimal has as many
    digits after the point as its scale, and keeps digits beyond its precision, as Java does; one with more than 4,300
    is invalid. Where the schema has a decimal without a precision, or with a scale above it, the value stays bytes.
    Dates and times stay numbers, which the decorator `timestamp` parses (`epoch_ms`, `epoch_us`).
    A float is written with the fewest digits that identify it; values that are not finite are `nan`, `inf` or `-inf`,
    and null in an array. In the JSON of an array, bytes and text that are not UTF-8 are `{"b64": …}`.

    The given schema must be the one that the values were written with; `header` detects values of another schema. A
    value without a header fails only if it cannot be of this schema: also by an index that an enum or a union does not
    have, an int of more than 32 bits, or a boolean other than 0 and 1. What is not detected: a long of more than 64
    bits, a number with more bytes than it needs, and a wrong size of a block of an array or a map.

    If a topic has several versions, use a decorator for each, with a condition on the ID: `when:
    "%{substring(encode(body, 'hex'), 2, 8)} == '0000002a'"` holds for values with the ID 42. Avro container files,
    which include their schema, are not supported.

    With `numbers: auto` the types int and long are an int64, float and double a float64; a decimal stays text.

    Source: own design; the Avro specification, and the wire format of Confluent's serializers.
    """

    kind = "avro"
    examples = (
        Example(
            "a column for each field",
            settings="""{prefix: '2hb_app:', schema_text: '{"type": "record", "name": "Access", "fields": [
              {"name": "status", "type": "int"},
              {"name": "user", "type": {"type": "record", "name": "User", "fields": [
                {"name": "name", "type": ["null", "string"]}]}}]}'}""",
            body=b"\x90\x03\x02\x06ann",
            after={"2hb_app:status": "200", "2hb_app:user.name": "ann"},
        ),
        Example(
            "a number as HBase's tools write it",
            settings="""{numbers: auto, schema_text: '{"type": "record", "name": "A", "fields": [
              {"name": "status", "type": "int"}]}'}""",
            body=b"\xc8\x01",
            after={"status": "\0\0\0\0\0\0\0d"},
        ),
        Example(
            "with the header of a registry's serializer",
            settings="""{header: confluent, schema_ids: [7], schema_text: '{"type": "record", "name": "T", "fields": [
              {"name": "tags", "type": {"type": "array", "items": "string"}}]}'}""",
            body=b"\0\0\0\0\x07\x04\x02x\x02y\0",
            after={"tags": '["x","y"]'},
        ),
        Example(
            "a truncated value",
            settings="""{schema_text: '{"type": "record", "name": "A", "fields": [
              {"name": "a", "type": "string"}]}'}""",
            body=b"\x06an",
            error="bad_avro",
        ),
        Example(
            "a symbol that the enum does not have",
            settings="""{schema_text: '{"type": "record", "name": "A", "fields": [
              {"name": "a", "type": {"type": "enum", "name": "E", "symbols": ["on", "off"]}}]}'}""",
            body=b"\x01",
            error="bad_avro",
        ),
        Example(
            "the fingerprint of another schema",
            settings="""{header: single_object, schema_text: '{"type": "record", "name": "A", "fields": []}'}""",
            body=b"\xc3\x01\0\0\0\0\0\0\0\0",
            error="wrong_schema",
        ),
        Example(
            "a null with `on_null: error`",
            settings="""{on_null: error, schema_text: '{"type": "record", "name": "A", "fields": [
              {"name": "a", "type": ["null", "string"]}]}'}""",
            body=b"\0",
            error="null_value",
        ),
    )

    def __init__(self, settings: AvroSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._schema = _schema(settings)
        self._has_header = settings.header is not Header.NONE
        self._marker = _SINGLE_OBJECT + self._schema.fingerprint
        self._ids = None if settings.schema_ids is None else frozenset(settings.schema_ids)
        self._flattening = Flattening(settings, number_writer(settings.numbers, written), settings.on_null)

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        value = event.text_of(self._source, "to read a record from")
        if self._has_header:
            value = self._without_header(value)
        try:
            content = self._schema.read(value)
        except ValueError as error:
            raise BadAvroError(f"the value is not Avro of this schema: {error}") from error
        except RecursionError as error:
            raise TooDeepError("the record is nested too deep") from error
        event.update(self._flattening.attributes(content))
        return True

    def _without_header(self, value: bytes) -> bytes:
        if self.settings.header is Header.SINGLE_OBJECT:
            if value.startswith(self._marker):
                return value[len(self._marker) :]
            if value.startswith(_SINGLE_OBJECT):
                raise WrongSchemaError(f"the fingerprint {value[2:10].hex()} is not the schema's")
            raise BadAvroError("the value does not begin with the marker of single-object encoding")
        if value[:1] != b"\0" or len(value) < _CONFLUENT_BYTES:
            raise BadAvroError("the value does not begin with a zero byte and a schema ID")
        if self._ids is not None and (schema_id := int.from_bytes(value[1:_CONFLUENT_BYTES], "big")) not in self._ids:
            raise WrongSchemaError(f"the schema ID of the value is {schema_id}, which `schema_ids` does not list")
        return value[_CONFLUENT_BYTES:]


def _schema(settings: AvroSettings) -> AvroSchema:
    return AvroSchema(settings.schema_text or "" if settings.schema_file is None else settings.schema_file.content)
