"""Dead letters by place of a topic that was recreated, or that has lost records."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.service.dead_letters import unread as unread_module
from ingest.service.replay.readable import ReadableRecords
from ingest.service.state_folders import batch_log_folder
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch
from tests.support.update_pipeline import BATCH_MS, Pipeline

LATER_MS = 9_000


class Admin:
    """A topic that was recreated after the first micro-batch; it has ten records again."""

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
    pipeline = Pipeline(tmp_path)
    with closing(BatchLog(batch_log_folder(pipeline.load(), "p"))) as log:
        for time_ms, topic_id in ((BATCH_MS + 1_000, "before"), (LATER_MS, "after")):
            log.append(LoggedBatch(1, time_ms, {("t", 0): (0, 10)}, {"t": topic_id}, ()))
    return pipeline


def has(pipeline: Pipeline, time_ms: int, unread: PlaceRange | None, source_ms: int | None = None) -> bool:
    configuration = pipeline.load()
    letter: DeadLetter = replace(
        pipeline.dead_letter("counts"), batch_time_ms=time_ms, by_place=unread, source_batch_ms=source_ms
    )
    readable = ReadableRecords(configuration, configuration.pipelines["p"])
    begin = readable.begin_of(letter)
    assert readable.has_all(letter) is (begin == 0)
    return begin is not None


@pytest.mark.parametrize(
    ("time_ms", "source_ms", "expected"),
    [
        (BATCH_MS, None, True),  # the id of the topic was not logged yet
        (BATCH_MS + 1_000, None, False),
        (LATER_MS - 1, None, True),
        (LATER_MS - 2, LATER_MS, True),
        (LATER_MS - 2, None, False),
        (LATER_MS, None, True),
    ],
)
def test_records_of_a_recreated_topic_are_others(
    pipeline: Pipeline, time_ms: int, source_ms: int | None, expected: bool
) -> None:
    assert has(pipeline, time_ms, PlaceRange(5, was_read=True), source_ms) is expected


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
    assert not has(pipeline, BATCH_MS + 1_000, PlaceRange(5))


def test_dead_letter_with_its_bytes_needs_no_topic(pipeline: Pipeline) -> None:
    assert has(pipeline, BATCH_MS + 1_000, None)
