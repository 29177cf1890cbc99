"""The envelope of a dead letter."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest import __version__
from ingest.api import IntegrityError, Record
from ingest.dead_letters.blobs import DeadLetterBlob, batch_time_of, pipeline_of
from ingest.dead_letters.envelope import MAX_MESSAGE_CHARS, DeadLetter, PlaceRange, dead_letters_of, with_topic_ids
from tests.support.dead_letters import BLOBS, LETTERS, UNICODE, UNREAD_LETTERS, WHOLE_LETTERS

BLOB = DeadLetterBlob("events", "ab" * 32, 70_000_000)


def dead_letter(**fields) -> DeadLetter:
    record = Record("ticks", 3, 17, b"k1", b"\xff\x00", 1308748686334, (("trace", b"a"), ("trace", None)))
    values = {
        "record": record,
        "fan_out": 0,
        "attributes": {"2hb_cf:q": b"v"},
        "pipeline": "p",
        "component": "attr2hbase",
        "code": "mapping",
        "message": "no row key",
        "batch_time_ms": 1308748690000,
        "fingerprint": "abc",
    }
    return DeadLetter(**(values | fields))


@given(LETTERS)
def test_dead_letter_survives_the_conversion_to_json(each):
    line = each.to_json()
    assert b"\n" not in line
    assert DeadLetter.from_json(line) == each


def test_line_has_keys_in_the_documented_order():
    assert json.dumps(json.loads(dead_letter().to_json())) == json.dumps(
        {
            "format": 1,
            "product": __version__,
            "id": "ticks/3/17/0/attr2hbase",
            "pipeline": "p",
            "component": "attr2hbase",
            "code": "mapping",
            "message": "no row key",
            "batch_time_ms": 1308748690000,
            "fingerprint": "abc",
            "fan_out": 0,
            "events": 1,
            "attributes": [["2hb_cf:q", "v"]],
            "pointer": None,
            "record": {
                "topic": "ticks",
                "partition": 3,
                "offset": 17,
                "timestamp_ms": 1308748686334,
                "key": "k1",
                "value": {"b64": "/wA="},
                "headers": [["trace", "a"], ["trace", None]],
            },
        }
    )


@given(WHOLE_LETTERS, BLOBS)
def test_only_a_dead_letter_with_a_blob_has_format_2(each, blob):
    plain, with_blob = json.loads(each.to_json()), json.loads(each.with_blob(blob).to_json())
    assert (plain["format"], with_blob["format"], "blob" in plain) == (1, 2, False)
    assert with_blob["record"] == plain["record"] | {"value": None}
    assert DeadLetter.from_json(each.with_blob(blob).to_json()).blob == blob


def test_line_with_a_blob_has_keys_in_the_documented_order():
    content = json.loads(dead_letter().with_blob(BLOB).to_json())
    assert list(content)[-4:] == ["attributes", "pointer", "blob", "record"]
    assert content["blob"] == {"table": "events", "id": "ab" * 32, "length": 70_000_000}


@given(UNREAD_LETTERS)
def test_only_a_dead_letter_by_place_has_format_3(each):
    content = json.loads(each.to_json())
    unread = {"end": each.by_place.end}
    unread |= {name: True for name in ("was_read", "read_before") if getattr(each.by_place, name)}
    unread |= {"topic_id": each.by_place.topic_id} if each.by_place.topic_id else {}
    assert (content["format"], content["unread"], content["record"]["value"]) == (3, unread, None)
    assert list(content)[-4:] == ["attributes", "pointer", "unread", "record"]


@given(st.lists(st.one_of(WHOLE_LETTERS, UNREAD_LETTERS), max_size=4), st.sampled_from(["", "one", "other"]))
def test_ids_of_topics_are_of_dead_letters_by_place(letters, topic_id):
    asked = []

    def known():
        asked.append(topic_id)
        return {each.record.topic: topic_id for each in letters[1:]}

    found = dead_letters_of(with_topic_ids([each.to_json() for each in letters], known))
    ids = {each.record.topic: topic_id for each in letters[1:]}
    assert found == [each.in_topic(ids.get(each.record.topic, "")) for each in letters]
    assert [each for each in found if each.by_place is None] == [each for each in letters if each.by_place is None]
    assert {each.by_place.topic_id for each in found if each.by_place is not None} <= {"", topic_id}
    assert len(asked) == any(each.by_place is not None for each in letters)


@pytest.mark.parametrize(
    "change",
    [
        {"unread": None},
        {"unread": {}},
        {"unread": {"end": "1"}},
        {"unread": {"end": 1, "topic_id": 5}},
        {"record": json.loads(dead_letter().to_json())["record"]},
        {"format": 4},
    ],
)
def test_damaged_dead_letter_by_place_is_refused(change):
    record = dead_letter().record._replace(key=None, value=None, headers=())
    content = json.loads(dead_letter(record=record, by_place=PlaceRange(20)).to_json())
    with pytest.raises(IntegrityError):
        DeadLetter.from_json(json.dumps(content | change).encode())


@given(LETTERS, LETTERS)
def test_reference_identifies_pipeline_batch_and_key(one, other):
    def identity(each):
        return each.pipeline, each.batch_time_ms, each.key

    assert (one.blob_reference == other.blob_reference) == (identity(one) == identity(other))
    assert one.blob_reference[:1] != b"\0"
    assert pipeline_of(one.blob_reference) == one.pipeline


@pytest.mark.parametrize("reference", [b"report-1", b"dead-letter/p", b"dead-letter"])
def test_other_reference_is_of_no_pipeline(reference):
    assert pipeline_of(reference) is None


@pytest.mark.parametrize(
    "reference", [b"report/p/12/key", b"p/12/key", b"dead-letter/p/12", b"dead-letter/p/x12/key", b"dead-letter/p//key"]
)
def test_only_the_reference_of_a_dead_letter_has_a_batch_time(reference):
    assert batch_time_of(reference) is None
    assert batch_time_of(b"dead-letter/p/12/key") == 12


@pytest.mark.parametrize(
    "change",
    [
        {"blob": None},
        {"blob": {"table": "events", "id": "ab" * 32}},
        {"blob": {"table": "events", "id": "ab" * 31, "length": 1}},
        {"blob": {"table": "events", "id": "AB" * 32, "length": 1}},
        {"blob": {"table": "events", "id": "ab" * 32, "length": -1}},
        {"blob": {"table": "events", "id": "ab" * 32, "length": True}},
        {"record": json.loads(dead_letter().to_json())["record"]},
        {"format": 3},
    ],
    ids=str,
)
def test_invalid_blob_is_rejected(change):
    content = json.loads(dead_letter().with_blob(BLOB).to_json()) | change
    with pytest.raises(IntegrityError):
        DeadLetter.from_json(json.dumps(content).encode())


@given(LETTERS, LETTERS)
def test_key_identifies_record_fan_out_and_component(one, other):
    def identity(each):
        record = each.record
        return record.topic, record.partition, record.offset, each.fan_out, each.component

    assert (one.key == other.key) == (identity(one) == identity(other))


def test_slashes_in_names_do_not_make_keys_equal():
    stub = Record("a", 0, 1, None, b"", 0)
    one = dead_letter(record=stub, component="x/0/1/0/y")
    other = dead_letter(record=stub._replace(topic="a/0/1/0/x"), component="y")
    assert (one.key, other.key) == (b"a/0/1/0/x%2F0%2F1%2F0%2Fy", b"a/0/1/0/x/0/1/0/y")


def test_message_is_cut_and_escaped():
    back = DeadLetter.from_json(dead_letter(message="\ud800" + "x" * 10_000).to_json())
    assert len(back.message) == MAX_MESSAGE_CHARS
    assert back.message.startswith("\\ud800xxx")
    assert back.message.endswith("x…")


def test_dead_letter_with_a_pointer_is_small_and_has_the_same_key():
    whole = dead_letter(attributes={"a": bytes(10_000)})
    cut = whole.pointing_to("/state/dead-letters/p/1.jsonl:0")
    assert len(cut.to_json()) < 500
    assert (cut.key, cut.pointer) == (whole.key, "/state/dead-letters/p/1.jsonl:0")
    assert DeadLetter.from_json(cut.to_json()) == cut


@given(st.binary())
def test_random_bytes_are_rejected(line):
    with pytest.raises(IntegrityError):
        DeadLetter.from_json(line)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"format": 3},
        {"batch_time_ms": "1"},
        {"fan_out": True},
        {"events": "2"},
        {"message": None},
        {"attributes": [["a"]]},
        {"attributes": {"a": "b"}},
        {"record": None},
        {"record": {}},
        {"pointer": 1},
    ],
    ids=str,
)
def test_invalid_field_is_rejected(change):
    content = json.loads(dead_letter().to_json()) | change
    with pytest.raises(IntegrityError):
        DeadLetter.from_json(json.dumps(content).encode())


def test_missing_number_of_events_means_one():
    content = json.loads(dead_letter(events=3).to_json())
    del content["events"]
    assert DeadLetter.from_json(json.dumps(content).encode()).events == 1


def test_source_batch_is_that_in_which_the_record_failed_unless_it_is_named():
    assert (dead_letter(batch_time_ms=7).source_ms, dead_letter(source_batch_ms=9).source_ms) == (7, 9)
    assert "source_batch_ms" not in json.loads(dead_letter().to_json())


def test_missing_field_is_rejected():
    content = json.loads(dead_letter().to_json())
    for name in set(content) - {"id", "events"}:
        with pytest.raises(IntegrityError):
            DeadLetter.from_json(json.dumps({key: value for key, value in content.items() if key != name}).encode())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | UNICODE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(UNICODE, inner, max_size=3),
    max_leaves=5,
)


def read(line: bytes) -> DeadLetter | None:
    """The dead letter of a line, None if it is refused."""
    try:
        return DeadLetter.from_json(line)
    except IntegrityError:
        return None


def places_in(content: object, path: tuple = ()) -> list[tuple]:
    """The paths of all values."""
    children = enumerate(content) if isinstance(content, list) else content.items() if isinstance(content, dict) else ()
    return [path, *(place for key, child in children for place in places_in(child, (*path, key)))]


@given(st.binary() | JSON.map(json.dumps).map(str.encode))
def test_other_content_is_refused(line):
    assert read(line) is None


@given(LETTERS, st.data())
def test_changed_dead_letter_is_valid_or_refused(each, data):
    """A value anywhere in it is replaced or removed; what is read can be written and is read the same again."""
    content = json.loads(each.to_json())
    *path, last = data.draw(st.sampled_from(places_in(content)[1:]))
    parent = content
    for key in path:
        parent = parent[key]
    if data.draw(st.booleans()):
        parent[last] = data.draw(JSON)
    else:
        del parent[last]
    found = read(json.dumps(content).encode())
    if found is not None:
        assert read(found.to_json()) == found


@given(LETTERS, st.integers(0, 10_000))
def test_cut_dead_letter_is_refused(each, end):
    line = each.to_json()
    assert read(line[: end % len(line)]) is None
