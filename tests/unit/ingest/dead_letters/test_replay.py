"""Replay: selection, order, sinks and marks."""

import dataclasses
from collections import Counter

import pytest

from ingest.api import Record, RecordPlace, StoreUnavailableError
from ingest.dead_letters.blobs import DeadLetterBlob
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.dead_letters.files import FileDeadLetters
from ingest.dead_letters.queue import Entry, Mark, ReplayOutcome
from ingest.dead_letters.replay import (
    Components,
    InterruptedReplayError,
    ReplayStoppedError,
    Selection,
    replay,
)
from ingest.dead_letters.replay_batches import SkipReason, batches_of
from ingest.receipt import Counts


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        ((SkipReason.COUNTED, SkipReason.ROLLED_BACK), SkipReason.ROLLED_BACK),
        ((SkipReason.RAN_AGAIN, SkipReason.COUNTED, SkipReason.NOT_IN_BATCH), SkipReason.RAN_AGAIN),
        ((SkipReason.NO_BLOB, SkipReason.RAN_AGAIN), SkipReason.NO_BLOB),  # by their order, not that of their texts
    ],
)
def test_reason_of_several_sinks_is_the_last_one(reasons, expected):
    assert SkipReason.of_sinks(reasons) is expected


class Pipeline:
    """Records its calls, and fails some records in one of its components."""

    def __init__(self, make_dead_letter) -> None:
        self.make_dead_letter = make_dead_letter
        self.failing_offsets: set[int] = set()
        self.failing_component = "sink"
        self.into: dict[int, frozenset[str]] = {}
        self.is_unavailable = False
        self.interrupted: list[int] = []
        self.calls: list[tuple[list[int], int]] = []
        self.records: list[Record] = []
        self.values: dict[RecordPlace, DeadLetterBlob | PlaceRange] = {}

    def __call__(self, records, batch_time_ms, only, values):
        if self.interrupted and self.interrupted != [record.offset for record in records]:
            raise InterruptedReplayError("of other records")
        self.interrupted = []
        assert {*only, *values} <= {record.place for record in records}
        self.into.update({place[2]: names for place, names in only.items()})
        self.values.update(values)
        self.records += records
        self.calls.append(([record.offset for record in records], batch_time_ms))
        if self.is_unavailable:
            raise StoreUnavailableError("no answer")
        dead_letters = [
            self.make_dead_letter(
                record.offset, batch_time_ms=batch_time_ms, code="mapping", component=self.failing_component, fan_out=3
            )
            for record in records
            if record.offset in self.failing_offsets
        ]
        return Counts(), [dead_letter.to_json() for dead_letter in dead_letters]


@pytest.fixture
def pipeline(make_dead_letter) -> Pipeline:
    return Pipeline(make_dead_letter)


@pytest.fixture
def queue(tmp_path, make_dead_letter) -> FileDeadLetters:
    queue = FileDeadLetters(tmp_path, "p")
    queue.publish([make_dead_letter(offset).to_json() for offset in (2, 1)], 0, 1000)
    queue.publish([make_dead_letter(7, batch_time_ms=2000, code="mapping").to_json()], 1, 2000)
    return queue


COMPONENTS = Components(sinks=frozenset({"sink", "other"}), decorators=frozenset({"split"}))


def run(queue, pipeline, components=COMPONENTS, **selection):
    *_, report = replay(queue, Selection(**selection), pipeline, components=components, now_ms=lambda: 99)
    return report


def test_dead_letters_run_1_ms_before_their_batch(queue, pipeline, make_dead_letter):
    report = run(queue, pipeline)
    assert pipeline.calls == [([1, 2], 999), ([7], 1999)]
    assert pipeline.records == [make_dead_letter(offset).record for offset in (1, 2, 7)]
    assert (pipeline.into, pipeline.values) == ({}, {})
    assert (report.selected, report.replayed, report.failed_again, report.cut) == (3, 3, Counter(), [])


def test_second_replay_selects_nothing(queue, pipeline):
    run(queue, pipeline)
    assert [entry.mark for entry in queue.entries()] == [Mark(ReplayOutcome.REPLAYED, 99)] * 3
    pipeline.calls.clear()
    assert (run(queue, pipeline).selected, pipeline.calls) == (0, [])
    assert run(queue, pipeline, has_replayed=True).replayed == 3


def test_dead_letter_that_fails_again_is_marked_and_stays_selectable(queue, pipeline):
    pipeline.failing_offsets = {2}
    report = run(queue, pipeline)
    assert (report.replayed, report.failed_again) == (2, Counter({"mapping": 1}))
    assert [(entry.dead_letter.record.offset, entry.mark) for entry in queue.entries()] == [
        (2, Mark(ReplayOutcome.FAILED_AGAIN, 99, "mapping")),
        (1, Mark(ReplayOutcome.REPLAYED, 99)),
        (7, Mark(ReplayOutcome.REPLAYED, 99)),
    ]
    pipeline.failing_offsets = set()
    assert run(queue, pipeline).replayed == 1


def test_batch_that_is_not_durable_stops_the_replay_without_marks(queue, pipeline):
    pipeline.is_unavailable = True
    with pytest.raises(ReplayStoppedError, match="stopped after 0 dead letters: no answer") as caught:
        run(queue, pipeline)
    assert caught.value.code == "store_unavailable"
    assert [entry.mark for entry in queue.entries()] == [None, None, None]


def test_interrupted_replay_can_be_resumed(queue, pipeline):
    next(replay(queue, Selection(), pipeline, components=COMPONENTS, now_ms=lambda: 99))
    assert run(queue, pipeline).selected == 1
    assert [offsets for offsets, _ in pipeline.calls] == [[1, 2], [7]]


def test_interrupted_replay_of_a_later_batch_runs_first(queue, pipeline):
    pipeline.interrupted = [7]
    report = run(queue, pipeline)
    assert pipeline.calls == [([7], 1999), ([1, 2], 999)]
    assert (report.selected, report.replayed) == (3, 3)


def test_interrupted_replay_that_is_not_selected_stops_the_replay(queue, pipeline):
    pipeline.interrupted = [7]
    with pytest.raises(ReplayStoppedError, match="stopped after 0 dead letters: of other records") as caught:
        run(queue, pipeline, until_ms=2000)
    assert (caught.value.code, pipeline.calls) == ("other_replay", [])


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
)
def test_selection_matches(queue, selection, offsets):
    chosen = Selection(**selection)
    assert [entry.dead_letter.record.offset for entry in queue.entries() if chosen.matches(entry)] == offsets


def test_record_with_several_dead_letters_runs_once(tmp_path, make_dead_letter, pipeline):
    queue = FileDeadLetters(tmp_path, "p")
    dead_letters = [
        make_dead_letter(1, fan_out=0),
        make_dead_letter(1, fan_out=1),
        make_dead_letter(1, fan_out=1, component="sink"),
    ]
    queue.publish([dead_letter.to_json() for dead_letter in dead_letters], 0, 1000)
    report = run(queue, pipeline)
    assert (pipeline.calls, report.replayed) == ([([1], 999)], 3)


def test_incomplete_dead_letter_is_reported_and_not_run(tmp_path, make_dead_letter, pipeline):
    queue = FileDeadLetters(tmp_path, "p")
    queue.publish([make_dead_letter(1).pointing_to("/elsewhere:0").to_json(), make_dead_letter(2).to_json()], 0, 1000)
    report = run(queue, pipeline)
    assert (report.selected, report.replayed, report.cut) == (2, 1, ["000000000001000-0000000000:0"])
    assert pipeline.calls == [([2], 999)]


class TestSinks:
    """The sinks into which a dead letter runs, and whose failures it counts."""

    @pytest.fixture
    def dead_letters_of(self, tmp_path, make_dead_letter):
        def publish(*components):
            """One record for each argument, with a dead letter for each of its components."""
            queue = FileDeadLetters(tmp_path, "p")
            dead_letters = [
                make_dead_letter(offset, component=component).to_json()
                for offset, several in enumerate(components)
                for component in several.split()
            ]
            queue.publish(dead_letters, 0, 1000)
            return queue

        return publish

    @pytest.mark.parametrize(
        ("components", "into"),
        [
            (["sink", "sink"], {0: {"sink"}, 1: {"sink"}}),
            (["split", "source", "gone"], {}),
            (["sink", "other"], {0: {"sink"}, 1: {"other"}}),
            (["sink other", "sink"], {0: {"sink", "other"}, 1: {"sink"}}),
            (["sink split"], {}),
            (["sink", "split", "sink"], {0: {"sink"}, 2: {"sink"}}),
        ],
        ids=lambda value: "-".join(value).replace(" ", "+") if isinstance(value, list) else "",
    )
    def test_dead_letter_of_a_sink_runs_only_into_that_sink(self, dead_letters_of, pipeline, components, into):
        report = run(dead_letters_of(*components), pipeline)
        # in one call: a later record may delete what an earlier one has put
        assert [called for called, _ in pipeline.calls] == [list(range(len(components)))]
        assert pipeline.into == into
        assert report.replayed == sum(len(several.split()) for several in components)

    @pytest.mark.parametrize("decorator", ["sink", None])
    def test_dead_letter_of_an_ambiguous_name_runs_into_all_sinks(self, dead_letters_of, pipeline, decorator):
        name = decorator or "source"
        components = Components(sinks=frozenset({name, "other"}), decorators=frozenset({"sink"}))
        run(dead_letters_of(name), pipeline, components)
        assert pipeline.into == {}

    @pytest.mark.parametrize(
        ("component", "failing_component", "fails"),
        [
            ("sink", "sink", True),
            ("sink", "other", False),
            ("sink", "split", True),
            ("sink", "source", True),
            ("split", "other", True),
            ("gone", "other", True),
        ],
    )
    def test_failure_of_another_sink_does_not_count_for_a_dead_letter_of_a_sink(
        self, dead_letters_of, pipeline, component, failing_component, fails
    ):
        pipeline.failing_offsets, pipeline.failing_component = {0}, failing_component
        report = run(dead_letters_of(component), pipeline)
        assert (report.replayed, report.failed_again.total()) == ((0, 1) if fails else (1, 0))

    def test_of_two_dead_letters_of_a_record_only_that_of_the_failing_sink_fails_again(self, dead_letters_of, pipeline):
        queue = dead_letters_of("sink other")
        pipeline.failing_offsets, pipeline.failing_component = {0}, "other"
        assert run(queue, pipeline).failed_again == Counter({"mapping": 1})
        outcomes = {entry.dead_letter.component: entry.mark.outcome for entry in queue.entries()}
        assert outcomes == {"sink": ReplayOutcome.REPLAYED, "other": ReplayOutcome.FAILED_AGAIN}

    def test_components_that_no_longer_exist_are_reported(self, dead_letters_of, pipeline):
        queue = dead_letters_of("gone", "sink", "gone", "split", "source", "too")
        assert run(queue, pipeline).renamed == Counter({"gone": 2, "too": 1})

    def test_renamed_component_is_not_reported_with_a_single_sink(self, dead_letters_of, pipeline):
        only = Components(sinks=frozenset({"sink"}), decorators=frozenset())
        assert run(dead_letters_of("gone"), pipeline, only).renamed == Counter()


class TestBatches:
    def test_no_entries_make_no_batch(self):
        assert list(batches_of([])) == []

    def test_batch_has_its_records_in_the_order_of_the_source(self, make_dead_letter):
        places = [("t", 1, 10), ("t", 0, 9), ("s", 5, 1), *(("t", 0, 10 + number) for number in range(1_000))]
        entries = [
            Entry(str(number), make_dead_letter(0, record=Record(*place, None, b"", 0)))
            for number, place in enumerate(places)
        ]
        [batch] = batches_of(entries)
        assert [record.place for record in batch.records] == sorted(places)
        assert len(batch.entries) == len(places)


class TestSkipped:
    """Dead letters that do not run."""

    def run(self, queue, pipeline, reasons: dict[int, SkipReason]):
        marked = []
        *_, report = replay(
            queue,
            Selection(),
            pipeline,
            components=COMPONENTS,
            now_ms=lambda: 99,
            skip_reason=lambda entry: reasons.get(entry.dead_letter.record.offset),
            on_marked=lambda: marked.append(len(pipeline.calls)),
        )
        return report, marked

    def test_records_that_ran_again_are_marked_and_not_run(self, queue, pipeline):
        report, marked = self.run(queue, pipeline, {2: SkipReason.RAN_AGAIN, 7: SkipReason.RAN_AGAIN})
        assert pipeline.calls == [([1], 999)]
        assert marked == [1]  # the second batch had nothing to run
        assert (report.selected, report.replayed, report.skipped) == (3, 1, Counter({SkipReason.RAN_AGAIN: 2}))
        marks = {entry.dead_letter.record.offset: entry.mark for entry in queue.entries()}
        assert marks[7] == Mark(ReplayOutcome.REPLAYED, 99, "ran_again")
        assert run(queue, pipeline).selected == 0

    def test_records_of_batches_that_were_rolled_back_stay_selectable(self, queue, pipeline):
        report, _ = self.run(queue, pipeline, {7: SkipReason.ROLLED_BACK})
        assert report.skipped == Counter({SkipReason.ROLLED_BACK: 1})
        assert run(queue, pipeline).selected == 1


def test_dead_letter_that_is_replaced_while_the_batch_before_it_runs_is_not_marked(queue, pipeline, make_dead_letter):
    """Its micro-batch is killed before its acknowledgement, and runs again with a corrected file meanwhile."""
    unacknowledged_ms = {2000}

    def run_records(*arguments):
        queue.publish([make_dead_letter(8, batch_time_ms=2000).to_json()], 1, 2000)
        unacknowledged_ms.clear()
        return pipeline(*arguments)

    *_, report = replay(
        queue,
        Selection(),
        run_records,
        components=COMPONENTS,
        now_ms=lambda: 99,
        runs_again=lambda entry: entry.dead_letter.batch_time_ms in unacknowledged_ms,
    )
    assert (report.replayed, report.skipped) == (2, Counter({SkipReason.RUNS_AGAIN: 1}))
    assert [(entry.dead_letter.record.offset, entry.is_replayed) for entry in queue.entries()] == [
        (2, True),
        (1, True),
        (8, False),
    ]


def test_blobs_are_released_after_the_marks_of_their_dead_letters(tmp_path, pipeline, make_dead_letter):
    queue = FileDeadLetters(tmp_path / "large", "p")
    blob = DeadLetterBlob("events", "ab" * 32, 5)
    letters = [make_dead_letter(offset).with_blob(blob).to_json() for offset in (1, 2, 7)]
    queue.publish([*letters, make_dead_letter(3).to_json()], 0, 1000)
    pipeline.failing_offsets = {1}
    reasons = {7: SkipReason.RAN_AGAIN}
    released = []

    def on_released(dead_letters):
        marks = {entry.dead_letter.id: entry.mark for entry in queue.entries()}
        released.extend((dead_letter.record.offset, marks[dead_letter.id].outcome) for dead_letter in dead_letters)

    found = replay(
        queue,
        Selection(),
        pipeline,
        components=COMPONENTS,
        now_ms=lambda: 99,
        skip_reason=lambda entry: reasons.get(entry.dead_letter.record.offset),
        on_released=on_released,
    )
    assert len(list(found)) == 3
    assert released == [(7, ReplayOutcome.REPLAYED), (2, ReplayOutcome.REPLAYED)]
    assert pipeline.values == {("ticks", 0, offset): blob for offset in (1, 2)}


def test_values_in_a_blob_store_are_passed_by_the_place_of_their_records(queue, make_dead_letter):
    blob = DeadLetterBlob("events", "ab" * 32, 5)
    letters = [make_dead_letter(0).with_blob(blob), make_dead_letter(0, component="sink").with_blob(blob)]
    queue.publish([each.to_json() for each in [*letters, make_dead_letter(1)]], 5, 5000)
    *_, batch = batches_of(entry for entry in queue.entries() if entry.position.endswith(("5:0", "5:1", "5:2")))
    assert batch.values == {("ticks", 0, 0): blob}
    assert [record.value for record in batch.records] == [None, b"v"]


class TestByPlace:
    """Dead letters that have the places of their records in place of bytes."""

    @pytest.fixture
    def place(self, make_dead_letter):
        def place(offset: int, end: int | None, component: str = "split", *, was_read: bool = True, **fields):
            record = make_dead_letter(offset).record._replace(key=None, value=None)
            unread = PlaceRange(end, was_read=was_read)
            return make_dead_letter(record=record, component=component, by_place=unread, **fields)

        return place

    @pytest.fixture
    def batches(self, tmp_path):
        def batches(*letters: DeadLetter) -> list[list[tuple[int, float | None, set[str]]]]:
            """First offset, end and sinks, empty for all, of the places of each batch."""
            queue = FileDeadLetters(tmp_path, "p")
            queue.publish([letter.to_json() for letter in letters], 0, 1000)
            found = []
            for batch in batches_of(queue.entries(), frozenset({"sink", "other"})):
                assert batch.is_by_place == bool(batch.values)
                if batch.records:
                    places = [(record.place, batch.values.get(record.place)) for record in batch.records]
                    found.append(
                        [
                            (place[2], value and value.end, set(batch.sinks_by_record.get(place, ())))
                            for place, value in places
                        ]
                    )
            return found

        return batches

    def test_places_of_a_micro_batch_run_together_after_its_other_dead_letters(self, batches, place, make_dead_letter):
        assert batches(place(20, 30), make_dead_letter(15), place(10, 12, "sink"), place(10, 12, "other")) == [
            [(15, None, set())],
            [(10, 12, {"sink", "other"}), (20, 30, set())],
        ]

    def test_places_that_overlap_run_one_after_the_other(self, batches, place):
        assert batches(place(10, 20, "sink"), place(15, 16), place(20, 21), place(15, 18, "other")) == [
            [(10, 20, {"sink"}), (20, 21, set())],
            [(15, 16, set())],
            [(15, 18, {"other"})],
        ]

    @pytest.mark.parametrize("changed", [{"partition": 1}, {"topic": "tocks"}])
    def test_places_of_different_partitions_run_together(self, batches, place, changed):
        other = place(12, 14)
        other = dataclasses.replace(other, record=other.record._replace(**changed))
        assert batches(place(10, 20), other) == [[(10, 20, set()), (12, 14, set())]]

    def test_place_without_an_end_overlaps_all_that_begin_later(self, batches, place):
        assert batches(place(20, None, was_read=False), place(30, 40, was_read=False)) == [
            [(20, None, set())],
            [(30, 40, set())],
        ]

    def test_records_that_were_not_read_are_apart(self, batches, place):
        assert batches(place(10, 20), place(20, None, was_read=False)) == [
            [(10, 20, set())],
            [(20, None, set())],
        ]

    def test_place_that_was_not_read_runs_unless_a_later_dead_letter_has_it(self, tmp_path, place, pipeline):
        queue = FileDeadLetters(tmp_path, "p")
        for number, time_ms in enumerate((1000, 2000)):
            letters = [place(10, 11, was_read=False, batch_time_ms=time_ms)]
            letters.append(place(20 + number, 22, was_read=False, batch_time_ms=time_ms))
            queue.publish([letter.to_json() for letter in letters], number, time_ms)
        report = run(queue, pipeline)
        assert report.skipped == Counter({SkipReason.SUPERSEDED: 1})
        assert pipeline.calls == [([20], 999), ([10, 21], 1999)]

    def test_dead_letters_of_a_place_are_found_by_its_records(self, tmp_path, place):
        queue = FileDeadLetters(tmp_path, "p")
        queue.publish([place(10, 12, "sink").to_json(), place(20, 30).to_json()], 0, 1000)
        batch = list(batches_of(queue.entries()))[-1]
        found = [[entry.dead_letter.record.offset for entry in batch.by_place_at(("ticks", 0, at))] for at in range(32)]
        assert [at for at in range(32) if found[at]] == [10, 11, *range(20, 30)]
        assert batch.by_place_at(("ticks", 1, 10)) == ()
        assert batch.by_place_at(("gone", 0, 10)) == ()

    @pytest.mark.parametrize(
        ("component", "failed", "stays"),
        [("sink", "sink", False), ("sink", "other", True), ("split", "sink", False), ("split", "split", False)],
    )
    def test_dead_letters_of_an_earlier_replay_stay_if_they_are_of_other_sinks(
        self, tmp_path, place, make_dead_letter, pipeline, component, failed, stays
    ):
        queue = FileDeadLetters(tmp_path, "p")
        queue.publish([place(10, 20, component).to_json()], 0, 1000)
        earlier = make_dead_letter(15, component=failed, batch_time_ms=999)
        queue.publish([earlier.to_json(), make_dead_letter(25, batch_time_ms=999).to_json()], 0, 999)
        run(queue, pipeline, since_ms=1000)
        assert pipeline.into == ({10: {"sink"}} if component == "sink" else {})
        remaining = [entry.dead_letter.record.offset for entry in queue.entries()]
        assert remaining == ([15, 25, 10] if stays else [25, 10])

    def test_records_that_fail_again_have_dead_letters_whether_by_place_or_not(
        self, tmp_path, place, make_dead_letter, pipeline
    ):
        queue = FileDeadLetters(tmp_path, "p")
        queue.publish([place(10, 20).to_json()], 0, 1000)
        again = [make_dead_letter(12, batch_time_ms=999, code="one"), place(14, 17, batch_time_ms=999, code="other")]

        def fails(*arguments):
            pipeline(*arguments)
            return Counts(), [letter.to_json() for letter in again]

        *_, report = replay(queue, Selection(), fails, components=COMPONENTS, now_ms=lambda: 99)
        assert pipeline.values == {("ticks", 0, 10): PlaceRange(20, was_read=True)}
        assert pipeline.calls == [([10], 999)]
        assert (report.replayed, report.failed_again, report.published) == (1, Counter(), Counter(one=1, other=1))
        remaining = [entry.dead_letter for entry in queue.entries() if not entry.is_replayed]
        assert remaining == [dataclasses.replace(letter, source_batch_ms=1000) for letter in again]
        # the place of a record that failed has a later dead letter, which was replayed
        assert run(queue, pipeline).selected == 2
        assert pipeline.calls[1:] == [([12], 998), ([14], 998)]

    def test_source_batch_and_topic_stay_the_same_after_several_replays(self, tmp_path, place, make_dead_letter):
        queue = FileDeadLetters(tmp_path, "p")
        queue.publish([place(10, 20).in_topic("id").to_json()], 0, 1000)

        def fails(records, batch_time_ms, only, values):
            assert (records, only) == ((place(10, 20).record,), {})
            assert values == {("ticks", 0, 10): PlaceRange(20, was_read=True, topic_id="id")}
            return Counts(), [place(10, 20, batch_time_ms=batch_time_ms).to_json()]

        for _ in range(3):
            list(replay(queue, Selection(), fails, components=COMPONENTS, now_ms=lambda: 99))
        found = [entry.dead_letter for entry in queue.entries() if not entry.is_replayed]
        assert [(each.batch_time_ms, each.source_ms) for each in found] == [(997, 1000)]
        assert [each.by_place.topic_id for each in found] == ["id"]
