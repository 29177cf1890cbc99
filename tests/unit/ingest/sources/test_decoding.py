"""Decoding of records: core fields from headers, formats, tombstones, limits."""

import base64
import io
import json
import pickle

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import (
    DecodeError,
    Decoding,
    DecorateError,
    Encoding,
    Event,
    Format,
    Origin,
    Priority,
    Record,
    RepeatedHeaders,
    Tombstones,
    UnreadError,
    WriteOnceEvent,
    nanos_of,
)
from ingest.sources.decoding import Decoder
from ingest.sources.kafka import KafkaSourceSettings
from ingest.sources.unread import unread_record

AVRO = {
    "type": "record",
    "name": "AvroFlumeEvent",
    "fields": [{"name": "headers", "type": {"type": "map", "values": "string"}}, {"name": "body", "type": "bytes"}],
}


def record(value=b"body", *, key=b"k", headers=(), timestamp_ms=1308748686334, partition=0, offset=7):
    return Record("ticks", partition, offset, key, value, timestamp_ms, headers)


def avro(headers, body):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, AVRO, {"headers": headers, "body": body})
    return out.getvalue()


KINDS = {
    "format": Format,
    "tombstones": Tombstones,
    "on_repeated_header": RepeatedHeaders,
    "encoding": Encoding,
}


def decoder(existing="replace", **options):
    return Decoder(Decoding(**{name: KINDS.get(name, type(value))(value) for name, value in options.items()}), existing)


class TestUnread:
    @given(st.text(), st.none() | st.integers(0, 2**63 - 1), st.booleans(), st.sampled_from(["unread", "damaged_file"]))
    def test_error_of_the_reader_arrives(self, message, end, is_certain, code):
        sent = unread_record(("/a.gz", 0, 7), 5, UnreadError(message, end=end, is_certain=is_certain, code=code))
        assert (sent.place, sent.value, sent.timestamp_ms) == (("/a.gz", 0, 7), None, 5)
        with pytest.raises(UnreadError) as caught:
            decoder(has_unread=True).decode(sent)
        error = caught.value
        assert (error.message, error.end, error.is_certain, error.code) == (message, end, is_certain, code)

    @pytest.mark.parametrize(("has_unread", "headers"), [(False, (("unread", b"{}"),)), (True, ())])
    def test_other_records_without_a_value_are_tombstones(self, has_unread, headers):
        assert decoder(has_unread=has_unread).decode(record(None, headers=headers)) == "tombstone"


class TestRaw:
    def test_record_without_headers_gets_defaults(self):
        expected = Event(
            b"body",
            {},
            1308748686334,
            1308748686334000700,
            "",
            Priority.INFO,
            b"k",
            Origin("ticks", 0, 7),
        )
        assert decoder().decode(record()) == expected

    @pytest.mark.parametrize(("partition", "offset"), [(0, 0), (3, 9_999), (99, 10_000), (101, 123_456_789)])
    def test_nanos_equal_nanos_of(self, partition, offset):
        event = decoder().decode(record(partition=partition, offset=offset))
        assert event.nanos == nanos_of(1308748686334, partition, offset)

    def test_core_fields_come_from_headers(self):
        headers = [("host", b"h1"), ("priority", b"WARN"), ("nanos", b"-12"), ("x", b"\xff")]
        event = decoder().decode(record(headers=headers))
        assert (event.host, event.priority, event.nanos, event.attributes) == ("h1", Priority.WARN, -12, {"x": b"\xff"})

    def test_priority_in_lower_case(self):
        assert decoder().decode(record(headers=[("priority", b"debug")])).priority is Priority.DEBUG

    def test_host_of_any_bytes(self):
        assert decoder().decode(record(headers=[("host", b"\xff")])).host == "\udcff"

    def test_last_of_repeated_headers_counts(self):
        headers = [("x", b"1"), ("host", b"a"), ("x", b"2"), ("host", b"b")]
        event = decoder().decode(record(headers=headers))
        assert (event.host, event.attributes) == ("b", {"x": b"2"})

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({"on_repeated_header": "first"}, b"1"),
            ({"on_repeated_header": "last"}, b"3"),
            ({"on_repeated_header": "join"}, b"1,,3"),
            ({"on_repeated_header": "join", "header_separator": "; "}, b"1; ; 3"),
        ],
    )
    def test_repeated_headers_follow_the_option(self, options, expected):
        headers = [("x", b"1"), ("host", b"a"), ("y", b"9"), ("x", None), ("host", b"b"), ("x", b"3")]
        event = decoder(**options).decode(record(headers=headers))
        assert (event.host, event.attributes) == ("b", {"x": expected, "y": b"9"})

    @pytest.mark.parametrize(
        ("option", "headers", "expected"),
        [
            ("join", [("newrelic", b"a"), ("traceparent", b"0"), ("newrelic", b"b")], {"newrelic": b"a,b"}),
            ("join", [("first", b"1,2,3,4"), ("second", b"v1"), ("second", b"v2")], {"first": b"1,2,3,4"}),
            ("join", [("X-Tag", b"1"), ("x-tag", b"2")], {"X-Tag": b"1", "x-tag": b"2"}),
            ("first", [("x-tag", b"tag1"), ("x-tag", b"tag2"), ("other", b"o")], {"x-tag": b"tag1", "other": b"o"}),
            ("last", [("x-tag", b"tag1"), ("x-tag", b"tag2"), ("other", b"o")], {"x-tag": b"tag2", "other": b"o"}),
        ],
    )
    def test_headers_that_other_clients_have_lost(self, option, headers, expected):
        """KIP-82: names may repeat and have an order; those of agents and of headers that override others do."""
        found = decoder(on_repeated_header=option).decode(record(headers=headers)).attributes
        assert {name: found[name] for name in expected} == expected

    @pytest.mark.parametrize(
        ("names", "host", "expected"),
        [(None, "a", {"x": b"1", "y": b"2"}), (["y", "z"], "", {"y": b"2"}), (["host"], "a", {}), ([], "", {})],
    )
    def test_only_named_headers_are_read(self, names, host, expected):
        settings = KafkaSourceSettings(brokers="localhost:9092", topics=["t"], group="g", headers=names)
        event = Decoder(settings.decoding).decode(record(headers=[("x", b"1"), ("host", b"a"), ("y", b"2")]))
        assert (event.host, event.attributes) == (host, expected)

    def test_headers_that_are_not_read_do_not_count(self):
        headers = [("x", b"1" * (1 << 20)), ("y", b"2")]
        with pytest.raises(DecodeError, match="the key and the headers"):
            decoder().decode(record(headers=headers))
        assert decoder(headers=frozenset("y")).decode(record(headers=headers)).attributes == {"y": b"2"}

    def test_null_header_is_empty(self):
        assert decoder().decode(record(headers=[("x", None)])).attributes == {"x": b""}

    def test_missing_key_is_empty(self):
        assert decoder().decode(record(key=None)).key == b""

    @pytest.mark.parametrize(
        "header",
        [
            ("priority", b"LOUD"),
            ("priority", b""),
            ("nanos", b""),
            ("nanos", b"-"),
            ("nanos", b"1.5"),
            ("nanos", b"1_0"),
            ("nanos", b"9223372036854775808"),
            ("nanos", b"9" * 5000),
        ],
        ids=lambda header: f"{header[0]}={header[1][:20]!r}",
    )
    def test_invalid_core_header_is_an_error(self, header):
        with pytest.raises(DecodeError) as caught:
            decoder().decode(record(headers=[header]))
        assert caught.value.code == "bad_header"

    def test_nanos_of_63_bits_are_decoded(self):
        event = decoder().decode(record(headers=[("nanos", b"9223372036854775807")]))
        assert event.nanos == 2**63 - 1


class TestEncoding:
    @pytest.mark.parametrize("encoding", ["utf-16le", "utf-16be"])
    def test_value_becomes_utf8(self, encoding):
        text = "é\U0001f600\u0a0a"
        assert decoder(encoding=encoding).decode(record(text.encode(encoding))).body == text.encode()
        envelope = '{"body": "é"}'.encode(encoding)
        assert decoder(encoding=encoding, format="json").decode(record(envelope)).body == "é".encode()

    @pytest.mark.parametrize("value", [b"a", b"\x00\xd8", b"a\x00b"])
    def test_value_in_another_encoding_is_an_error(self, value):
        with pytest.raises(DecodeError, match="is not utf-16le") as caught:
            decoder(encoding="utf-16le").decode(record(value))
        assert caught.value.code == "bad_encoding"


class TestLimits:
    def test_value_of_the_limit_passes(self):
        assert decoder(max_event_bytes=4).decode(record(b"1234")).body == b"1234"

    def test_value_over_the_limit_is_an_error(self):
        with pytest.raises(DecodeError) as caught:
            decoder(max_event_bytes=4).decode(record(b"12345"))
        assert caught.value.code == "too_large"

    @pytest.mark.parametrize("value", [b"", None])
    def test_large_key_and_headers_together_fail_the_record(self, monkeypatch, value):
        monkeypatch.setattr("ingest.sources.decoding.DEFAULT_EVENT_BYTES", 20)
        small = decoder(max_event_bytes=4, tombstones="delete")
        headers = (("name", b"12345"), ("name", b"6789"), ("n", None))
        assert small.decode(record(value, key=b"12", headers=headers)).attributes["name"] == b"6789"
        for key, more in [(b"123", ()), (None, (("n", b"12"),))]:
            with pytest.raises(DecodeError, match=r"^the key and the headers have 21 bytes; the limit is 20") as caught:
                small.decode(record(value, key=key, headers=headers + more))
            assert caught.value.code == "too_large"
        larger = decoder(max_event_bytes=30, tombstones="delete")
        assert larger.decode(record(value, key=b"x" * 12, headers=headers)).key == b"x" * 12


class TestTombstones:
    def test_drop_returns_the_reason(self):
        assert decoder().decode(record(None)) == "tombstone"

    def test_tombstone_fails_with_the_option_error(self):
        with pytest.raises(DecodeError) as caught:
            decoder(tombstones="error").decode(record(None))
        assert caught.value.code == "tombstone"

    @pytest.mark.parametrize("name", ["raw", "json", "flume_avro"])
    def test_delete_gives_an_event_with_an_empty_body(self, name):
        event = decoder(tombstones="delete", format=name).decode(record(None, headers=[("x", b"1")]))
        assert (event.body, event.tombstone, event.attributes) == (b"", True, {"x": b"1"})

    @pytest.mark.parametrize("name", ["raw", "json", "flume_avro"])
    def test_keep_gives_an_event_that_deletes_nothing(self, name):
        event = decoder(tombstones="keep", format=name).decode(record(None, headers=[("x", b"1")]))
        assert (event.body, event.tombstone, event.attributes) == (b"", False, {"x": b"1"})

    def test_empty_value_is_not_a_tombstone(self):
        event = decoder(tombstones="delete").decode(record(b""))
        assert (event.body, event.tombstone) == (b"", False)


class TestWriteOnce:
    def test_attributes_can_be_replaced_by_default(self):
        event = decoder().decode(record(headers=[("x", b"1")]))
        event.set("x", b"2")
        assert event.attributes == {"x": b"2"}

    def test_write_once_event_rejects_a_second_value(self):
        event = decoder(existing="error").decode(record(headers=[("x", b"1"), ("x", b"2")]))
        assert isinstance(event, WriteOnceEvent)
        with pytest.raises(DecorateError):
            event.set("x", b"3")


class TestJson:
    def decode(self, content, headers=()):
        return decoder(format="json").decode(record(json.dumps(content).encode(), headers=headers))

    def test_body_and_headers(self):
        content = {
            "body": "größe",
            "headers": {"host": "h", "n": 12, "f": 1.5, "t": True, "none": None, "b": {"b64": "/w=="}},
        }
        event = self.decode(content)
        attributes = {"n": b"12", "f": b"1.5", "t": b"true", "none": b"", "b": b"\xff"}
        assert (event.body, event.host, event.attributes) == ("größe".encode(), "h", attributes)

    @pytest.mark.parametrize("more", ["", ', "large": 1e400'])
    def test_numbers_keep_their_digits(self, more):
        numbers = {"id": "123456789012345678901", "p": "1.50", "z": "-0", "n": "7", "nanos": "-12"}
        headers = ", ".join(f'"{name}": {number}' for name, number in numbers.items())
        event = decoder(format="json").decode(record(f'{{"body": "b-0", "headers": {{{headers}{more}}}}}'.encode()))
        assert event.nanos == int(numbers.pop("nanos"))
        event.attributes.pop("large", None)
        assert (event.body, event.attributes) == (b"b-0", {name: text.encode() for name, text in numbers.items()})

    @given(st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True), st.text())
    def test_any_number_keeps_its_digits(self, number, body):
        value = f'{{"headers": {{"n": {number}}}, "body": {json.dumps(body)}}}'.encode()
        assert decoder(format="json").decode(record(value)).attributes == {"n": number.encode()}

    def test_body_and_headers_are_optional(self):
        event = self.decode({})
        assert (event.body, event.attributes) == (b"", {})

    def test_body_of_any_bytes(self):
        assert self.decode({"body": {"b64": base64.b64encode(b"\x00\xff").decode()}}).body == b"\x00\xff"

    def test_headers_of_the_envelope_override_those_of_the_record(self):
        event = self.decode({"headers": {"x": "inner", "host": "in"}}, headers=[("x", b"outer"), ("host", b"out")])
        assert (event.attributes, event.host) == ({"x": b"inner"}, "in")

    @pytest.mark.parametrize(
        ("value", "code"),
        [
            (b"{", "bad_json"),
            (b"\xff", "bad_json"),
            (b"[]", "bad_envelope"),
            (b'{"level": "info"}', "bad_envelope"),
            (b'{"headers": []}', "bad_envelope"),
            (b'{"headers": {"a": []}}', "bad_notation"),
            (b'{"body": 1}', "bad_notation"),
            (b'{"body": {"b64": "?"}}', "bad_notation"),
            (b'{"body": {"b64": "\xc3\xa9"}}', "bad_notation"),
            (b'{"body": 1e400}', "bad_notation"),
            (b'{"headers": {"a": 1.50, "b": {"b64": 1234}}}', "bad_notation"),
            (b'{"headers": {"a": 1e400, "b": {"b64": 1234}}}', "bad_notation"),
            (b'{"body": ' + b"[" * 1000 + b"]" * 1000 + b"}", "bad_notation"),
            (b'{"headers": {"a": 1e400, "b": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}", "too_deep"),
        ],
        ids=lambda given: str(given)[:50],
    )
    def test_invalid_envelopes_are_errors(self, value, code):
        with pytest.raises(DecodeError) as caught:
            decoder(format="json").decode(record(value))
        assert caught.value.code == code


class TestFlumeAvro:
    def test_headers_and_body(self):
        value = avro({"host": "h", "timestamp": "12"}, b"\x00\xff")
        event = decoder(format="flume_avro").decode(record(value, headers=[("host", b"outer")]))
        assert (event.body, event.host, event.attributes) == (b"\x00\xff", "h", {"timestamp": b"12"})

    @given(st.dictionaries(st.text(), st.text()), st.binary())
    def test_written_events_are_read_back(self, headers, body):
        event = decoder(format="flume_avro").decode(record(avro({f"a{name}": v for name, v in headers.items()}, body)))
        expected = {f"a{name}": value.encode() for name, value in headers.items()}
        assert (event.body, event.attributes) == (body, expected)

    def test_headers_that_are_not_utf8_keep_their_bytes(self):
        value = b"\x02\x02\xff\x02\xfe\x00\x00"  # one pair of one-byte strings, end of the map, empty body
        assert decoder(format="flume_avro").decode(record(value)).attributes == {"\udcff": b"\xfe"}

    def test_trailing_bytes_are_an_error(self):
        with pytest.raises(DecodeError) as caught:
            decoder(format="flume_avro").decode(record(avro({}, b"") + b"x"))
        assert caught.value.code == "bad_avro"


@given(
    st.sampled_from(["raw", "json", "flume_avro"]),
    st.binary(),
    st.binary(),
    st.lists(st.tuples(st.sampled_from(["host", "priority", "nanos", "x", ""]), st.none() | st.binary())),
)
def test_any_record_is_an_event_or_an_error(name, key, value, headers):
    try:
        event = decoder(format=name).decode(record(value, key=key, headers=headers))
    except DecodeError:
        return
    assert isinstance(event, Event)


def test_decoder_can_be_pickled():
    copy = pickle.loads(pickle.dumps(decoder(format="flume_avro", existing="error", tombstones="delete")))  # noqa: S301 - our own
    assert copy.decode(record(avro({}, b"b"))).body == b"b"
