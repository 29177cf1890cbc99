"""Replay: which letters, in which order, and what is noted."""

from collections import Counter

import pytest

import ingest.dead_letters.replay as module
from ingest.api import Record
from ingest.dead_letters.files import FileDeadLetters
from ingest.dead_letters.queue import Entry, Mark, ReplayOutcome
from ingest.dead_letters.replay import ReplayStoppedError, Selection, chunks_of, replay
from ingest.receipt import Receipt, Verdict


class Pipeline:
    """Stores records by place with their batch time, and refuses some."""

    def __init__(self, make_letter) -> None:
        self.make_letter = make_letter
        self.refused: set[int] = set()
        self.verdict = Verdict.DURABLE
        self.calls: list[tuple[list[int], int]] = []

    def __call__(self, records, batch_time_ms):
        self.calls.append(([record.offset for record in records], batch_time_ms))
        if self.verdict is not Verdict.DURABLE:
            return Receipt(verdict=self.verdict, code="store_unavailable", message="no answer")
        letters = [
            self.make_letter(record.offset, batch_time_ms=batch_time_ms, code="mapping", component="sink", fan_out=3)
            for record in records
            if record.offset in self.refused
        ]
        return Receipt(dead_letters=[letter.to_json() for letter in letters])


@pytest.fixture
def pipeline(make_letter) -> Pipeline:
    return Pipeline(make_letter)


@pytest.fixture
def queue(tmp_path, make_letter) -> FileDeadLetters:
    queue = FileDeadLetters(tmp_path, "p")
    queue.publish([make_letter(offset).to_json() for offset in (2, 1)], 0, 1000)
    queue.publish([make_letter(7, batch_time_ms=2000, code="mapping").to_json()], 1, 2000)
    return queue


def run(queue, pipeline, **selection):
    return replay(queue, Selection(**selection), pipeline, now_ms=lambda: 99)


def test_each_letter_runs_just_before_its_batch(queue, pipeline):
    report = run(queue, pipeline)
    assert pipeline.calls == [([1, 2], 999), ([7], 1999)]
    assert (report.selected, report.replayed, report.failed_again, report.cut) == (3, 3, Counter(), [])


def test_marks_are_listed_and_a_second_replay_has_nothing_to_do(queue, pipeline):
    run(queue, pipeline)
    assert [entry.mark for entry in queue.entries()] == [Mark(ReplayOutcome.REPLAYED, 99)] * 3
    pipeline.calls.clear()
    assert (run(queue, pipeline).selected, pipeline.calls) == (0, [])
    assert run(queue, pipeline, has_replayed=True).replayed == 3


def test_letter_that_fails_again_says_so_and_stays_selectable(queue, pipeline):
    pipeline.refused = {2}
    report = run(queue, pipeline)
    assert (report.replayed, report.failed_again) == (2, Counter({"mapping": 1}))
    assert [(entry.letter.record.offset, entry.mark) for entry in queue.entries()] == [
        (2, Mark(ReplayOutcome.FAILED_AGAIN, 99, "mapping")),
        (1, Mark(ReplayOutcome.REPLAYED, 99)),
        (7, Mark(ReplayOutcome.REPLAYED, 99)),
    ]
    pipeline.refused = set()
    assert run(queue, pipeline).replayed == 1


@pytest.mark.parametrize("verdict", [Verdict.BLOCKED, Verdict.STOP, Verdict.NEEDS_FAMILIES])
def test_what_is_not_durable_stops_and_is_not_marked(queue, pipeline, verdict):
    pipeline.verdict = verdict
    with pytest.raises(ReplayStoppedError, match="stopped after 0 dead letters: no answer") as caught:
        run(queue, pipeline)
    assert caught.value.code == "store_unavailable"
    assert [entry.mark for entry in queue.entries()] == [None, None, None]


def test_replay_cut_off_goes_on_where_it_was(queue, pipeline, monkeypatch):
    monkeypatch.setattr(module, "CHUNK_RECORDS", 1)

    def cut_off(letters):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay(queue, Selection(), pipeline, now_ms=lambda: 99, on_progress=cut_off)
    assert run(queue, pipeline).selected == 2
    assert [offsets for offsets, _ in pipeline.calls] == [[1], [2], [7]]


@pytest.mark.parametrize(
    ("selection", "offsets"),
    [
        ({}, [2, 1, 7]),
        ({"codes": frozenset({"mapping"})}, [7]),
        ({"codes": frozenset({"mapping", "decorate"}), "until_ms": 2000}, [2, 1]),
        ({"since_ms": 1001}, [7]),
        ({"since_ms": 1000, "until_ms": 1001}, [2, 1]),
        ({"ids": frozenset({"ticks/0/1/0/split"})}, [1]),
        ({"ids": frozenset({"000000000001000-0000000000:0", "ticks/0/7/0/split"})}, [2, 7]),
        ({"ids": frozenset({"unknown"})}, []),
    ],
    ids=str,
)
def test_selection_holds(queue, selection, offsets):
    chosen = Selection(**selection)
    assert [entry.letter.record.offset for entry in queue.entries() if chosen.holds(entry)] == offsets


def test_record_with_several_letters_runs_once_and_marks_all(tmp_path, make_letter, pipeline):
    queue = FileDeadLetters(tmp_path, "p")
    letters = [make_letter(1, fan_out=0), make_letter(1, fan_out=1), make_letter(1, fan_out=1, component="sink")]
    queue.publish([letter.to_json() for letter in letters], 0, 1000)
    report = run(queue, pipeline)
    assert (pipeline.calls, report.replayed) == ([([1], 999)], 3)


def test_cut_letter_is_reported_and_left(tmp_path, make_letter, pipeline):
    queue = FileDeadLetters(tmp_path, "p")
    queue.publish([make_letter(1).pointing_to("/elsewhere:0").to_json(), make_letter(2).to_json()], 0, 1000)
    report = run(queue, pipeline)
    assert (report.selected, report.replayed, report.cut) == (2, 1, ["000000000001000-0000000000:0"])
    assert pipeline.calls == [([2], 999)]


class TestChunks:
    def entries(self, make_letter, records, batch_time_ms=1000):
        return [
            Entry(str(number), make_letter(0, record=record, batch_time_ms=batch_time_ms))
            for number, record in enumerate(records)
        ]

    def test_nothing_makes_none(self):
        assert list(chunks_of([])) == []

    def test_are_bounded_by_bytes_and_hold_at_least_one(self, make_letter, monkeypatch):
        monkeypatch.setattr(module, "CHUNK_BYTES", 10)
        sizes = [4, 6, 1, 30, 2]
        records = [Record("t", 0, offset, None, bytes(size), 0) for offset, size in enumerate(sizes)]
        chunks = list(chunks_of(self.entries(make_letter, records)))
        assert [[len(record.value or b"") for record in chunk.records] for chunk in chunks] == [[4, 6], [1], [30], [2]]

    def test_are_in_the_order_of_the_source(self, make_letter):
        places = [("t", 1, 10), ("t", 0, 9), ("s", 5, 1), ("t", 0, 10)]
        records = [Record(*place, None, b"", 0) for place in places]
        [chunk] = chunks_of(self.entries(make_letter, records))
        assert [record[:3] for record in chunk.records] == sorted(places)
        assert len(chunk.entries) == 4
