"""Record batches that a replay reads again, or cannot."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.record.memory_records import MemoryRecords

from ingest.api import NotFoundError, PositionLostError, Record
from ingest.dead_letters.envelope import UnreadRange
from ingest.kafka.codecs import Codec
from ingest.kafka.record_batches import _Batches
from ingest.service.dead_letters import unread as unread_module
from ingest.service.dead_letters.unread import can_read_again, read_again_from
from ingest.sources.files import FilesSourceSettings
from ingest.sources.kafka import DEFAULT_MEMORY_BYTES, KafkaSourceSettings
from tests.support.record_batches import batch_of

KIB = 1 << 10
PLACE = Record("t", 0, 7, None, None, 1, ())
"""The first record of a dead letter that ends at offset 9."""
END = UnreadRange(9)


def settings(limit: str) -> KafkaSourceSettings:
    options = {"brokers": "localhost:9092", "topics": ["t"], "max_decompressed_bytes": limit}
    return KafkaSourceSettings.model_validate(options)


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
    found = list(read_again_from(settings("1MiB"))(PLACE, END))
    assert [(each.offset, (each.value or b"")[:1]) for each in found] == [(7, b"1"), (8, b"2")]
    assert asked == [{("t", 0): (7, 9)}]


@pytest.mark.parametrize(("limit", "expected"), [("400KiB", False), ("401KiB", True)])
def test_place_can_be_read_if_its_batches_are_small_enough(asked, limit, expected):
    assert can_read_again(settings(limit), PLACE, END, DEFAULT_MEMORY_BYTES) is expected
    assert asked == [{("t", 0): (7, 9)}]


@pytest.mark.parametrize("error", [PositionLostError("gone"), NotFoundError("no topic")])
def test_place_that_the_topic_does_not_have_cannot_be_read(monkeypatch: pytest.MonkeyPatch, error):
    def read(*_arguments: object) -> Iterator[Any]:
        raise error
        yield

    monkeypatch.setattr(unread_module, "record_batches", read)
    assert not can_read_again(settings("1MiB"), PLACE, END, DEFAULT_MEMORY_BYTES)


def test_files_say_so_themselves():
    assert can_read_again(FilesSourceSettings.model_validate({"path": "/tmp/x"}), PLACE, END, DEFAULT_MEMORY_BYTES)
