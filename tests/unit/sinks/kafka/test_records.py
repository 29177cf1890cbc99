"""The record that an event becomes."""

from typing import Any

import pytest

from ingest.api import Event, EventError, Record
from ingest.kafka.stored import NO_TIME
from ingest.sources.decoding import Decoder
from sinks.kafka.records import SinkRecord
from sinks.kafka.sink import Kafka


def record_of(event: Event, **options: object) -> SinkRecord:
    settings: Any = Kafka.settings_class().model_validate({"topic": "t", "brokers": "localhost:9092"} | options)
    return settings.record_maker()(event)


def test_by_default_key_and_body_and_time_of_the_event() -> None:
    event = Event(b"\xff body", {"a": b"1"}, timestamp_ms=5, key=b"\x00k")
    assert record_of(event) == (b"\x00k", b"\xff body", (), 5)


@pytest.mark.parametrize(("on_missing", "found"), [("unset", None), ("empty", b"")])
@pytest.mark.parametrize("key", [None, b""])
def test_event_without_a_key_or_with_an_empty_one_gives_none(
    key: bytes | None, on_missing: str, found: bytes | None
) -> None:
    event = Decoder().decode(Record("t", 0, 0, key, b"b", 1))
    assert isinstance(event, Event)
    assert record_of(event).key is None
    assert record_of(event, key={"template": "%{key}", "on_missing": on_missing}).key == found


def test_templates_and_headers_in_their_order() -> None:
    event = Event(b"b", {"user": b"u", "level": b"info", "x": b""})
    options = {
        "key": "%{user}",
        "value": "%{user}: %{body}",
        "headers": {"z": "%{level}", "a": {"template": "%{x}"}, "fixed": "1"},
    }
    assert record_of(event, **options) == (b"u", b"u: b", [("z", b"info"), ("a", b""), ("fixed", b"1")], 0)


@pytest.mark.parametrize(("on_missing", "found"), [(None, None), ("unset", None), ("empty", b"-")])
def test_missing_attribute_of_a_key(on_missing: str | None, found: bytes | None) -> None:
    key = {"template": "%{user}-", "on_missing": on_missing} if on_missing else "%{user}-"
    assert record_of(Event(b"b"), key=key).key == found


def test_missing_attribute_of_a_header_leaves_it_out() -> None:
    assert record_of(Event(b"b", {"b": b"2"}), headers={"a": "%{a}", "b": "%{b}"}).headers == [("b", b"2")]


@pytest.mark.parametrize("part", ["key", "value", "headers"])
def test_missing_attribute_can_fail_the_event(part: str) -> None:
    option: object = {"template": "%{user}", "on_missing": "error"}
    with pytest.raises(EventError) as caught:
        record_of(Event(b"b", key=b"k"), **{part: {"h": option} if part == "headers" else option})
    assert caught.value.code == "no_attribute"


def test_missing_attribute_of_the_value_fails_the_event_unless_it_makes_a_tombstone() -> None:
    with pytest.raises(EventError, match="user"):
        record_of(Event(b"b", key=b"k"), value="%{user}")
    value = {"template": "%{user}", "on_missing": "unset"}
    assert record_of(Event(b"b", key=b"k"), value=value)[:2] == (b"k", None)


def test_tombstone_of_the_source_stays_one() -> None:
    event = Event(b"", timestamp_ms=7, key=b"k", tombstone=True)
    assert record_of(event, value="fixed") == (b"k", None, (), 7)


@pytest.mark.parametrize(
    ("option", "time_ms", "found"), [("event", 7, 7), ("event", -1, NO_TIME), ("none", 7, NO_TIME)]
)
def test_timestamp(option: str, time_ms: int, found: int) -> None:
    assert record_of(Event(b"b", timestamp_ms=time_ms), timestamp=option).timestamp_ms == found


def test_size_is_of_all_parts() -> None:
    assert record_of(Event(b"abc", {"x": b"12"}, key=b"k"), headers={"hh": "%{x}"}).size == 8
    assert record_of(Event(b"", tombstone=True)).size == 0


def test_shown_has_each_part_by_its_name() -> None:
    event = Event(b"\xff", {"x": b"12"}, timestamp_ms=5)
    assert record_of(event, headers={"h": "%{x}"}).shown() == {
        "key": None,
        "value": {"b64": "/w=="},
        "headers.h": "12",
        "timestamp_ms": 5,
    }
    assert record_of(Event(b"", key=b"k", tombstone=True), timestamp="none").shown() == {
        "key": "k",
        "value": None,
        "timestamp_ms": None,
    }


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ('{"url":"%{url}"}', "url"),
        ('{"at":"%{offset}","a":"%{json(url)}"}', "url"),
        (' ["%{2hb_d.x}"]', "2hb_d.x"),
        ('{"url":%{json(url)},"n":%{n}}', None),
        ('{"at":"%{topic}-%{offset}","sum":"%{md5(body)}"}', None),
        ('say "%{url}"', None),
    ],
)
def test_json_with_an_attribute_between_quotes_is_doubtful(value: str, name: str | None) -> None:
    for part in ("key", "value"):
        options: Any = Kafka.settings_class().model_validate({"topic": "t", part: value})
        expected = f"a quote in {name} makes this invalid JSON: write `%{{json({name})}}` without quotes"
        assert options.lint_warnings() == ({} if name is None else {part: expected})
