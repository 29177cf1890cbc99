"""
Decoding with the schemas of a registry, compared with a schema in the file: `python -m tests.bench.schemas`.

Prints for each decorator the ns per value with both, in turn, and the ratio of the rates.
"""

import io
import json
import statistics
import sys
from base64 import b64encode
from typing import Any

import fastavro
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from decorators.avro import Avro
from decorators.protobuf import Protobuf
from ingest.api import Batch, Event, TaskSpec, WriteCounts
from ingest.api.schemas import SchemaType, WriterSchema
from ingest.registry.message import KnownSchemas
from ingest.registry.table import SchemaTable
from tests.bench.timing import measured

_ID = 7
_HEADER = b"\0" + _ID.to_bytes(4, "big")
_RUNS = 9
_FIELDS = [f"c{number}" for number in range(9)]
_VALUES = {name: f"value-{number}" if number % 2 else number * 1_000 for number, name in enumerate(_FIELDS)}


def main() -> None:
    for name, given, registered, value in (_avro(), _protobuf()):
        static, by_id = [], []
        for _ in range(_RUNS):
            static.append(measured(given.decorate, lambda value=value: Event(value, {})))
            by_id.append(measured(registered.decorate, lambda value=value: Event(value, {})))
        ratio = statistics.median(each / other for each, other in zip(static, by_id, strict=True))
        line = f"{name}: {statistics.median(static):.0f} ns with a schema in the file, "
        sys.stdout.write(f"{line}{statistics.median(by_id):.0f} ns with the registry, {ratio:.2f} times the rate\n")


def _with_table(decorator: Any, schema: WriterSchema) -> Any:
    table = SchemaTable()
    table.begin(TaskSpec(Batch("1", 1, "1-0")), KnownSchemas({_ID: schema}).packed(), WriteCounts())
    decorator.use_schemas(table)
    return decorator


def _avro() -> tuple[str, Any, Any, bytes]:
    fields = [{"name": name, "type": "string" if number % 2 else "long"} for number, name in enumerate(_FIELDS)]
    schema = {"type": "record", "name": "Access", "fields": fields}
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), _VALUES)
    text = json.dumps(schema)
    options = {"header": "confluent", "prefix": "2hb_web:"}
    settings = Avro.settings_class()
    given = Avro(settings.model_validate({**options, "schema_text": text, "schema_ids": [_ID]}))
    registered = _with_table(Avro(settings.model_validate(options)), WriterSchema(_ID, SchemaType.AVRO, text.encode()))
    return "avro", given, registered, _HEADER + stream.getvalue()


def _protobuf() -> tuple[str, Any, Any, bytes]:
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="access.proto", syntax="proto3")
    message = file.message_type.add(name="Access")
    for number, name in enumerate(_FIELDS):
        kind = field.TYPE_STRING if number % 2 else field.TYPE_INT64
        message.field.add(name=name, number=number + 1, type=kind, label=field.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    value = message_factory.GetMessageClass(pool.FindMessageTypeByName("Access"))(**_VALUES).SerializeToString()
    content = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    options = {"header": "confluent", "prefix": "2hb_web:"}
    settings = Protobuf.settings_class()
    text = b64encode(content).decode()
    given = Protobuf(settings.model_validate({**options, "message": "Access", "descriptor_text": text}))
    registered = _with_table(
        Protobuf(settings.model_validate(options)), WriterSchema(_ID, SchemaType.PROTOBUF, content)
    )
    return "protobuf", given, registered, _HEADER + b"\0" + value


if __name__ == "__main__":
    main()
