"""The flume_avro decorator."""

import io

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.flume_avro import FlumeAvro
from ingest.api import Decoding, EventError, Format, Priority, Record
from ingest.sources.decoding import Decoder
from ingest.testing.events import event_of, settings_of

SCHEMA = fastavro.parse_schema(
    {
        "type": "record",
        "name": "AvroFlumeEvent",
        "fields": [
            {"name": "headers", "type": {"type": "map", "values": "string"}},
            {"name": "body", "type": "bytes"},
        ],
    }
)


def avro(headers, body):
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, SCHEMA, {"headers": headers, "body": body})
    return stream.getvalue()


def test_headers_and_body():
    event = event_of(avro({"host": "h", "priority": "warn", "nanos": "-7", "x": "größe"}, b"\x00\xff"), {"x": "old"})
    assert FlumeAvro(settings_of(FlumeAvro.settings_class())).decorate(event) is True
    assert (event.body, event.attributes) == (b"\x00\xff", {"x": "größe".encode()})
    assert (event.host, event.priority, event.nanos) == ("h", Priority.WARN, -7)


def test_absent_core_headers_keep_the_fields():
    event = event_of(avro({}, b"b"), host="h", priority=Priority.ERROR, nanos=5)
    FlumeAvro(settings_of(FlumeAvro.settings_class())).decorate(event)
    assert (event.body, event.host, event.priority, event.nanos) == (b"b", "h", Priority.ERROR, 5)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"", "bad_avro"),
        (b"\0", "bad_avro"),
        (b"\x02\x02a", "bad_avro"),
        (avro({}, b"b") + b"x", "bad_avro"),
        (avro({"x": "1", "priority": "LOW"}, b""), "bad_header"),
        (avro({"host": "h", "nanos": "x"}, b""), "bad_header"),
    ],
)
def test_invalid_event_fails(refusal_of, value, code):
    assert refusal_of(FlumeAvro, "{}", value) == code


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(FlumeAvro, "{source: x}", avro({}, b"")) == "no_attribute"


def test_existing_attribute_fails_if_written_once(refusal_of):
    value = avro({"host": "h", "x": "1"}, b"new")
    assert refusal_of(FlumeAvro, "{}", value, {"x": "old"}, write_once=True) == "attribute_exists"


NAMES = st.text() | st.sampled_from(["host", "priority", "nanos"])


@given(st.binary() | st.builds(avro, st.dictionaries(NAMES, st.text() | st.sampled_from(["INFO", "7"])), st.binary()))
def test_equals_the_source_format(value):
    record = Record("topic", 0, 0, b"", value, 0)
    event = Decoder().decode(record)
    assert outcome(lambda: decorated(event)) == outcome(lambda: Decoder(Decoding(Format.FLUME_AVRO)).decode(record))


def decorated(event):
    FlumeAvro(settings_of(FlumeAvro.settings_class())).decorate(event)
    return event


def outcome(call):
    try:
        return call()
    except EventError as error:
        return error.code
