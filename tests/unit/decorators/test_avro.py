"""The avro decorator."""

import io
import json
from decimal import Decimal

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from decorators.avro import Avro
from ingest.api import DecorateError
from ingest.api.notation import from_notation
from ingest.api.schemas import GivenSchemas, SchemaType, WriterSchema
from ingest.expressions import Condition
from ingest.testing.events import event_of, settings_of

NODE = {
    "type": "record",
    "name": "Node",
    "namespace": "a.b",
    "fields": [{"name": "v", "type": "int"}, {"name": "next", "type": ["null", "Node"]}],
}


def record(*fields, **more):
    return {"type": "record", "name": "R", "fields": [{"name": name, "type": kind} for name, kind in fields]} | more


def settings_with(schema, text="{}"):
    return "{" + ", ".join(filter(None, [text[1:-1], f"schema_text: {json.dumps(json.dumps(schema))}"])) + "}"


def avro(schema, content):
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), content)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("string", "größe", {"x": "größe".encode()}),
        ("bytes", b"\x00\xff", {"x": b"\x00\xff"}),
        ("int", -5, {"x": b"-5"}),
        ("long", 2**63 - 1, {"x": b"9223372036854775807"}),
        ("double", 0.1, {"x": b"0.1"}),
        ("float", 0.5, {"x": b"0.5"}),
        ("boolean", True, {"x": b"true"}),
        ("boolean", False, {"x": b"false"}),
        ("null", None, {}),
        (["null", "string"], None, {}),
        (["null", "string"], "", {"x": b""}),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", {"x": b"B"}),
        ({"type": "fixed", "name": "F", "size": 2}, b"\xff\x00", {"x": b"\xff\x00"}),
        ({"type": "map", "values": "int"}, {"a": 1, "b.c": 2}, {"x.a": b"1", "x.b.c": b"2"}),
        ({"type": "array", "items": "int"}, [1, 2], {"x": b"[1,2]"}),
        ({"type": "array", "items": ["null", "bytes"]}, [None, b"a", b"\xff"], {"x": b'[null,"a",{"b64":"/w=="}]'}),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("1.50"), {"x": b"1.50"}),
        ({"type": "bytes", "logicalType": "decimal", "precision": 20}, Decimal(10**19), {"x": b"1" + b"0" * 19}),
        (
            {"type": "array", "items": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 1}},
            [Decimal("0.5")],
            {"x": b"[0.5]"},
        ),
        ({"type": "int", "logicalType": "date"}, 19_000, {"x": b"19000"}),
        ({"type": "long", "logicalType": "timestamp-millis"}, 1308748686334, {"x": b"1308748686334"}),
        ({"type": "string", "logicalType": "uuid"}, "no uuid", {"x": b"no uuid"}),
        ({"type": "record", "name": "I", "fields": [{"name": "y", "type": "int"}]}, {"y": 1}, {"x.y": b"1"}),
    ],
)
def test_value_of_each_type_becomes_text(attributes_after, kind, value, expected):
    schema = record(("x", kind))
    # what has a logical type is written as what it is without
    is_decimal = "decimal" in json.dumps(kind)
    plain = schema if is_decimal else json.loads(json.dumps(schema).replace("logicalType", "was"))
    assert attributes_after(Avro, settings_with(schema), avro(plain, {"x": value})) == expected


def test_text_that_is_not_utf_8_keeps_its_bytes(attributes_after):
    assert attributes_after(Avro, settings_with(record(("x", "string"))), b"\x02\xff") == {"x": b"\xff"}


DECIMAL = {"logicalType": "decimal", "precision": 4, "scale": 2}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ({"type": "bytes"}, b"\x27\x0f", b"99.99"),
        ({"type": "bytes"}, b"\xd8\xf1", b"-99.99"),
        ({"type": "bytes"}, b"", b"0.00"),
        ({"type": "fixed", "name": "F", "size": 99}, bytes(98) + b"\x07", b"0.07"),
        ({"type": "fixed", "name": "F", "size": 99}, b"\xff" * 98 + b"\xf9", b"-0.07"),
    ],
)
def test_decimal_keeps_all_digits_of_its_precision(attributes_after, kind, value, expected):
    schema = record(("x", kind | DECIMAL))
    assert attributes_after(Avro, settings_with(schema), avro(record(("x", kind)), {"x": value})) == {"x": expected}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"\x30\x39", b"123.45"),
        (b"\x27\x10", b"100.00"),
        (b"\xd8\xf0", b"-100.00"),
        (b"\x01" + bytes(9), b"47223664828696452136.96"),
    ],
)
def test_decimal_of_more_digits_than_its_precision_keeps_them(attributes_after, value, expected):
    """As in Java; fastavro rounds it."""
    settings = settings_with(record(("x", {"type": "bytes"} | DECIMAL)))
    assert attributes_after(Avro, settings, avro(record(("x", "bytes")), {"x": value})) == {"x": expected}


@pytest.mark.parametrize(
    ("kind", "raw", "value", "expected"),
    [
        (DECIMAL | {"type": "bytes", "precision": 2}, "bytes", b"\x04\xd2", {"x": b"12.34"}),
        (DECIMAL | {"type": "bytes"}, "bytes", b"\xfe\x1d\xc0", {"x": b"-1234.56"}),
        (
            {"type": "array", "items": DECIMAL | {"type": "bytes", "precision": 3, "scale": 1}},
            {"type": "array", "items": "bytes"},
            [b"\x01\x86\x9f", b"\xff"],
            {"x": b"[9999.9,-0.1]"},
        ),
        (
            {"type": "map", "values": DECIMAL | {"type": "bytes", "precision": 3, "scale": 1}},
            {"type": "map", "values": "bytes"},
            {"a": b"\x01\x86\x9f"},
            {"x.a": b"9999.9"},
        ),
    ],
)
def test_decimals_of_producers_that_check_no_precision(attributes_after, kind, raw, value, expected):
    body = avro(record(("x", raw)), {"x": value})
    assert attributes_after(Avro, settings_with(record(("x", kind))), body) == expected


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "bytes"},
        {"type": "bytes", "precision": "x"},
        {"type": "bytes", "precision": 0},
        {"type": "bytes", "precision": True},
        {"type": "bytes", "precision": 2, "scale": 3},
        {"type": "bytes", "precision": 2, "scale": -1},
        {"type": "bytes", "precision": 2, "scale": "1"},
        {"type": "fixed", "name": "F", "size": 2, "precision": 5},
    ],
)
def test_decimal_that_the_specification_forbids_is_bytes(attributes_after, kind):
    """Avro 1.12, logical types: a reader ignores an invalid one, and uses the type below it."""
    raw = record(("x", {name: value for name, value in kind.items() if name in ("type", "name", "size")}))
    settings = settings_with(record(("x", kind | {"logicalType": "decimal"})))
    assert attributes_after(Avro, settings, avro(raw, {"x": b"\x04\xd2"})) == {"x": b"\x04\xd2"}


def test_fixed_decimal_may_fill_its_bytes(attributes_after):
    """Two bytes hold each number of four digits; five would not fit (Avro 1.12)."""
    kind = {"type": "fixed", "name": "F", "size": 2}
    settings = settings_with(record(("x", kind | DECIMAL)))
    assert attributes_after(Avro, settings, avro(record(("x", kind)), {"x": b"\x27\x0f"})) == {"x": b"99.99"}


@pytest.mark.parametrize("value", [b"\x01" + bytes(5000), b"\x80" + bytes(5000), b"\xff\x7f" + bytes(5000)])
def test_decimal_of_very_many_digits_fails(refusal_of, value):
    """Without the quadratic time of its conversion."""
    settings = settings_with(record(("x", {"type": "bytes"} | DECIMAL)))
    assert refusal_of(Avro, settings, avro(record(("x", "bytes")), {"x": value})) == "bad_avro"


def test_decimal_has_at_most_4300_digits_whatever_its_precision(attributes_after):
    settings = settings_with(record(("x", {"type": "bytes"} | DECIMAL | {"precision": 10_000})))
    longest = 10**4300 - 1
    value, larger = ((number).to_bytes(1800, "big") for number in (longest, longest + 1))
    text = {"x": b"9" * 4298 + b".99"}
    assert attributes_after(Avro, settings, avro(record(("x", "bytes")), {"x": value})) == text
    with pytest.raises(DecorateError, match="more than 4300 digits"):
        Avro(settings_of(Avro.settings_class(), settings)).decorate(
            event_of(avro(record(("x", "bytes")), {"x": larger}))
        )


def test_prefix_and_only(attributes_after):
    schema = record(("a", "int"), ("m", {"type": "map", "values": "int"}), ("l", {"type": "array", "items": "int"}))
    value = avro(schema, {"a": 1, "m": {"b": 2, "c": 3}, "l": [4, 5]})
    text = "{prefix: '2hb_f:', separator: _, only: [m_b, l_1], arrays: index}"
    assert attributes_after(Avro, settings_with(schema, text), value) == {"2hb_f:m_b": b"2", "2hb_f:l_1": b"5"}
    assert attributes_after(Avro, settings_with(schema, "{arrays: unset, only: [a, l]}"), value) == {"a": b"1"}
    assert attributes_after(Avro, settings_with(schema, "{only: [m]}"), value) == {"m.b": b"2", "m.c": b"3"}


def test_union_of_records(attributes_after):
    schemas = [record(("a", "int")), record(("b", "int"), name="S")]
    assert attributes_after(Avro, settings_with(schemas), b"\x02\x02") == {"b": b"1"}


@pytest.mark.parametrize(("on_null", "expected"), [("unset", {}), ("empty", {"x": b""})])
def test_null_follows_on_null(attributes_after, on_null, expected):
    settings = settings_with(record(("x", ["null", "int"])), f"{{on_null: {on_null}}}")
    assert attributes_after(Avro, settings, b"\0") == expected


def test_recursive_record_is_limited_in_depth(attributes_after, refusal_of):
    settings = settings_with(NODE)
    assert attributes_after(Avro, settings, b"\x02\x02\x04\0") == {"v": b"1", "next.v": b"2"}
    for depth in (150, 5_000, 500_000):
        assert refusal_of(Avro, settings, b"\x02\x02" * depth + b"\x02\0") == "too_deep"


ARRAYS = {
    "text": {"type": "array", "items": "string"},
    "maps": {"type": "array", "items": {"type": "map", "values": "string"}},
}


def test_text_in_an_array_that_is_not_utf_8_is_base64(attributes_after):
    texts = settings_with(record(("x", ARRAYS["text"])))
    assert attributes_after(Avro, texts, b"\x04\x02\xff\x04\xc3\xb6\0") == {"x": '[{"b64":"/w=="},"ö"]'.encode()}
    maps = settings_with(record(("x", ARRAYS["maps"])))
    assert attributes_after(Avro, maps, b"\x02\x02\x02k\x02\xff\0\0") == {"x": b'[{"k":{"b64":"/w=="}}]'}


def test_name_in_an_array_that_is_not_utf_8_fails(attributes_after, refusal_of):
    value = b"\x02\x02\x02\xff\x02v\0\0"
    schema = record(("x", ARRAYS["maps"]))
    assert refusal_of(Avro, settings_with(schema), value) == "bad_name"
    assert attributes_after(Avro, settings_with(schema, "{arrays: index}"), value) == {"x.0.\udcff": b"v"}


def test_number_beyond_64_bits_keeps_its_digits_in_an_array(attributes_after):
    node = {"name": "Node", "type": "record", "fields": [{"name": "v", "type": {"type": "array", "items": "long"}}]}
    node["fields"].append({"name": "next", "type": ["null", "Node"]})
    assert attributes_after(Avro, settings_with(node), b"\x02" + b"\x80" * 10 + b"\x01\0\0") == {"v": b"[%d]" % 2**69}


def test_header_is_checked_and_removed(attributes_after, refusal_of):
    schema = record(("x", "int"))
    single = settings_with(schema, "{header: single_object}")
    # the fingerprint of the schema's canonical form, worked out apart from the product's code
    canonical = b'{"name":"R","type":"record","fields":[{"name":"x","type":"int"}]}'
    marked = b"\xc3\x01" + fingerprint(canonical).to_bytes(8, "little")
    assert attributes_after(Avro, single, marked + b"\x02") == {"x": b"1"}
    assert refusal_of(Avro, single, marked[:-1] + b"\x02\x02") == "wrong_schema"
    assert refusal_of(Avro, single, b"\x02") == "bad_avro"
    confluent = settings_with(schema, "{header: confluent, schema_ids: [258]}")
    assert refusal_of(Avro, confluent, b"\x01\0\0\x01\x02\x02") == "bad_avro"
    assert refusal_of(Avro, confluent, b"\0\0\0\x01") == "bad_avro"
    known = settings_with(schema, "{header: confluent, schema_ids: [1, 258]}")
    assert attributes_after(Avro, known, b"\0\0\0\x01\x02\x02") == {"x": b"1"}
    assert refusal_of(Avro, known, b"\0\0\0\x01\x03\x02") == "wrong_schema"


def fingerprint(text):
    """CRC-64-AVRO bit by bit, as in the specification."""
    empty = crc = 0xC15D213AA4D7A795
    for byte in text:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (empty if crc & 1 else 0)
    return crc


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", b""),
        ("string", b"\x06ab"),
        ("string", b"\x01"),
        ("string", b"\x02ab"),
        ("long", b"\xff" * 20),
        ("double", b"1234"),
        (["null", "int"], b"\x08"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x08"),
        ({"type": "array", "items": "int"}, b"\xfe\xff\xff\xff\x0f\x02"),
    ],
)
def test_invalid_avro_fails(refusal_of, kind, value):
    assert refusal_of(Avro, settings_with(record(("x", kind))), value) == "bad_avro"


ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]}
INT = {"type": "int"}  # the same as "int", see "Primitive Types" of the specification
TOO_LARGE, TOO_SMALL = b"\x80\x80\x80\x80\x10", b"\x81\x80\x80\x80\x10"  # 2**31 and -2**31 - 1, zigzag-encoded
INT_LATER = {"type": "record", "name": "S", "fields": [{"name": "e", "type": "E"}, {"name": "n", "type": "int"}]}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        # the index of a symbol or a branch is zero-based, so it is not negative ("Enums", "Unions")
        (ENUM, b"\x01"),
        (ENUM, b"\x06"),
        (["null", "string"], b"\x01\x02a"),
        (["null", "string"], b"\x03"),
        (["null", "string"], b"\x04\x02a"),
        ({"type": "array", "items": ENUM}, b"\x02\x01\0"),
        ({"type": "map", "values": ["null", ENUM]}, b"\x02\x02k\x02\x01\0"),
        # a boolean is the byte 0 or 1 ("Binary encoding")
        *[(kind, before + bytes([byte]) + after) for byte in (2, 7, 255) for kind, before, after in (
            ("boolean", b"", b""),
            ({"type": "boolean"}, b"", b""),
            (["null", "boolean"], b"\x02", b""),
            ({"type": "array", "items": "boolean"}, b"\x02", b"\0"),
        )],
        # an int has 32 bits ("Primitive Types")
        *[(kind, before + number + after) for number in (TOO_LARGE, TOO_SMALL) for kind, before, after in (
            ("int", b"", b""),
            (INT, b"", b""),
            (["null", "int"], b"\x02", b""),
            (["int", "null"], b"\0", b""),
            (["string", INT], b"\x02", b""),
            ({"type": "array", "items": "int"}, b"\x02", b"\0"),
            ({"type": "map", "values": INT}, b"\x02\x02k", b"\0"),
            (record(("n", "int")) | {"name": "S"}, b"", b""),
            (record(("n", NODE)) | {"name": "S"}, b"", b"\0"),
        )],
    ],
)  # fmt: skip
def test_value_of_another_schema_fails(refusal_of, kind, value):
    assert refusal_of(Avro, settings_with(record(("x", kind))), value) == "bad_avro"


def test_index_of_a_type_that_is_named_only_is_checked(refusal_of):
    settings = settings_with([record(("e", ENUM)), INT_LATER])
    for value in (b"\x01\0", b"\x02\x01\0", b"\x02\0" + TOO_LARGE, b"\0\x01"):
        assert refusal_of(Avro, settings, value) == "bad_avro"


@pytest.mark.parametrize("kind", ["int", INT, ["null", "int"], {"type": "array", "items": "int"}])
@pytest.mark.parametrize("number", [-(2**31), -1, 0, 2**31 - 1])
def test_int_of_32_bits_is_read(attributes_after, kind, number):
    is_array = isinstance(kind, dict) and kind["type"] == "array"
    schema = record(("x", kind))
    value = avro(schema, {"x": [number] if is_array else number})
    assert attributes_after(Avro, settings_with(schema), value) == {"x": (b"[%d]" if is_array else b"%d") % number}


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(Avro, settings_with(record(("x", "int")), "{source: y}"), b"\x02") == "no_attribute"


def test_existing_attribute_fails_if_written_once(refusal_of):
    settings = settings_with(record(("x", "int")))
    assert refusal_of(Avro, settings, b"\x02", {"x": "old"}, write_once=True) == "attribute_exists"


@pytest.mark.parametrize(
    "schema",
    [
        "int",
        [],
        {},
        5,
        None,
        {"type": "map", "values": "int"},
        [record(), "null"],
        record(("x", "Unknown")),
        record(("x", {"type": "array", "items": "null"})),
        record(("x", {"type": "map", "values": {"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}})),
        record(("x", {"type": "array", "items": record(("y", "null"), name="I")})),
    ],
)
def test_invalid_schema_is_rejected(errors_of, schema):
    assert errors_of(Avro, settings_with(schema)) == [("wrong_type", ())]


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000])
def test_schema_that_is_not_json_is_rejected(errors_of, text):
    assert errors_of(Avro, f"{{schema_text: '{text}'}}") == [("wrong_type", ())]


def test_conflicting_options_are_rejected(errors_of):
    assert errors_of(Avro, "{}") == [("conflict", ())]
    assert errors_of(Avro, settings_with(record(), "{schema_ids: [1]}")) == [("conflict", ())]
    assert errors_of(Avro, settings_with(record(), "{header: confluent}")) == [("missing_field", ())]


FIELDS = {
    "s": st.text(),
    "b": st.binary(),
    "l": st.integers(-(2**63), 2**63 - 1),
    "d": st.floats(allow_nan=False),
    "t": st.booleans(),
    "o": st.none() | st.text(),
    "m": st.dictionaries(st.text(max_size=4), st.binary(max_size=4), max_size=3),
}
SCHEMA = record(
    ("s", "string"),
    ("b", "bytes"),
    ("l", "long"),
    ("d", "double"),
    ("t", "boolean"),
    ("o", ["null", "string"]),
    ("m", {"type": "map", "values": "bytes"}),
)


@given(st.fixed_dictionaries(FIELDS))
def test_round_trip(content):
    event = event_of(avro(SCHEMA, content))
    DECORATOR.decorate(event)
    expected = {
        "s": content["s"].encode(),
        "b": content["b"],
        "l": str(content["l"]).encode(),
        "d": repr(content["d"]).encode(),
        "t": b"true" if content["t"] else b"false",
    }
    if content["o"] is not None:
        expected["o"] = content["o"].encode()
    expected |= {f"m.{key}": value for key, value in content["m"].items()}
    assert event.attributes == expected


@given(st.lists(st.binary(max_size=4), max_size=4))
def test_array_of_texts_keeps_all_bytes(texts):
    event = event_of(avro(record(("x", {"type": "array", "items": "bytes"})), {"x": texts}))  # written as texts are
    TEXTS.decorate(event)
    assert [from_notation(text) for text in json.loads(event.attributes["x"])] == texts


@given(st.binary())
def test_any_bytes_parse_or_fail(value):
    for decorator in (DECORATOR, NODES):
        event = event_of(value)
        try:
            decorator.decorate(event)
        except DecorateError:
            assert event.attributes == {}


def made(schema):
    return Avro(Avro.settings_class().model_validate({"schema_text": json.dumps(schema)}))


DECORATOR = made(SCHEMA)
NODES = made(NODE)
TEXTS = made(record(("x", ARRAYS["text"])))


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("int", 7, "0000000000000007"),
        ("long", -(2**63), "8000000000000000"),
        ("double", 7.0, "401c000000000000"),
        ("float", 0.1, "3fb999999999999a"),
        ("double", float("-inf"), "fff0000000000000"),
        ("boolean", True, b"true".hex()),
        ({"type": "array", "items": "int"}, [1], b"[1]".hex()),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("1.50"), b"1.50".hex()),
    ],
)
def test_numbers_have_the_type_of_the_schema(attributes_after, kind, value, expected):
    schema = record(("x", kind))
    found = attributes_after(Avro, settings_with(schema, "{numbers: auto}"), avro(schema, {"x": value}))
    assert found["x"].hex() == expected


def nulls(count):
    return [(f"n{number}", "null") for number in range(count)]


def inner(*fields):
    return record(*fields) | {"name": "Inner"}


def with_field(item, kind):
    return item | {"fields": [*item["fields"], {"name": "more", "type": kind}]}


@pytest.mark.parametrize(
    "repeated",
    [
        lambda item: {"type": "array", "items": item},
        lambda item: {"type": "map", "values": item},
        lambda item: {"type": "array", "items": record(("y", ["null", item])) | {"name": "Between"}},
        lambda item: {"type": "array", "items": record(("y", item), ("z", "boolean")) | {"name": "Between"}},
        lambda item: (
            item | {"fields": [*item["fields"], {"name": "more", "type": {"type": "array", "items": "Inner"}}]}
        ),
        lambda item: item | {"fields": [*item["fields"], {"name": "more", "type": ["null", "Inner"]}]},
    ],
    ids=["array", "map", "union in an array", "record in an array", "array of itself", "itself"],
)
def test_what_is_repeated_has_at_most_16_fields_without_bytes(errors_of, repeated):
    """Each of them takes memory: with 40, a value of 200 KB took 163 MiB."""
    most, more = (record(("x", repeated(inner(*nulls(count), ("b", "boolean"))))) for count in (16, 17))
    Avro(settings_of(Avro.settings_class(), settings_with(most)))
    assert errors_of(Avro, settings_with(more)) == [("wrong_type", ())]


def test_a_record_that_is_not_repeated_may_have_many_fields_without_bytes(attributes_after):
    settings = settings_with(record(*nulls(99), ("x", inner(*nulls(99), ("b", "boolean")))))
    assert attributes_after(Avro, settings, b"\1") == {"x.b": b"true"}


def test_condition_on_the_id_of_the_schema():
    condition = Condition.parse("%{substring(encode(body, 'hex'), 2, 8)} == '0000002a'")
    assert " ".join((Avro.__doc__ or "").split()).count("%{substring(encode(body, 'hex'), 2, 8)} == '0000002a'") == 1
    assert condition.holds(event_of(b"\0\0\0\0\x2a\6ann"))
    assert not condition.holds(event_of(b"\0\0\0\0\x2b\6ann"))
    assert not condition.holds(event_of(b""))


def read_as(writer, reader, content, references=()):
    """The attributes of a value of the registry, read as another schema."""
    options = {"header": "confluent", "reader_schema_text": json.dumps(reader)}
    decorator = Avro(Avro.settings_class().model_validate(options))
    texts = tuple(json.dumps(each).encode() for each in references)
    decorator.use_schemas(GivenSchemas([WriterSchema(7, SchemaType.AVRO, json.dumps(writer).encode(), texts)]))
    event = event_of(b"\0\0\0\0\7" + content)
    assert decorator.decorate(event)
    return event.attributes


INNER = {"type": "record", "name": "I", "fields": [{"name": "k", "type": "bytes", "default": "\u00ff"}]}


@pytest.mark.parametrize(
    ("kind", "default", "expected"),
    [
        ("string", "a", {"x": b"a"}),
        ("bytes", "\u00ff\u0001", {"x": b"\xff\x01"}),
        ("double", 1, {"x": b"1.0"}),
        ("long", 5, {"x": b"5"}),
        ("boolean", True, {"x": b"true"}),
        (["null", "string"], None, {}),
        (["bytes", "null"], "\u0080", {"x": b"\x80"}),
        ({"type": "array", "items": "float"}, [1], {"x": b"[1.0]"}),
        ({"type": "map", "values": "bytes"}, {"k": "a"}, {"x.k": b"a"}),
        ({"type": "fixed", "name": "F", "size": 1}, "\u00fe", {"x": b"\xfe"}),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "\u0001\u0000", {"x": b"2.56"}),
        (INNER, {}, {"x.k": b"\xff"}),
        (INNER, {"k": "b"}, {"x.k": b"b"}),
    ],
)
def test_default_of_a_readers_field(kind, default, expected):
    reader = {"type": "record", "name": "R", "fields": [{"name": "x", "type": kind, "default": default}]}
    assert read_as(record(), reader, b"") == expected
    again = {"type": "record", "name": "R", "fields": [{"name": "i", "type": INNER, "default": {}}, *reader["fields"]]}
    if kind is INNER:
        again["fields"][1] = {"name": "x", "type": "I", "default": default}
    assert read_as(record(), again, b"") == {"i.k": b"\xff", **expected}


def test_fields_are_matched_and_promoted():
    writer = record(("id", "int"), ("f", "float"), ("gone", {"type": "map", "values": "int"}), ("n", ["null", "int"]))
    reader = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "ident", "aliases": ["id"], "type": "double"},
            {"name": "n", "type": ["string", "null", "long"]},
            {"name": "f", "type": "double"},
        ],
    }
    content = avro(writer, {"id": 3, "f": 0.1, "gone": {"a": 1}, "n": 4})
    assert read_as(writer, reader, content) == {"ident": b"3.0", "n": b"4", "f": b"0.1"}


def test_types_of_references_are_read_with_the_readers_schema():
    inner = {"type": "record", "name": "a.I", "fields": [{"name": "y", "type": "int"}]}
    reader = record(("x", {**inner, "fields": [{"name": "y", "type": "long"}]}))
    assert read_as(record(("x", "a.I")), reader, b"\x04", [inner]) == {"x.y": b"2"}


@pytest.mark.parametrize(
    ("writer", "reader", "content", "message"),
    [
        (record(("x", "string")), record(("x", "int")), b"\x02a", "cannot be read with the reader's schema"),
        (record(), record(("x", "int")), b"", "No default value for field x"),
        (record(("x", "string")), record(("x", "string")), b"\x06a", "it ends too early"),
        (record(("x", ["null", "int"])), record(("x", ["null", "int"])), b"\x01", "is not an index of the union"),
        (record(("x", "int")), record(("x", "long")), avro(record(("x", "long")), {"x": 2**40}), "32 bits"),
    ],
)
def test_value_that_the_readers_schema_cannot_have(writer, reader, content, message):
    with pytest.raises(DecorateError, match=message) as raised:
        read_as(writer, reader, content)
    assert raised.value.code == "bad_avro"


def test_recursive_schemas_are_resolved():
    reader = {**NODE, "fields": [*NODE["fields"], {"name": "w", "type": "string", "default": "d"}]}
    content = avro(NODE, {"v": 1, "next": {"v": 2, "next": None}})
    assert read_as(NODE, reader, content) == {"v": b"1", "w": b"d", "next.v": b"2", "next.w": b"d"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"header": "confluent", "reader_schema_text": "{"}, "reader_schema_text is not an Avro schema"),
        ({"header": "confluent", "reader_schema_text": '"int"'}, "it is not a record"),
        (
            {"schema_text": json.dumps(record()), "reader_schema_text": json.dumps(record())},
            "needs `header: confluent`",
        ),
    ],
)
def test_readers_schema_that_cannot_be_used(settings, message):
    with pytest.raises(ValidationError, match=message):
        Avro.settings_class().model_validate(settings)


@pytest.mark.parametrize(
    ("schema", "raw", "expected"),
    [
        ("string", b"\x02a", {"p.": b"a"}),
        ({"type": "long"}, b"\x04", {"p.": b"2"}),
        (["null", "int"], b"\x02\x04", {"p.": b"2"}),
        (["null", "int"], b"\x00", {}),
        ({"type": "map", "values": "int"}, b"\x02\x02k\x04\x00", {"p.k": b"2"}),
        ({"type": "array", "items": "int"}, b"\x02\x04\x00", {"p.": b"[2]"}),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x00", {"p.": b"A"}),
        (["null", record(("x", "int"))], b"\x02\x04", {"p.x": b"2"}),
    ],
)
def test_registered_value_that_is_no_record(schema, raw, expected):
    decorator = Avro(Avro.settings_class().model_validate({"header": "confluent", "prefix": "p."}))
    decorator.use_schemas(GivenSchemas([WriterSchema(7, SchemaType.AVRO, json.dumps(schema).encode())]))
    event = event_of(b"\0\0\0\0\7" + raw)
    assert decorator.decorate(event)
    assert event.attributes == expected


@pytest.mark.parametrize("raw", [b"", b"\x02", b"\x02ab", b"\x01"])
def test_registered_text_that_is_damaged(raw):
    decorator = Avro(Avro.settings_class().model_validate({"header": "confluent", "prefix": "p"}))
    decorator.use_schemas(GivenSchemas([WriterSchema(7, SchemaType.AVRO, b'"string"')]))
    with pytest.raises(DecorateError, match="not Avro of this schema"):
        decorator.decorate(event_of(b"\0\0\0\0\7" + raw))
