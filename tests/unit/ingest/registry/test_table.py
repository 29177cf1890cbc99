"""The schemas in a task."""

import pytest

from ingest.api import Batch, SinkResult, TaskSpec, WriteCounts
from ingest.api.schemas import MissingSchemaError, SchemaType, UnknownSchemaError, WriterSchema
from ingest.registry.message import KnownSchemas, ids_of
from ingest.registry.table import MAX_REQUESTED, SchemaTable

SCHEMA = WriterSchema(7, SchemaType.AVRO, b"A")


def begun(table, known):
    table.begin(TaskSpec(Batch("1", 1, "1-0")), known.packed(), WriteCounts())
    return table


def test_missing_schemas_are_requested():
    table = begun(SchemaTable(), KnownSchemas({7: SCHEMA}))
    assert table.of(7) == SCHEMA
    assert table.request() == SinkResult()
    for schema_id in (9, 8, 9):
        with pytest.raises(MissingSchemaError):
            table.of(schema_id)
    assert table.request().run_again
    assert ids_of([table.request().payload]) == [8, 9]
    assert begun(table, KnownSchemas()).request() == SinkResult()
    with pytest.raises(MissingSchemaError):
        table.of(7)


def test_refused_schemas_are_not_requested():
    table = begun(SchemaTable(), KnownSchemas(refused={7: ("unknown_schema", "none")}))
    with pytest.raises(UnknownSchemaError, match="none"):
        table.of(7)
    with pytest.raises(UnknownSchemaError, match="more than 31 bits"):
        table.of(2**31)
    assert table.request() == SinkResult()


def test_requests_are_bounded():
    table = begun(SchemaTable(), KnownSchemas())
    for schema_id in range(MAX_REQUESTED + 5):
        with pytest.raises(MissingSchemaError):
            table.of(schema_id)
    assert len(ids_of([table.request().payload])) == MAX_REQUESTED
