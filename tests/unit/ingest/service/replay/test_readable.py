"""Dead letters by place of a topic that was recreated, or that has lost records."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.service.dead_letters import unread as unread_module
from ingest.service.replay.readable import ReadableRecords
from tests.support.update_pipeline import Pipeline


class Admin:
    """A topic that was recreated; it has ten records again."""

    def __init__(self, _connection: object) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        pass

    def topic_ids(self, topics: list[str]) -> Mapping[str, str]:
        return dict.fromkeys(topics, "after")

    def earliest(self, topics: list[str]) -> Mapping[Any, int]:
        return {(topic, 0): 0 for topic in topics}

    def ends(self, topics: list[str]) -> Mapping[Any, int]:
        return {(topic, 0): 10 for topic in topics}


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    monkeypatch.setattr(unread_module, "KafkaAdmin", Admin)
    return Pipeline(tmp_path)


def has(pipeline: Pipeline, by_place: PlaceRange | None) -> bool:
    configuration = pipeline.load()
    letter: DeadLetter = replace(pipeline.dead_letter("counts"), by_place=by_place)
    readable = ReadableRecords(configuration, configuration.pipelines["p"])
    begin = readable.begin_of(letter)
    assert readable.has_all(letter) is (begin == 0)
    return begin is not None


@pytest.mark.parametrize(
    ("topic_id", "expected"),
    [("", True), ("before", False), ("after", True)],  # "" is of a broker before Kafka 2.8
)
def test_records_of_a_recreated_topic_are_others(pipeline: Pipeline, topic_id: str, expected: bool) -> None:
    """Also if the batch log, which has the ids too, is not kept so long."""
    assert has(pipeline, PlaceRange(5, was_read=True, topic_id=topic_id)) is expected


@pytest.mark.parametrize(("earliest", "begin"), [(0, 0), (3, 3), (4, 4), (5, None)])
@pytest.mark.parametrize("was_read", [True, False])
def test_records_that_remain_can_be_read(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, earliest: int, begin: int | None, was_read: bool
) -> None:
    asked = []

    def read(_connection: object, ranges: object) -> Iterator[Any]:
        asked.append(ranges)
        yield from ()

    monkeypatch.setattr(Admin, "earliest", lambda _admin, topics: {(topic, 0): earliest for topic in topics})
    monkeypatch.setattr(unread_module, "record_batches", read)
    configuration = pipeline.load()
    readable = ReadableRecords(configuration, configuration.pipelines["p"])
    letter = replace(pipeline.dead_letter("counts"), by_place=PlaceRange(5, was_read=was_read))
    assert readable.begin_of(letter) == begin
    assert asked == ([] if was_read or begin is None else [{("t", 0): (begin, 5)}])
    assert readable.has_all(letter) is (begin == 0)


def test_record_batch_of_a_recreated_topic_is_another(pipeline: Pipeline) -> None:
    assert not has(pipeline, PlaceRange(5, topic_id="before"))


def test_dead_letter_with_its_bytes_needs_no_topic(pipeline: Pipeline) -> None:
    assert has(pipeline, None)
