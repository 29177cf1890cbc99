"""Record batches that a replay reads again, or cannot."""

from collections.abc import Iterator, Mapping
from typing import Any, Self

import pytest
from kafka import TopicPartition
from kafka.record.memory_records import MemoryRecords
from structlog.testing import capture_logs

from ingest.api import (
    ConflictError,
    NotFoundError,
    PositionLostError,
    Record,
    SourceSettings,
    SourceUnavailableError,
)
from ingest.dead_letters.envelope import PlaceRange
from ingest.kafka.codecs import Codec
from ingest.kafka.record_batches import RecordBatch, _Batches
from ingest.service.dead_letters import unread as unread_module
from ingest.service.dead_letters.unread import RecordsAgain, SinksByRange, records_again
from ingest.sources.files import FilesSourceSettings
from ingest.sources.kafka import DEFAULT_MEMORY_BYTES, KafkaSourceSettings
from ingest.sources.unread import unread_error
from tests.support.record_batches import batch_of

KIB = 1 << 10
PLACE = Record("t", 0, 7, None, None, 1, ())
"""The first record of a dead letter that ends at offset 9."""
END = PlaceRange(9)


def of_topic(limit: str = "1MiB") -> RecordsAgain:
    options = {"brokers": "localhost:9092", "topics": ["t"], "max_decompressed_bytes": limit}
    return records_again(KafkaSourceSettings.model_validate(options), DEFAULT_MEMORY_BYTES)


def of_files(path: object) -> RecordsAgain:
    return records_again(FilesSourceSettings.model_validate({"path": str(path)}), DEFAULT_MEMORY_BYTES)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[Any, Any]]:
    """The ranges that were read of a topic with a batch of the offsets 6 to 9, of 400 KiB."""
    content = batch_of([(None, b"%d" % number * (100 * KIB), []) for number in range(4)], Codec.GZIP, first=6)
    ranges: list[Mapping[Any, Any]] = []

    def read(_connection: object, wanted: Mapping[Any, Any]) -> Iterator[Any]:
        ranges.append(wanted)
        yield from _Batches(7, TopicPartition("t", 0), MemoryRecords(content)).record_iterator

    monkeypatch.setattr(unread_module, "record_batches", read)
    return ranges


def test_records_of_the_place_are_read_from_the_topic(asked):
    found = list(of_topic()("t", 0, [(PLACE, END)]))
    assert [(each.offset, (each.value or b"")[:1]) for each in found] == [(7, b"1"), (8, b"2")]
    assert asked == [{("t", 0): (7, 9)}]


def test_records_of_several_places_are_read_in_one_pass(asked):
    places = [(PLACE._replace(offset=first), PlaceRange(end, was_read=True)) for first, end in ((6, 7), (8, 10))]
    found = list(of_topic()("t", 0, places))
    assert [each.offset for each in found] == [6, 8, 9]
    assert asked == [{("t", 0): (6, 10)}]


@pytest.mark.parametrize(("first", "end", "gone"), [(6, 10, []), (8, 13, [3])])
@pytest.mark.parametrize("was_read", [True, False])
def test_records_that_the_topic_has_deleted_between_others_are_reported(asked, first, end, gone, was_read):
    """Of records that were not read it is not known how many there were."""
    place = PLACE._replace(offset=first), PlaceRange(end, was_read=was_read)
    with capture_logs() as lines:
        found = list(of_topic()("t", 0, [place]))
    assert [each.offset for each in found] == list(range(first, 10))
    assert [line["records"] for line in lines] == (gone if was_read else [])
    assert len(asked) == 1


@pytest.mark.parametrize(("first", "end"), [(2, 6), (10, 12)])
def test_record_batch_beside_the_places_is_not_decompressed(monkeypatch, asked, first, end):
    monkeypatch.setattr(RecordBatch, "decompressed", lambda _batch: pytest.fail("it is decompressed"))
    place = PLACE._replace(offset=first), PlaceRange(end, was_read=True)
    assert list(of_topic()("t", 0, [place])) == []


class Admin:
    """The offsets 10 to 20 of one partition."""

    def __init__(self, connection: object) -> None:
        assert isinstance(connection, KafkaSourceSettings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        pass

    def topic_ids(self, topics: list[str]) -> Mapping[str, str]:
        return {"t": "here"} if topics == ["t"] else {}

    def earliest(self, topics: list[str]) -> Mapping[Any, int]:
        if topics != ["t"]:
            raise NotFoundError("no topic")
        return {("t", 0): 10}

    def ends(self, topics: list[str]) -> Mapping[Any, int]:
        assert topics == ["t"]
        return {("t", 0): 20}


@pytest.mark.parametrize(
    ("place", "end", "topic_id", "expected"),
    [
        (("t", 0, 10), 20, "here", 10),
        (("t", 0, 10), 20, "", 10),
        (("t", 0, 10), 20, "before", None),  # the topic was recreated
        (("t", 0, 9), 12, "here", 10),
        (("t", 0, 9), 10, "here", None),
        (("t", 0, 15), 20, "here", 15),
        (("t", 0, 15), 21, "here", None),
        (("t", 1, 15), 16, "here", None),
        (("gone", 0, 10), 20, "", None),
    ],
)
def test_topic_has_the_records_of_a_place_from_an_offset_on(monkeypatch, place, end, topic_id, expected):
    monkeypatch.setattr(unread_module, "KafkaAdmin", Admin)
    record = Record(*place, None, None, 1, ())
    assert of_topic().begin_of(record, PlaceRange(end, was_read=True, topic_id=topic_id)) == expected


def test_files_have_any_place():
    assert of_files("/tmp/x").begin_of(Record("/tmp/x", 0, 5, b"", None, 1, ()), END) == 5


def test_file_that_was_readable_is_not_a_dead_letter_when_it_is_removed(tmp_path):
    """An earlier attempt may have written a part of its lines."""
    path = tmp_path / "a"
    path.write_bytes(b"1\n2\n")
    place = Record(str(path), 0, 0, b"", None, 5), PlaceRange(None)
    reader = of_files(tmp_path)
    assert [record.value for record in reader(str(path), 0, [place])] == [b"1", b"2"]
    path.unlink()
    assert not reader.has_all(*place)
    with pytest.raises(SourceUnavailableError, match="run the replay again"):
        list(reader(str(path), 0, [place]))
    (failed,) = of_files(tmp_path)(str(path), 0, [place])
    assert unread_error(failed).code == "removed_file"


def test_sinks_are_those_of_the_range_that_has_the_record():
    sinks = SinksByRange({("t", 0, 5): frozenset("a"), ("t", 0, 9): None, ("t", 1, 0): frozenset("b")})
    places = [("t", 0, 4), ("t", 0, 5), ("t", 0, 8), ("t", 0, 9), ("t", 0, 99), ("t", 1, 7)]
    assert [sinks.get(place) for place in places] == [None, {"a"}, {"a"}, None, None, {"b"}]


class OtherSettings(SourceSettings):
    """Of a plugin."""


def test_other_sources_cannot_read_again():
    assert OtherSettings().read_again_by is None
    with pytest.raises(ConflictError, match="the records from t/0/7 on cannot be read again"):
        records_again(OtherSettings(), DEFAULT_MEMORY_BYTES)("t", 0, [(PLACE, END)])


@pytest.mark.parametrize(("limit", "expected"), [("400KiB", False), ("401KiB", True)])
def test_place_can_be_read_if_its_batches_are_small_enough(monkeypatch, asked, limit, expected):
    monkeypatch.setattr(unread_module, "KafkaAdmin", Admin)
    place = PLACE._replace(offset=10)
    assert of_topic(limit).begin_of(place, PlaceRange(12)) == (10 if expected else None)
    assert asked == [{("t", 0): (10, 12)}]


@pytest.mark.parametrize("error", [PositionLostError("gone"), NotFoundError("no topic")])
def test_place_that_the_topic_loses_meanwhile_cannot_be_read(monkeypatch: pytest.MonkeyPatch, error):
    def read(*_arguments: object) -> Iterator[Any]:
        raise error
        yield

    monkeypatch.setattr(unread_module, "KafkaAdmin", Admin)
    monkeypatch.setattr(unread_module, "record_batches", read)
    assert of_topic().begin_of(PLACE._replace(offset=10), PlaceRange(12)) is None
