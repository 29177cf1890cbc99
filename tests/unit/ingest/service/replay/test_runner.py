"""How a replay reports what blocks it, and the dead letters that it publishes."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from ingest.api import RecordPlace
from ingest.catalog import Catalog
from ingest.dead_letters.components import Components
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.dead_letters.queue import Mark, ReplayOutcome
from ingest.receipt import Counts
from ingest.service.dead_letters.blobs import OpenDeadLetterBlobs
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.service.replay import runner as replay_runner
from ingest.service.replay.plan import BatchKind, ReplayBatch
from ingest.service.replay.rolled_back_batches import UnfinishedBatch
from ingest.service.replay.runner import ReplayRunner, _Observer, _publication
from tests.support.large_dead_letters import publish, references, run, written
from tests.support.place import Here


class BatchRunner:
    """A runner of batches whose first attempt at an action fails."""

    def __init__(self, observer: _Observer) -> None:
        self.observer = observer

    def run_batch(
        self,
        frame: object,
        number: int,
        time_ms: int,
        name: str,
        splits: Callable[[], Iterable[RecordPlace]],
        guard: object,
    ) -> None:
        self.splits, self.guard = list(splits()), guard
        self.ran = (frame, number, time_ms, name)

    def until_possible(self, action: Callable[[], int]) -> int:
        self.observer.blocked("store_unavailable", "HDFS does not answer")
        return action()


def test_action_that_is_retried_blocks_the_replay_until_it_succeeds():
    reasons: list[str] = []
    runner = ReplayRunner.__new__(ReplayRunner)  # without Spark
    runner._observer = _Observer("p", SimpleNamespace(on_blocked=reasons.append))  # type: ignore[arg-type]
    runner._runner = BatchRunner(runner._observer)  # type: ignore[assignment]
    assert runner.until_possible(lambda: 7) == 7
    assert reasons == ["store_unavailable: HDFS does not answer", ""]


def test_line_of_a_batch_has_what_features_have_counted():
    counts = Counts(counted=Counter({("bulk_load_rows", "t"): 2, ("bulk_load_rows", "u"): 1}))
    with capture_logs() as lines:
        _Observer("p", SimpleNamespace()).durable(1, 1_000, counts, 0.5)  # type: ignore[arg-type]
    assert [line["bulk_load_rows"] for line in lines] == [3]


def test_interrupted_batch_is_identified_with_its_sinks():
    runner = ReplayRunner.__new__(ReplayRunner)  # without Spark
    runner._tables, runner._sinks = frozenset(), frozenset({"a"})
    batch = ReplayBatch(BatchKind.WHOLE, 7, 1_000, {("t", 0): (0, 2)})
    assert runner._unfinished(batch) == UnfinishedBatch(batch, frozenset(), frozenset({"a"}))


def test_splits_of_a_batch_are_its_ranges(monkeypatch: pytest.MonkeyPatch):
    ranges = {("t", 1): (4, 9), ("t", 0): (0, 2)}
    monkeypatch.setattr(replay_runner, "read_kafka_ranges", lambda *arguments: ("frame", *arguments))
    runner = ReplayRunner.__new__(ReplayRunner)  # without Spark
    runner._session, runner._settings, runner._updates = "session", "settings", None  # type: ignore[assignment]
    runner._quarantine = SimpleNamespace(guard=sorted)  # type: ignore[assignment]
    runner._observer = _Observer("p", Here())
    runner._runner = batch_runner = BatchRunner(runner._observer)  # type: ignore[assignment]
    runner.run(ReplayBatch(BatchKind.WHOLE, 7, 1_000, ranges))
    assert batch_runner.splits == [("t", 1, 4), ("t", 0, 0)]
    frame, number, time_ms, name = batch_runner.ran
    assert (frame, number, time_ms) == (("frame", "session", "settings", ranges), 7, 1_000)
    assert "1000" in name
    assert batch_runner.guard == [("t", 0), ("t", 1)]


def published_by_replay(path: Path, ran: set[str], sinks: set[str], *marks: ReplayOutcome) -> list[tuple[int, str]]:
    """
    Record and component of the dead letters after a replay into some sinks of a micro-batch whose records `json` fails.

    Args:
        path: of a temporary folder.
        ran: the sinks of the replay.
        sinks: of the pipeline.
        marks: of the dead letters of an earlier run, one for each record.
    """
    configuration = written(path)
    letters, _ = run(configuration, 1_000, b"not JSON", b"neither")
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    earlier: list[DeadLetter] = letters[: len(marks)]
    publish(configuration, 1_000, earlier)
    for entry, outcome in zip(list(queue.entries()), marks, strict=True):
        queue.mark({entry.position: Mark(outcome, 2_000)})
    decorators = frozenset({"json"})
    components, every = Components(frozenset(ran), decorators), Components(frozenset(sinks), decorators)
    with OpenDeadLetterBlobs(configuration, Catalog()) as blobs:
        _publication(queue, blobs, components, every, {}, [1_000])([each.to_json() for each in letters], 1, 1_000)
    return [(entry.dead_letter.record.offset, entry.dead_letter.component) for entry in queue.entries()]


def test_dead_letters_are_of_the_sinks_that_ran(tmp_path: Path):
    """As of a micro-batch that was rolled back: plain tables and archives must not get its records again."""
    assert published_by_replay(tmp_path, {"counts"}, {"counts", "plain"}) == [(0, "counts"), (1, "counts")]
    assert published_by_replay(tmp_path, {"counts"}, {"counts"}) == [(0, "json"), (1, "json")]


def test_record_whose_dead_letter_was_replayed_waits_no_more(tmp_path: Path):
    """The replay may have written it to a table that was dropped since."""
    marks = ReplayOutcome.REPLAYED, ReplayOutcome.FAILED_AGAIN
    found = published_by_replay(tmp_path, {"a"}, {"a", "b"}, *marks)
    assert found == [(0, "json"), (1, "json"), (0, "a")]


@pytest.mark.parametrize("waits", [False, True])
def test_blobs_of_dead_letters_have_the_references_of_the_sinks(tmp_path: Path, waits: bool):
    """Else 'attr2hbase admin blob check --repair' removes a reference that no dead letter has, and the blob goes."""
    configuration = written(tmp_path)
    letters, _ = run(configuration, 1_000, b"l" * 2_500, b"o" * 2_000)
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    if waits:
        publish(configuration, 1_000, letters[:1])
    decorators = frozenset({"json"})
    components, every = Components(frozenset("ab"), decorators), Components(frozenset("abc"), decorators)
    with OpenDeadLetterBlobs(configuration, Catalog()) as blobs:
        publication = _publication(queue, blobs, components, every, {}, [1_000])
        for _ in range(2):
            publication([each.to_json() for each in letters], 1, 1_000)
    found = [entry.dead_letter for entry in queue.entries()]
    assert [(each.record.offset, each.component) for each in found] == [
        *([(0, "json")] if waits else [(0, "a"), (0, "b")]),
        *[(1, "a"), (1, "b")],
    ]
    assert references(configuration) == {each.blob_reference for each in found}


@pytest.mark.parametrize("every", ["a", "ab"])
def test_dead_letters_by_place_have_the_ids_of_their_topics(tmp_path: Path, every: str):
    configuration = written(tmp_path)
    (letter,), _ = run(configuration, 1_000, b"not JSON")
    line = replace(letter, record=letter.record._replace(value=None), by_place=PlaceRange(3, was_read=True)).to_json()
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    ran, all_of = (Components(frozenset(names), frozenset({"json"})) for names in ("a", every))
    with OpenDeadLetterBlobs(configuration, Catalog()) as blobs:
        _publication(queue, blobs, ran, all_of, {letter.record.topic: "id"}, [1_000])([line], 1, 1_000)
    assert [entry.dead_letter.by_place for entry in queue.entries()] == [PlaceRange(3, was_read=True, topic_id="id")]
