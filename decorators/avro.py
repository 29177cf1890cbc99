"""Parse an Avro record into attributes."""

from collections.abc import Callable
from enum import StrEnum
from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, SmallFile, option
from ingest.api.event_errors import BadAvroError, TooDeepError
from ingest.api.schemas import Schemas, SchemaType, WriterSchema
from ingest.decorating.registered import ParsedSchemas
from ingest.formats.avro import AvroSchema, ReaderSchema
from ingest.formats.confluent import HEADER_BYTES, schema_id_of
from ingest.formats.nested import Flattening, NestedSettings, OnNull, written
from ingest.formats.number_types import number_writer

_SINGLE_OBJECT = b"\xc3\x01"
_STATUS = '{"type": "record", "name": "Access", "fields": [{"name": "status", "type": "int"}]}'


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
        "and sent to the workers. With `header: confluent` and no schema, the registry of the file has the schemas.",
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
        "IDs of the given schema in the registry, required for `header: confluent` with a schema; values with another "
        "ID fail.",
        default=None,
        example=[42],
        min_length=1,
    )
    reader_schema_file: SmallFile | None = option(
        "File with the schema as which values of the registry are read (.avsc): its fields, by name or alias, with its "
        "defaults; fields that it does not have set nothing.",
        default=None,
        example="reader.avsc",
    )
    reader_schema_text: str | None = option("The schema itself, instead of a file.", default=None)
    on_null: OnNull = option(
        "A null sets nothing (`unset`), an `empty` value, or fails the event (`error`).", default="unset", strict=False
    )

    @model_validator(mode="after")
    def _valid_schema(self) -> Self:
        name = "schema_text" if self.schema_file is None else "schema_file"
        self._check_reader()
        if self.uses_registry:
            if self.schema_ids is not None:
                raise PydanticCustomError(
                    "missing_field", "`schema_ids` needs the schema that has these IDs", {"option": "schema_ids"}
                )
            return self
        if (self.schema_file is None) is (self.schema_text is None):
            raise PydanticCustomError(
                "conflict",
                "avro needs either `schema_file` or `schema_text`, or `header: confluent` with the registry's schemas",
            )
        if self.schema_ids is not None and self.header is not Header.CONFLUENT:
            raise PydanticCustomError(
                "conflict",
                "`schema_ids` needs `header: confluent`: other values have no schema ID",
                {"option": "schema_ids"},
            )
        if self.schema_ids is None and self.header is Header.CONFLUENT:
            raise PydanticCustomError(
                "missing_field",
                "`header: confluent` with a schema needs `schema_ids`: a value of another schema would be read into "
                "wrong fields; list the IDs of this schema in the registry, or leave out the schema",
                {"option": "header"},
            )
        try:
            _schema(self)
        except ValueError as error:
            raise PydanticCustomError(
                "wrong_type", "{option} is not an Avro schema: {error}", {"option": name, "error": str(error)}
            ) from error
        return self

    def _check_reader(self) -> None:
        if self.reader_schema_file is not None and self.reader_schema_text is not None:
            raise PydanticCustomError("conflict", "write `reader_schema_file` or `reader_schema_text`, not both")
        name = "reader_schema_text" if self.reader_schema_file is None else "reader_schema_file"
        try:
            reader = _reader(self)
        except ValueError as error:
            raise PydanticCustomError(
                "wrong_type", "{option} is not an Avro schema: {error}", {"option": name, "error": str(error)}
            ) from error
        if reader is not None and not self.uses_registry:
            raise PydanticCustomError(
                "conflict",
                "`{option}` needs `header: confluent` without a schema, with the registry's schemas",
                {"option": name},
            )

    @property
    def uses_registry(self) -> bool:
        """Whether the registry has the schemas."""
        return self.header is Header.CONFLUENT and self.schema_file is None and self.schema_text is None


class Avro(Decorator[AvroSettings]):
    """
    Set an attribute for each field of an Avro record; nested records and maps get dotted names.

    Text is UTF-8; an enum is its symbol; bytes are unchanged; booleans are `true` and `false`. A decimal has as many
    digits after the point as its scale, and keeps digits beyond its precision, as Java does; one with more than 4,300
    is invalid. Where the schema has a decimal without a precision, or with a scale above it, the value stays bytes.
    Dates and times stay numbers, which the decorator `timestamp` parses (`epoch_ms`, `epoch_us`).
    A float is written with the fewest digits that identify it; values that are not finite are `nan`, `inf` or `-inf`,
    and null in an array. In the JSON of an array, bytes and text that are not UTF-8 are `{"b64": …}`.

    A given schema must be the one that the values were written with; `header` detects values of another schema. A
    value without a header fails only if it cannot be of this schema: also by an index that an enum or a union does not
    have, an int of more than 32 bits, or a boolean other than 0 and 1. What is not detected: a long of more than 64
    bits, a number with more bytes than it needs, and a wrong size of a block of an array or a map.

    With `header: confluent` and no schema, each value is read with the schema whose ID is before it, which the
    `registry` of the file has. So a topic may have values of any number of schemas and versions, and a new version
    needs no change of the pipeline. Keys are values too: `value: {attribute: k, value: '%{key}'}` makes an attribute of
    the key, and `source: k` reads it. A value that is no record, such as a key of the type string, sets the attribute
    whose name is `prefix`. With `reader_schema_file` all versions give the same attributes: by Avro's rules
    fields have the names, the defaults and the wider types of the reader's schema; a value that cannot be read so
    fails. Each value is then read twice.

    Without a registry, use a decorator for each version, with a condition on the ID: `when:
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
            "the schema of the registry",
            settings="{header: confluent, prefix: '2hb_app:'}",
            schemas=(WriterSchema(7, SchemaType.AVRO, _STATUS.encode()),),
            body=b"\0\0\0\0\x07\x90\x03",
            after={"2hb_app:status": "200"},
        ),
        Example(
            "a key that is a text, as the attribute `id`",
            settings="{header: confluent, source: k, prefix: id}",
            attributes={"k": b"\0\0\0\0\x07\x06ann"},
            schemas=(WriterSchema(7, SchemaType.AVRO, b'"string"'),),
            after={"id": "ann"},
        ),
        Example(
            "a reader's schema, with an alias and a default",
            settings="""{header: confluent, reader_schema_text: '{"type": "record", "name": "Access", "fields": [
              {"name": "code", "aliases": ["status"], "type": "long"},
              {"name": "user", "type": "string", "default": "-"}]}'}""",
            schemas=(WriterSchema(7, SchemaType.AVRO, _STATUS.encode()),),
            body=b"\0\0\0\0\x07\x90\x03",
            after={"code": "200", "user": "-"},
        ),
        Example(
            "an ID that the registry does not have",
            settings="{header: confluent}",
            schemas=(WriterSchema(7, SchemaType.AVRO, _STATUS.encode()),),
            body=b"\0\0\0\0\x08\x90\x03",
            error="unknown_schema",
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
        reader = _reader(settings)
        self._by_id = ParsedSchemas(
            SchemaType.AVRO, lambda schema: AvroSchema(schema.content, schema.references, reader, any_type=True)
        )
        self._flattening = Flattening(settings, number_writer(settings.numbers, written), settings.on_null)
        self._split: Callable[[bytes], tuple[AvroSchema, bytes]]
        if settings.uses_registry:
            self._split = self._by_registry
            return
        self._schema = _schema(settings)
        self._marker = _SINGLE_OBJECT + self._schema.fingerprint
        self._ids = frozenset(settings.schema_ids or ())
        by_header = {Header.SINGLE_OBJECT: self._single_object, Header.CONFLUENT: self._confluent}
        self._split = by_header.get(settings.header, self._without_header)

    def use_schemas(self, schemas: Schemas) -> None:
        """Read the schemas of the registry from here."""
        self._by_id.use(schemas)

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        schema, value = self._split(event.text_of(self._source, "to read a record from"))
        try:
            content = schema.read(value)
        except ValueError as error:
            raise BadAvroError(f"the value is not Avro of this schema: {error}") from error
        except RecursionError as error:
            raise TooDeepError("the record is nested too deep") from error
        event.update(self._flattening.attributes(content))
        return True

    def _without_header(self, value: bytes) -> tuple[AvroSchema, bytes]:
        return self._schema, value

    def _single_object(self, value: bytes) -> tuple[AvroSchema, bytes]:
        if value.startswith(self._marker):
            return self._schema, value[len(self._marker) :]
        if value.startswith(_SINGLE_OBJECT):
            raise WrongSchemaError(f"the fingerprint {value[2:10].hex()} is not the schema's")
        raise BadAvroError("the value does not begin with the marker of single-object encoding")

    def _confluent(self, value: bytes) -> tuple[AvroSchema, bytes]:
        schema_id = _id_of(value)
        if schema_id not in self._ids:
            raise WrongSchemaError(f"the schema ID of the value is {schema_id}, which `schema_ids` does not list")
        return self._schema, value[HEADER_BYTES:]

    def _by_registry(self, value: bytes) -> tuple[AvroSchema, bytes]:
        return self._by_id.of(_id_of(value)), value[HEADER_BYTES:]


def _id_of(value: bytes) -> int:
    try:
        return schema_id_of(value)
    except ValueError as error:
        raise BadAvroError(str(error)) from error


def _reader(settings: AvroSettings) -> ReaderSchema | None:
    file = settings.reader_schema_file
    text = settings.reader_schema_text if file is None else file.content
    return None if text is None else ReaderSchema(text)


def _schema(settings: AvroSettings) -> AvroSchema:
    return AvroSchema(settings.schema_text or "" if settings.schema_file is None else settings.schema_file.content)
