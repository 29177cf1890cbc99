"""Dead letters as records of a topic, in JSON and in headers."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest import __version__
from ingest.api import IntegrityError, Record
from ingest.dead_letters.blobs import DeadLetterBlob
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.dead_letters.topic_records import CONNECT, ORIGINAL_HEADERS, OWN, TopicRecord, dead_letter_of, in_headers
from ingest.kafka.stored import Stored
from tests.support.dead_letters import LETTERS, UNICODE, WHOLE_LETTERS

BLOB = DeadLetterBlob("events", "ab" * 32, 70_000_000)
OUR_NAMES = [
    *(f"{CONNECT}{name}" for name in ("topic", "partition", "offset", "stage", "exception.message")),
    *(f"{OWN}{name}" for name in ("format", "attributes", "null_headers", "original_headers")),
]
HEADERS = st.lists(
    st.tuples(UNICODE | st.sampled_from(OUR_NAMES), st.none() | st.binary(max_size=20) | st.sampled_from([b"0", b"1"])),
    max_size=6,
).map(tuple)
IN_HEADERS = st.builds(
    lambda letter, key, headers: replace(letter, pointer=None, record=letter.record._replace(key=key, headers=headers)),
    WHOLE_LETTERS,
    st.binary(max_size=20),
    HEADERS,
)
"""Dead letters that can be in headers; some of their records have the headers of another dead letter."""


def sent(dead_letter: DeadLetter, sinks: tuple[str, ...] = ()) -> TopicRecord:
    return in_headers(dead_letter.to_json(), dead_letter, sinks)


def stored(record: TopicRecord) -> Stored:
    return Stored(0, 0, record.value, record.key, tuple(record.headers))


def dead_letter(**fields: object) -> DeadLetter:
    record = Record("ticks", 3, 17, b"k1", b"\xff\x00", 1308748686334, (("trace", b"a"), ("trace", None)))
    values = {
        "record": record,
        "fan_out": 0,
        "attributes": {"2hb_cf:q": b"v", "raw": b"\xff"},
        "pipeline": "p",
        "component": "attr2hbase",
        "code": "mapping",
        "message": "no row key: ä",
        "batch_time_ms": 1308748690000,
        "fingerprint": "abc",
    }
    return DeadLetter(**(values | fields))


def is_in_headers(record: TopicRecord) -> bool:
    return any(name == ORIGINAL_HEADERS for name, _ in record.headers)


def test_headers_are_those_of_kafka_connect_and_ours_after_those_of_the_record():
    assert sent(dead_letter(), ("attr2hbase",)) == (
        b"k1",
        b"\xff\x00",
        [
            ("trace", b"a"),
            ("trace", b""),
            ("__connect.errors.topic", b"ticks"),
            ("__connect.errors.partition", b"3"),
            ("__connect.errors.offset", b"17"),
            ("__attr2hbase.timestamp_ms", b"1308748686334"),
            ("__connect.errors.stage", b"TASK_PUT"),
            ("__connect.errors.connector.name", b"p"),
            ("__connect.errors.class.name", b"attr2hbase"),
            ("__connect.errors.exception.class.name", b"mapping"),
            ("__connect.errors.exception.message", "no row key: ä".encode()),
            ("__attr2hbase.product", __version__.encode()),
            ("__attr2hbase.fingerprint", b"abc"),
            ("__attr2hbase.format", b"4"),
            ("__attr2hbase.batch_time_ms", b"1308748690000"),
            ("__attr2hbase.fan_out", b"0"),
            ("__attr2hbase.events", b"1"),
            ("__attr2hbase.attributes", b'[["2hb_cf:q","v"],["raw",{"b64":"/w=="}]]'),
            ("__attr2hbase.null_headers", b"1"),
            ("__attr2hbase.original_headers", b"2"),
        ],
    )


def test_batch_of_the_source_is_a_header_if_it_is_another_one():
    headers = dict(sent(dead_letter(source_batch_ms=7)).headers)
    assert headers["__attr2hbase.source_batch_ms"] == b"7"


@pytest.mark.parametrize(
    ("component", "stage"), [("source", b"VALUE_CONVERTER"), ("json", b"TRANSFORMATION"), ("attr2hbase", b"TASK_PUT")]
)
def test_stage_is_one_of_kafka_connect(component, stage):
    headers = dict(sent(dead_letter(component=component), ("other", "attr2hbase")).headers)
    assert headers["__connect.errors.stage"] == stage


@given(LETTERS | IN_HEADERS)
def test_dead_letter_survives_either_envelope(each):
    assert dead_letter_of(stored(sent(each))) == each


@given(IN_HEADERS)
def test_record_in_headers_has_the_bytes_of_the_failed_one_and_can_be_sent(each):
    record, original = sent(each), each.record
    assert is_in_headers(record)
    assert (record.key, record.value) == (original.key, original.value)
    expected = [(name, value or b"") for name, value in original.headers]
    assert [*record.headers[: len(expected)]] == expected
    assert all(name.encode() is not None and isinstance(value, bytes) for name, value in record.headers)
    assert record.size >= len(record.key or b"") + len(record.value or b"") + len(record.headers)


@given(st.lists(IN_HEADERS, min_size=2, max_size=4))
def test_dead_letter_of_a_dead_letter_is_told_apart(letters):
    """The pipeline reads the topic of another one, whose dead letters have the same names of headers."""
    first, *others = letters
    written = [first]
    record = sent(first)
    for each in others:
        original = each.record._replace(key=record.key, value=record.value, headers=tuple(record.headers))
        written.append(replace(each, record=original))
        record = sent(written[-1])
    for expected, inner in zip(reversed(written), [*reversed(written[:-1]), None], strict=True):
        found = dead_letter_of(stored(record))
        assert found == expected
        if inner is not None:
            record = TopicRecord(found.record.key, found.record.value, found.record.headers)


@given(IN_HEADERS, st.lists(st.tuples(UNICODE, st.binary(max_size=5)), max_size=3))
def test_headers_that_a_copy_has_at_the_end_are_ignored(each, more):
    record = sent(each)
    assert dead_letter_of(stored(record._replace(headers=[*record.headers, *more]))) == each


@pytest.mark.parametrize(
    "each",
    [
        dead_letter(by_place=PlaceRange(20), record=Record("ticks", 3, 17, None, None, 5)),
        dead_letter(by_place=PlaceRange(None, was_read=True), record=Record("ticks", 3, 17, None, None, 5)),
        dead_letter().with_blob(BLOB),
        dead_letter().pointing_to("/state/dead-letters/p/1.jsonl:0"),
        dead_letter(record=Record("ticks", 3, 17, None, None, 5)),
        dead_letter(record=Record("ticks", 3, 17, b"k", b"v", 5, (("\udcff", b"x"),))),
    ],
)
def test_record_without_bytes_or_that_cannot_be_sent_is_in_json(each):
    record = sent(each)
    assert (is_in_headers(record), record.key, record.value) == (False, each.key, each.to_json())
    assert dead_letter_of(stored(record)) == each


@pytest.mark.parametrize(("key", "value"), [(None, b"v"), (b"k", None), (b"", b""), (None, b""), (b"", None)])
def test_key_and_value_may_be_missing_or_empty(key, value):
    each = dead_letter(record=Record("ticks", 3, 17, key, value, 5))
    assert sent(each)[:2] == (key, value)
    assert dead_letter_of(stored(sent(each))) == each


def test_value_that_is_a_dead_letter_in_json_is_a_value():
    inner = dead_letter(pipeline="other")
    each = dead_letter(record=Record("ticks", 3, 17, inner.key, inner.to_json(), 5))
    assert dead_letter_of(stored(sent(each))) == each


def test_newer_format_is_refused_with_a_hint():
    record = sent(dead_letter())
    headers = [(name, b"5" if name == "__attr2hbase.format" else value) for name, value in record.headers]
    with pytest.raises(IntegrityError, match="headers has format 5, this version reads 4") as caught:
        dead_letter_of(stored(record._replace(headers=headers)))
    assert caught.value.hint == "read it with the version that wrote it or a later one"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("original_headers", b"-1"),
        ("original_headers", b"99"),
        ("original_headers", b"1_0"),
        ("original_headers", None),
        ("null_headers", b"-1"),
        ("null_headers", b"0"),  # it has a value
        ("null_headers", b"2"),
        ("null_headers", b""),
        ("batch_time_ms", b"9" * 30),
        ("fan_out", b"x"),
        ("attributes", b"[["),
        ("attributes", b"{}x"),
        ("product", b"\xff"),
        ("format", b"1"),
    ],
)
def test_invalid_header_is_refused(name, value):
    record = sent(dead_letter())
    headers = [(each, value if each == f"{OWN}{name}" else before) for each, before in record.headers]
    with pytest.raises(IntegrityError):
        dead_letter_of(stored(record._replace(headers=headers)))


@given(IN_HEADERS, st.data())
def test_changed_header_is_valid_or_refused(each, data):
    """What is read can be written and is read the same again."""
    record = sent(each)
    headers = list(record.headers)
    place = data.draw(st.integers(0, len(headers) - 1))
    if data.draw(st.booleans()):
        headers[place] = (headers[place][0], data.draw(st.none() | st.binary(max_size=10)))
    else:
        del headers[place]
    try:
        found = dead_letter_of(Stored(0, 0, record.value, record.key, tuple(headers)))
    except IntegrityError:
        return
    assert dead_letter_of(stored(sent(found))) == found
