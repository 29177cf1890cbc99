"""Which micro-batches of a query are examined, and what stays known of what was found."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.api import CheckpointError
from ingest.kafka.large_batches import Examination, LargeBatch
from ingest.receipt import Counts
from ingest.service.kafka.quarantine import Quarantine, Ranges
from ingest.service.kafka.query_guard import ALERT_MS, QueryGuard, _Findings
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.spark.streaming.guard import Guarded
from tests.support.checkpoint import acknowledge

LARGE = LargeBatch("t", 0, 25, 27, 3, 1, "zstd", 100, 1_000)
HEAVY = Examination([], is_heavy=True)
ONE = Counts(records=1, read=1)


class Topics(Quarantine):
    """A quarantine that knows what is in the topics; it notes what was examined."""

    def __init__(self, *large: LargeBatch, is_heavy: bool = False) -> None:
        self.large = large
        self.is_heavy = is_heavy
        self.seen: list[Ranges] = []

    def examine(self, ranges: Ranges) -> Examination:
        self.seen.append(ranges)
        near = [each for each in self.large if ranges[each.topic, each.partition][0] <= each.last < 30]
        return Examination(near, self.is_heavy)

    def guarded(self, ranges: Ranges, batch_time_ms: int, found: Examination) -> Guarded | None:
        frame: Any = (ranges, batch_time_ms)
        counts = Counts(records=len(found.large), read=len(found.large))
        return Guarded(frame, (), counts) if found.large or found.is_heavy else None


class Bench:
    """A checkpoint with micro-batches of ten offsets each, of which batch 1 may be unacknowledged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now_ms = 10**12
        (folder / "sources" / "0").mkdir(parents=True)
        (folder / "sources" / "0" / "0").write_text(f"v1\n{json.dumps({'t': {'0': 0}})}")
        acknowledge(folder, 0, {"t": {0: 10}})
        self.checkpoint = Checkpoint(folder)
        self.checkpoint.lock()

    def begin(self, number: int) -> None:
        """Plan and begin a micro-batch."""
        acknowledge(self.folder, number, {"t": {0: 10 * (number + 1)}})
        (self.folder / "commits" / str(number)).unlink()
        (self.folder / "times").mkdir(exist_ok=True)
        (self.folder / "times" / str(number)).write_text("1000")

    def started(self, topics: Quarantine, *, adds_to_rows: bool = False) -> QueryGuard:
        """The guard after a start of the service."""
        guard = QueryGuard(self.checkpoint, adds_to_rows=adds_to_rows, clock_ms=lambda: self.now_ms)
        guard.start(topics)
        self.checkpoint.note_configuration("f")
        return guard


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.checkpoint.unlock()


def range_of(number: int) -> Ranges:
    return {("t", 0): (10 * number, 10 * (number + 1))}


def test_micro_batches_are_not_examined_as_long_as_nothing_dies(bench: Bench):
    topics = Topics(LARGE)
    guard = bench.started(topics)
    bench.begin(1)
    assert guard(1, 1_000, False) is None
    assert topics.seen == []


def test_micro_batch_that_had_begun_before_the_start_is_examined(bench: Bench):
    topics = Topics()
    bench.begin(1)
    guard = bench.started(topics)
    assert guard(1, 1_000, False) is None
    assert topics.seen == [range_of(1)]
    assert not (bench.folder / "quarantine").exists()


def test_micro_batch_whose_job_has_failed_is_examined(bench: Bench):
    topics = Topics(LARGE)
    guard = bench.started(topics)
    bench.begin(1)
    assert guard(1, 1_000, True) == Guarded((range_of(1), 1_000), (), ONE)


def test_after_a_finding_every_micro_batch_is_examined_for_an_hour(bench: Bench):
    topics = Topics(is_heavy=True)
    bench.begin(1)
    guard = bench.started(topics)
    assert guard(1, 1_000, False) is not None
    topics.is_heavy = False
    bench.begin(2)
    assert guard(2, 1_000, False) is None
    bench.now_ms += ALERT_MS
    assert guard(2, 1_000, False) is None
    assert topics.seen == [range_of(1), range_of(2)]


def test_batch_ahead_is_remembered_over_a_start(bench: Bench):
    """It was only fetched with the last records of the micro-batch before, which its memory ended."""
    bench.begin(1)
    guard = bench.started(Topics(LARGE))
    assert guard(1, 1_000, False) is not None
    acknowledge(bench.folder, 1, {"t": {0: 20}})
    bench.now_ms += 10 * ALERT_MS
    topics = Topics(LARGE)
    guard = bench.started(topics)
    bench.begin(2)
    assert guard(2, 1_002, False) == Guarded((range_of(2), 1_002), (), ONE)
    bench.now_ms += 10 * ALERT_MS
    bench.begin(3)
    assert guard(3, 1_004, False) is None
    assert topics.seen == [range_of(2)]
    assert guard(4, 1_006, False) is None, "its plan, which is missing, is not read: nothing is ahead"


def test_batches_that_were_read_past_are_forgotten(bench: Bench):
    bench.begin(1)
    guard = bench.started(Topics(LARGE))
    guard(1, 1_000, False)
    bench.begin(4)
    acknowledge(bench.folder, 3, {"t": {0: 40}})
    later = LARGE._replace(first=45, last=46)
    guard._quarantine = topics = Topics(later)
    topics.examine = lambda _ranges: Examination([later])  # type: ignore[method-assign]
    guard(4, 1_000, False)
    assert _Findings.of((bench.folder / "quarantine").read_bytes(), "") == _Findings(10**12, (later,))


@pytest.mark.parametrize("topics", [Topics(LARGE), Topics(is_heavy=True)])
def test_death_is_explained_by_what_the_micro_batch_has(bench: Bench, topics: Topics):
    guard = bench.started(topics)
    bench.begin(1)
    guard(1, 1_000, False)
    assert guard.explains_death() == 1
    assert (bench.folder / "quarantine").exists()


def test_death_is_not_explained_without_a_finding(bench: Bench):
    guard = bench.started(Topics())
    bench.begin(1)
    assert guard.explains_death() is None
    assert not (bench.folder / "quarantine").exists()


def test_death_between_micro_batches_is_not_explained(bench: Bench):
    topics = Topics(LARGE)
    assert bench.started(topics).explains_death() is None
    assert topics.seen == []


def test_death_in_spite_of_the_quarantine_is_not_explained(bench: Bench):
    """Another start would end in the same way."""
    bench.begin(1)
    guard = bench.started(Topics(LARGE))
    assert guard(1, 1_000, False) is not None
    assert guard.explains_death() is None


def test_guard_of_a_query_that_has_not_started_explains_nothing(bench: Bench):
    bench.begin(1)
    guard = QueryGuard(Checkpoint(bench.folder))
    assert (guard(1, 1_000, True), guard.explains_death()) == (None, None)


@pytest.mark.parametrize("content", ["", "[]", '{"at_ms": 1}', '{"at_ms": 1, "batches": [[1]]}'])
def test_damaged_file_is_named(bench: Bench, content: str):
    (bench.folder / "quarantine").write_text(content)
    with pytest.raises(CheckpointError, match='quarantine" cannot be read'):
        bench.started(Topics())


def must_renew(guard: QueryGuard, number: int, time_ms: int, *, has_failed: bool = False) -> bool:
    guarded = guard(number, time_ms, has_failed)
    assert guarded is not None
    return guarded.must_renew


def test_batch_that_had_begun_with_records_that_it_leaves_out_is_renewed_once(bench: Bench):
    bench.begin(1)
    guard = bench.started(Topics(LARGE), adds_to_rows=True)
    assert must_renew(guard, 1, 1_000)
    assert bench.checkpoint.is_changed("f"), "the next start withdraws what it has written"
    guard = bench.started(Topics(LARGE), adds_to_rows=True)
    assert not must_renew(guard, 1, 1_002)
    assert not bench.checkpoint.is_changed("f")
    guard = bench.started(Topics(LARGE), adds_to_rows=True)
    assert not must_renew(guard, 1, 1_002), "killed since, it has left them out from its start"


def test_batch_is_renewed_if_the_process_was_killed_before_the_configuration_was_noted(bench: Bench):
    bench.begin(1)
    guard = bench.started(Topics(LARGE), adds_to_rows=True)
    assert must_renew(guard, 1, 1_000)
    guard = bench.started(Topics(LARGE), adds_to_rows=True)
    assert must_renew(guard, 1, 1_000)


def test_batch_whose_job_fails_is_renewed(bench: Bench):
    guard = bench.started(Topics(LARGE), adds_to_rows=True)
    bench.begin(1)
    assert must_renew(guard, 1, 1_000, has_failed=True)


def test_batch_that_leaves_records_out_from_its_start_is_not_renewed(bench: Bench):
    bench.begin(1)
    guard = bench.started(Topics(LARGE._replace(first=15, last=16)), adds_to_rows=True)
    guard(1, 1_000, False)
    bench.begin(2)
    guard._quarantine = Topics(LARGE)
    assert not must_renew(guard, 2, 1_002)
    guard = bench.started(Topics(LARGE), adds_to_rows=True)
    assert not must_renew(guard, 2, 1_002)


@pytest.mark.parametrize(("topics", "adds_to_rows"), [(Topics(LARGE), False), (Topics(is_heavy=True), True)])
def test_batch_is_not_renewed_without_need(bench: Bench, topics: Topics, adds_to_rows: bool):
    bench.begin(1)
    guard = bench.started(topics, adds_to_rows=adds_to_rows)
    assert not must_renew(guard, 1, 1_000)
    assert not bench.checkpoint.is_changed("f")
