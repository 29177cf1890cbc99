"""Queues of dead letters, in files and in a topic."""

import json
import os
import stat
from dataclasses import replace
from functools import partial
from itertools import chain, cycle
from types import MappingProxyType

import pytest

from ingest.api import ConfigError, IntegrityError, NotFoundError, Record, SourceUnavailableError, StoreUnavailableError
from ingest.dead_letters.blobs import DeadLetterBlob
from ingest.dead_letters.files import FileDeadLetters, folder_of
from ingest.dead_letters.kafka import KafkaDeadLetters
from ingest.dead_letters.queue import Mark, ReplayOutcome
from ingest.dead_letters.topic_records import ORIGINAL_HEADERS, in_headers, in_json
from ingest.kafka.loops import cluster_of_reader, clusters_of_sinks
from ingest.observe.logs import set_up
from ingest.sources.files import FilesSourceSettings
from ingest.sources.kafka import KafkaSourceSettings
from sinks.kafka.sink import KafkaSinkSettings
from sinks.memory import MemorySettings
from tests.support.kafka_server import CLUSTER_ID, KafkaServer

DONE = Mark(ReplayOutcome.REPLAYED, 77)
FAILED = Mark(ReplayOutcome.FAILED_AGAIN, 88, "mapping")
BLOB = DeadLetterBlob("events", "ab" * 32, 70_000_000)


IN_HEADERS = partial(in_headers, sinks=["split"])


def in_topic(
    topic,
    state_dir,
    *,
    pipeline="p",
    max_message_bytes=1_000_000,
    cluster_of_reader=None,
    clusters_of_sinks=MappingProxyType({}),
    envelope=in_json,
):
    topic.limit = max_message_bytes
    return KafkaDeadLetters(
        topic.name,
        pipeline=pipeline,
        state=state_dir,
        admin=lambda: topic,
        producer=lambda: topic,
        reader=lambda: topic,
        cluster_of_reader=cluster_of_reader,
        clusters_of_sinks=clusters_of_sinks,
        envelope=envelope,
    )


@pytest.fixture(params=["files", "topic", "topic with headers", "topic of both envelopes"])
def reopened(request, tmp_path, topic):
    """Opens the same queue at each call, as another process would."""
    envelopes = {
        "topic": cycle([in_json]),
        "topic with headers": cycle([IN_HEADERS]),
        "topic of both envelopes": cycle([in_json, IN_HEADERS]),  # the file is changed and changed back
    }.get(request.param)

    def open_queue():
        if envelopes is None:
            return FileDeadLetters(tmp_path, "p")
        return in_topic(topic, tmp_path, envelope=next(envelopes))

    return open_queue


def publish(queue, dead_letters, batch_id, batch_time_ms):
    queue.publish([dead_letter.to_json() for dead_letter in dead_letters], batch_id, batch_time_ms)


def dead_letters_in(queue):
    return [entry.dead_letter for entry in queue.entries()]


class TestEveryQueue:
    def test_is_empty_before_the_first_publication(self, reopened):
        assert list(reopened().entries()) == []

    def test_entries_are_sorted_by_batch_time(self, reopened, make_dead_letter):
        batches = [(9, 1000), (10, 1002), (0, 2000)]
        expected = [[make_dead_letter(offset, batch_time_ms=time) for offset in (1, 2)] for _, time in batches]
        for (batch_id, time), dead_letters in zip(batches, expected, strict=True):
            publish(reopened(), dead_letters, batch_id, time)
        found = dead_letters_in(reopened())
        assert [dead_letter.batch_time_ms for dead_letter in found] == [1000, 1000, 1002, 1002, 2000, 2000]
        assert sorted(found, key=lambda dead_letter: (dead_letter.batch_time_ms, dead_letter.record.offset)) == [
            *chain(*expected)
        ]

    def test_batch_published_twice_has_its_entries_once(self, reopened, make_dead_letter):
        dead_letters = [make_dead_letter(offset) for offset in range(5)]
        publish(reopened(), dead_letters, 3, 1000)
        before = dead_letters_in(reopened())
        publish(reopened(), dead_letters, 3, 1000)
        assert dead_letters_in(reopened()) == before

    def test_dead_letter_that_is_published_again_has_no_mark(self, reopened, make_dead_letter):
        """As by `replay --all` of a place, whose records have failed again since they were replayed."""
        publish(reopened(), [make_dead_letter(offset) for offset in range(2)], 0, 1000)
        queue = reopened()
        queue.mark({entry.position: DONE for entry in queue.entries()})
        publish(reopened(), [make_dead_letter(offset) for offset in range(2)], 0, 1000)
        again = list(reopened().entries())
        assert [each.mark for each in again] == [None, None]
        reopened().mark({again[1].position: FAILED})
        assert [each.mark for each in reopened().entries()] == [None, FAILED]
        assert [reopened().read(each.position).mark for each in again] == [None, FAILED]

    def test_last_publication_of_a_batch_counts(self, reopened, make_dead_letter):
        publish(reopened(), [make_dead_letter(offset, code="no_match") for offset in range(2)], 3, 1000)
        publish(reopened(), [make_dead_letter(offset, code="bad_number") for offset in range(2)], 3, 1000)
        assert [dead_letter.code for dead_letter in dead_letters_in(reopened())] == ["bad_number"] * 2

    def test_batch_of_the_same_number_and_another_time_is_another_batch(self, reopened, make_dead_letter):
        publish(reopened(), [make_dead_letter(1)], 0, 1000)
        publish(reopened(), [make_dead_letter(1, batch_time_ms=5000)], 0, 5000)
        assert dead_letters_in(reopened()) == [make_dead_letter(1), make_dead_letter(1, batch_time_ms=5000)]

    def test_entry_can_be_read_by_its_position(self, reopened, make_dead_letter):
        publish(reopened(), [make_dead_letter(offset) for offset in range(4)], 3, 1000)
        queue = reopened()
        for entry in queue.entries():
            assert queue.read(entry.position) == entry

    def test_dead_letter_with_a_blob_is_read_as_published(self, reopened, make_dead_letter):
        dead_letter = make_dead_letter().with_blob(BLOB)
        publish(reopened(), [dead_letter], 3, 1000)
        assert [entry.dead_letter for entry in reopened().entries()] == [dead_letter]

    @pytest.mark.parametrize("position", ["", "x", "0:99", "7:0", "000000000001000-0000000003:99", "../x:0", "0:-1"])
    def test_unknown_position_is_not_found(self, reopened, make_dead_letter, position):
        publish(reopened(), [make_dead_letter()], 3, 1000)
        with pytest.raises(NotFoundError, match="dead-letters list"):
            reopened().read(position)

    def test_marks_are_durable_and_the_last_one_counts(self, reopened, make_dead_letter):
        publish(reopened(), [make_dead_letter(offset) for offset in range(3)], 3, 1000)
        queue = reopened()
        first, second, _ = [entry.position for entry in queue.entries()]
        queue.mark({first: FAILED, second: FAILED})
        queue.mark({second: DONE})
        queue.mark({})
        assert [entry.mark for entry in reopened().entries()] == [FAILED, DONE, None]
        assert reopened().read(second).mark == DONE

    def test_marks_have_the_sinks_that_have_counted_the_record(self, reopened, make_dead_letter):
        publish(reopened(), [make_dead_letter()], 3, 1000)
        (entry,) = reopened().entries()
        mark = Mark(ReplayOutcome.REPLAYED, 77, "", {"first": 1_000, "second": 999})
        reopened().mark({entry.position: mark})
        assert reopened().read(entry.position).mark == mark

    def test_queue_can_be_closed_twice(self, reopened, make_dead_letter):
        queue = reopened()
        publish(queue, [make_dead_letter()], 0, 1000)
        queue.close()
        queue.close()

    def test_empty_publication_creates_no_file(self, reopened, tmp_path):
        reopened().publish([], 0, 1000)
        assert list(tmp_path.iterdir()) == []


class TestFiles:
    def test_publication_replaces_that_of_an_earlier_attempt(self, tmp_path, make_dead_letter):
        queue = FileDeadLetters(tmp_path, "p")
        publish(queue, [make_dead_letter(1), make_dead_letter(2)], 3, 1000)
        publish(queue, [make_dead_letter(2)], 3, 1000)
        assert dead_letters_in(queue) == [make_dead_letter(2)]
        publish(queue, [], 3, 1000)
        assert dead_letters_in(queue) == []

    def test_publication_returns_the_large_dead_letters_that_it_has_replaced(self, tmp_path, make_dead_letter):
        queue = FileDeadLetters(tmp_path, "p")
        first, second, third = (make_dead_letter(offset).with_blob(BLOB) for offset in range(3))
        lines = [each.to_json() for each in (first, second, make_dead_letter(7))]
        assert queue.publish(lines, 3, 1000) == []
        assert queue.publish([first.to_json(), third.to_json()], 3, 1000) == [second]
        assert queue.publish([first.to_json(), third.to_json()], 3, 1000) == []
        assert queue.publish([], 3, 1000) == [first, third]

    def test_replaced_dead_letter_whose_blob_another_one_of_its_event_needs_is_not_returned(
        self, tmp_path, make_dead_letter
    ):
        queue = FileDeadLetters(tmp_path, "p")
        letter = make_dead_letter().with_blob(BLOB)
        for number in (1_000_000_003, 1_000_000_004):  # replays of two ranges with the same record
            publish(queue, [letter], number, 1000)
        publish(queue, [make_dead_letter(batch_time_ms=2000).with_blob(BLOB)], 4, 2000)
        assert queue.publish([], 1_000_000_003, 1000) == []
        publish(queue, [letter], 1_000_000_003, 1000)
        queue.mark({entry.position: DONE for entry in queue.entries() if entry.position.endswith("3:0")})
        assert queue.publish([], 1_000_000_004, 1000) == [letter]

    def test_dead_letters_that_stay_keep_positions_marks_and_blobs(self, tmp_path, make_dead_letter):
        queue = FileDeadLetters(tmp_path, "p")
        before = [make_dead_letter(offset, component=f"sink{offset % 2}").with_blob(BLOB) for offset in range(5)]
        publish(queue, before, 3, 1000)
        queue.mark({f"000000000001000-0000000003:{line}": DONE for line in (2, 3, 4)})
        again = make_dead_letter(4, component="sink0", code="other").with_blob(BLOB)

        def keeps(dead_letter):
            return dead_letter.component == "sink1"

        for _ in range(2):  # an attempt that was not acknowledged
            released = queue.publish([again.to_json()], 3, 1000, keeps)
            found = [(entry.position[-2:], entry.dead_letter, entry.mark) for entry in queue.entries()]
            assert found == [(":1", before[1], None), (":3", before[3], DONE), (":4", again, None)]
        assert released == []
        assert queue.publish([], 3, 1000, keeps) == [again]
        assert [entry.position[-2:] for entry in queue.entries()] == [":1", ":3"]
        assert queue.publish([], 3, 1000) == [before[1], before[3]]

    def test_damaged_dead_letter_is_replaced(self, tmp_path, make_dead_letter):
        queue = FileDeadLetters(tmp_path, "p")
        letter = make_dead_letter().with_blob(BLOB)
        assert queue.publish([letter.to_json(), b"{"], 3, 1000) == []
        assert queue.publish([], 3, 1000) == [letter]

    def test_marks_are_removed_when_a_publication_replaces_their_dead_letters(self, tmp_path, make_dead_letter):
        queue = FileDeadLetters(tmp_path, "p")
        publish(queue, [make_dead_letter(1), make_dead_letter(2)], 3, 1000)
        queue.mark({"000000000001000-0000000003:0": DONE})
        publish(queue, [make_dead_letter(2), make_dead_letter(1)], 3, 1000)
        assert [entry.mark for entry in queue.entries()] == [None, None]

    def test_file_has_a_line_for_each_dead_letter_and_only_its_owner_can_read_it(self, tmp_path, make_dead_letter):
        dead_letters = [make_dead_letter(1), make_dead_letter(2, value=b"a\nb")]
        publish(FileDeadLetters(tmp_path / "a" / "state", "p"), dead_letters, 3, 1308748686334)
        folder = tmp_path / "a" / "state" / "dead-letters" / "p"
        assert [path.name for path in folder.iterdir()] == ["001308748686334-0000000003.jsonl"]
        assert next(folder.iterdir()).read_bytes().splitlines() == [
            dead_letter.to_json() for dead_letter in dead_letters
        ]
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    def test_other_files_are_ignored(self, tmp_path, make_dead_letter):
        queue = FileDeadLetters(tmp_path, "p")
        publish(queue, [make_dead_letter()], 3, 1000)
        for name in ("notes.txt", ".000000000001000-0000000004.jsonl.77.tmp", "1-2.jsonl"):
            (tmp_path / "dead-letters" / "p" / name).write_bytes(b"rubbish")
        assert dead_letters_in(queue) == [make_dead_letter()]

    def test_error_names_the_damaged_line(self, tmp_path, make_dead_letter):
        queue = FileDeadLetters(tmp_path, "p")
        publish(queue, [make_dead_letter(1), make_dead_letter(2)], 3, 1000)
        path = tmp_path / "dead-letters" / "p" / "000000000001000-0000000003.jsonl"
        path.write_bytes(path.read_bytes()[:-30])
        with pytest.raises(IntegrityError, match=r'0000000003\.jsonl", line 2: '):
            dead_letters_in(queue)

    def test_truncated_mark_is_ignored(self, tmp_path, make_dead_letter):
        queue = FileDeadLetters(tmp_path, "p")
        publish(queue, [make_dead_letter(offset) for offset in range(3)], 3, 1000)
        stem = "000000000001000-0000000003"
        queue.mark({f"{stem}:0": DONE, f"{stem}:1": DONE})
        path = tmp_path / "dead-letters" / "p" / f"{stem}.replayed"
        path.write_bytes(path.read_bytes()[:-5])
        queue.mark({f"{stem}:2": DONE})
        assert [entry.mark for entry in queue.entries()] == [DONE, None, DONE]

    @pytest.mark.parametrize("pipeline", ["..", ".", "../../etc", "/etc", "a/b", "a\x00b", "", "ünï"])
    def test_folder_is_inside_the_state_folder_for_any_pipeline_name(self, tmp_path, pipeline):
        folder = folder_of(tmp_path, pipeline)
        assert os.path.normpath(folder) == str(folder)
        assert folder.parent == tmp_path / "dead-letters" or pipeline == ""

    def test_folder_that_cannot_be_created_is_a_transient_error(self, tmp_path, make_dead_letter):
        (tmp_path / "dead-letters").write_bytes(b"a file in the way")
        with pytest.raises(StoreUnavailableError, match='dead-letters/p" cannot be used: ') as caught:
            publish(FileDeadLetters(tmp_path, "p"), [make_dead_letter()], 3, 1000)
        assert caught.value.code == "disk_denied"

    def test_marks_without_their_file_do_not_apply_to_a_later_publication(self, tmp_path, make_dead_letter):
        queue = FileDeadLetters(tmp_path, "p")
        publish(queue, [make_dead_letter()], 3, 1000)
        (entry,) = queue.entries()
        queue.remove([entry.position])
        queue.mark({entry.position: DONE})  # by a replay that had read it before
        publish(queue, [make_dead_letter()], 3, 1000)
        assert [entry.mark for entry in queue.entries()] == [None]

    def test_file_that_is_removed_while_entries_are_read_is_left_out(self, tmp_path, make_dead_letter):
        queue = FileDeadLetters(tmp_path, "p")
        for batch in range(3):
            publish(queue, [make_dead_letter(batch)], batch, 1000 + batch)
        entries = queue.entries()
        first = next(entries)
        queue.remove([f"{1001:015}-{1:010}:0"])
        assert [each.dead_letter.record.offset for each in (first, *entries)] == [0, 2]


class TestTopic:
    def test_record_has_key_and_headers(self, tmp_path, topic, make_dead_letter):
        publish(in_topic(topic, tmp_path), [make_dead_letter(7)], 3, 1000)
        [record] = chain(*topic.records)
        headers = [("pipeline", b"p"), ("component", b"split"), ("error", b"decorate")]
        assert record == (b"ticks/0/7/0/split", make_dead_letter(7).to_json(), headers)

    def test_too_large_dead_letter_is_in_a_file_and_the_topic_points_to_it(self, tmp_path, topic, make_dead_letter):
        dead_letters = [
            make_dead_letter(1),
            make_dead_letter(2, value=bytes(3000)),
            make_dead_letter(3, value=b"x" * 5000),
        ]
        queue = in_topic(topic, tmp_path, max_message_bytes=2000)
        publish(queue, dead_letters, 3, 1000)
        path = tmp_path / "dead-letters" / "p" / "000000000001000-0000000003.jsonl"
        pointers = {f"{path}:0", f"{path}:1"}
        values = [value for _, value, _ in chain(*topic.records)]
        assert max(map(len, values)) < 2000
        assert {pointer for pointer in pointers if any(pointer.encode() in value for value in values)} == pointers
        assert sorted(dead_letters_in(queue), key=lambda dead_letter: dead_letter.record.offset) == dead_letters

    def test_too_large_dead_letters_that_stay_are_read_from_their_lines(self, tmp_path, topic, make_dead_letter):
        queue = in_topic(topic, tmp_path, max_message_bytes=2000)
        names = ("done", "kept", "run")
        done, kept, run = (make_dead_letter(7, value=bytes(3000), component=name) for name in names)
        publish(queue, [done, kept, run], 3, 1000)
        again = make_dead_letter(7, value=bytes(3000), component="run", code="other")
        queue.publish([again.to_json()], 3, 1000, lambda dead_letter: dead_letter.component == "kept")
        assert [entry.dead_letter for entry in queue.entries() if entry.dead_letter.pointer is None] == [kept, again]

    def test_pointer_to_the_line_of_another_dead_letter_is_not_followed(self, tmp_path, topic, make_dead_letter):
        queue = in_topic(topic, tmp_path, max_message_bytes=2000)
        first, second = (make_dead_letter(offset, value=bytes(3000)) for offset in (1, 2))
        publish(queue, [first, second], 3, 1000)
        publish(queue, [second], 3, 1000)
        found = {each.record.offset: each for each in dead_letters_in(queue)}
        assert found[1].pointer is not None
        assert found[2] == second

    def test_dead_letter_whose_file_is_on_another_machine_is_incomplete(self, tmp_path, topic, make_dead_letter):
        publish(
            in_topic(topic, tmp_path / "one", max_message_bytes=2000), [make_dead_letter(2, value=bytes(3000))], 3, 1000
        )
        [dead_letter] = dead_letters_in(in_topic(topic, tmp_path / "two"))
        assert dead_letter.pointer is not None
        assert dead_letter.record == Record("ticks", 0, 2, None, None, 5)

    def test_pointer_opens_no_other_file(self, tmp_path, topic, make_dead_letter):
        other = FileDeadLetters(tmp_path, "other")
        publish(other, [make_dead_letter(1)], 3, 1000)
        path = tmp_path / "dead-letters" / "other" / "000000000001000-0000000003.jsonl"
        cut = make_dead_letter(1).pointing_to(f"{path}:0")
        topic.send("dead", cut.key, cut.to_json(), [], partition_key=b"x")
        topic.flush()
        assert dead_letters_in(in_topic(topic, tmp_path)) == [cut]

    def test_dead_letter_of_exactly_the_limit_fits(self, tmp_path, topic, make_dead_letter):
        dead_letter = make_dead_letter(1, value=b"x" * 1000)
        headers = len(b"pipelinepcomponentspliterrordecorate") + 3 * 10
        size = len(dead_letter.to_json()) + len(dead_letter.key) + headers + 480
        publish(in_topic(topic, tmp_path, max_message_bytes=size), [dead_letter], 3, 1000)
        assert list(tmp_path.iterdir()) == []
        publish(in_topic(topic, tmp_path, max_message_bytes=size - 1), [dead_letter], 3, 1000)
        assert [path.name for path in tmp_path.iterdir()] == ["dead-letters"]

    def test_record_in_headers_has_key_value_and_headers_of_the_failed_one(self, tmp_path, topic, make_dead_letter):
        record = Record("ticks", 0, 7, b"k", b"\xff\x00", 5, (("trace", b"1"),))
        publish(in_topic(topic, tmp_path, envelope=IN_HEADERS), [make_dead_letter(record=record)], 3, 1000)
        [(key, value, headers)] = chain(*topic.records)
        assert (key, value, headers[0]) == (b"k", b"\xff\x00", ("trace", b"1"))
        assert ("__connect.errors.stage", b"TASK_PUT") in headers

    def test_dead_letters_in_headers_of_one_record_without_a_key_are_two(self, tmp_path, topic, make_dead_letter):
        record = Record("ticks", 0, 7, None, b"v", 5)
        letters = [make_dead_letter(record=record, component=name) for name in ("first", "second")]
        for _ in range(2):
            publish(in_topic(topic, tmp_path, envelope=IN_HEADERS), letters, 3, 1000)
        assert sorted(dead_letters_in(in_topic(topic, tmp_path)), key=lambda letter: letter.component) == letters
        assert len(list(chain(*topic.records))) == 4

    def test_too_large_dead_letter_in_headers_is_in_a_file(self, tmp_path, topic, make_dead_letter):
        small, large = make_dead_letter(1), make_dead_letter(2, value=b"x" * 5000)
        many = make_dead_letter(3)
        many = replace(many, record=many.record._replace(headers=(("a", b""),) * 300))  # of few bytes each
        queue = in_topic(topic, tmp_path, max_message_bytes=3000, envelope=IN_HEADERS)
        publish(queue, [small, large, many], 3, 1000)
        assert sorted(dead_letters_in(queue), key=lambda letter: letter.record.offset) == [small, large, many]
        (path,) = (tmp_path / "dead-letters" / "p").iterdir()
        assert path.read_bytes().splitlines() == [large.to_json(), many.to_json()]

    def test_failed_flush_raises_and_a_retry_publishes(self, tmp_path, topic, make_dead_letter):
        queue = in_topic(topic, tmp_path)
        topic.failure = SourceUnavailableError("no broker")
        with pytest.raises(SourceUnavailableError):
            publish(queue, [make_dead_letter(1)], 3, 1000)
        topic.failure = None
        publish(queue, [make_dead_letter(1)], 3, 1000)
        assert dead_letters_in(queue) == [make_dead_letter(1)]

    @pytest.mark.parametrize("large", [False, True])
    def test_retry_sends_what_was_not_acknowledged(self, tmp_path, topic, make_dead_letter, large):
        queue = in_topic(topic, tmp_path, max_message_bytes=1000)
        letters = [make_dead_letter(offset, value=bytes(3000) if large else b"v") for offset in range(5)]
        topic.failure, topic.acknowledged_before_failure = SourceUnavailableError("slow"), 3
        with pytest.raises(SourceUnavailableError):
            publish(queue, letters, 3, 1000)
        topic.acknowledged_before_failure = 1
        with pytest.raises(SourceUnavailableError):
            publish(queue, letters, 3, 1000)
        topic.failure = None
        publish(queue, letters, 3, 1000)
        assert sorted(key for key, _, _ in chain(*topic.records)) == [letter.key for letter in letters]
        assert sorted(dead_letters_in(queue), key=lambda letter: letter.record.offset) == letters

    def test_retry_sends_a_dead_letter_that_differs(self, tmp_path, topic, make_dead_letter):
        queue = in_topic(topic, tmp_path)
        before, after = ([make_dead_letter(offset, code=code) for offset in range(2)] for code in ("one", "two"))
        topic.failure, topic.acknowledged_before_failure = SourceUnavailableError("slow"), 2
        with pytest.raises(SourceUnavailableError):
            publish(queue, before, 3, 1000)
        topic.failure = None
        publish(queue, [before[0], after[1]], 3, 1000)
        assert sorted(dead_letters_in(queue), key=lambda letter: letter.record.offset) == [before[0], after[1]]
        assert len(list(chain(*topic.records))) == 3

    def test_retry_sends_a_dead_letter_whose_headers_differ(self, tmp_path, topic, make_dead_letter):
        queue = in_topic(topic, tmp_path, envelope=IN_HEADERS)
        topic.failure, topic.acknowledged_before_failure = SourceUnavailableError("slow"), 2
        with pytest.raises(SourceUnavailableError):
            publish(queue, [make_dead_letter(offset, code="one") for offset in range(2)], 3, 1000)
        topic.failure = None
        after = [make_dead_letter(0, code="one"), make_dead_letter(1, code="two")]
        publish(queue, after, 3, 1000)
        assert sorted(dead_letters_in(queue), key=lambda letter: letter.record.offset) == after
        assert len(list(chain(*topic.records))) == 3

    @pytest.mark.parametrize(("batch_time_ms", "id_"), [(1000, "recreated"), (2000, "first")])
    def test_another_batch_or_topic_gets_all_of_them(self, tmp_path, topic, make_dead_letter, batch_time_ms, id_):
        queue = in_topic(topic, tmp_path)
        letters = [make_dead_letter(offset) for offset in range(3)]
        topic.failure, topic.acknowledged_before_failure = SourceUnavailableError("slow"), 2
        with pytest.raises(SourceUnavailableError):
            publish(queue, letters, 3, 1000)
        topic.failure, topic.id = None, id_
        topic.records = [[] for _ in topic.records]
        publish(queue, letters, 3, batch_time_ms)
        assert len(list(chain(*topic.records))) == 3

    def test_progress_counts_in_the_topic_that_was_made_meanwhile(self, tmp_path, topic, make_dead_letter):
        queue = in_topic(topic, tmp_path)
        letters = [make_dead_letter(offset) for offset in range(3)]
        topic.failure = SourceUnavailableError("slow")
        with pytest.raises(SourceUnavailableError):
            publish(queue, letters, 3, 1000)
        topic.id, topic.acknowledged_before_failure = "recreated", 2
        with pytest.raises(SourceUnavailableError):
            publish(queue, letters, 3, 1000)
        topic.failure = None
        publish(queue, letters, 3, 1000)
        assert len(list(chain(*topic.records))) == 3

    def test_batch_that_runs_again_later_is_published_as_a_whole(self, tmp_path, topic, make_dead_letter):
        queue = in_topic(topic, tmp_path)
        for _ in range(2):
            publish(queue, [make_dead_letter(1)], 3, 1000)
        assert len(list(chain(*topic.records))) == 2

    @pytest.mark.parametrize("reason", ["", "InvalidTimestamp: too early"])
    def test_time_that_the_broker_refuses_causes_one_warning(self, tmp_path, topic, make_dead_letter, capsys, reason):
        set_up()
        topic.time_refused = reason
        publish(in_topic(topic, tmp_path), [make_dead_letter(1), make_dead_letter(2)], 3, 1000)
        lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
        assert [(line["level"], line["reason"]) for line in lines] == ([("warning", reason)] if reason else [])

    def test_topic_that_the_source_reads_is_refused(self, tmp_path, topic, make_dead_letter):
        queue = in_topic(topic, tmp_path, cluster_of_reader=lambda: "cluster")
        with pytest.raises(ConfigError, match='the source reads "dead", and `brokers` are of the same cluster'):
            queue.prepare()
        with pytest.raises(ConfigError):
            publish(queue, [make_dead_letter(1)], 3, 1000)
        assert list(chain(*topic.records)) == []

    def test_topic_of_that_name_in_another_cluster_is_allowed(self, tmp_path, topic):
        in_topic(topic, tmp_path, cluster_of_reader=lambda: "another").prepare()

    def test_topic_that_a_sink_writes_is_refused(self, tmp_path, topic, make_dead_letter):
        queue = in_topic(topic, tmp_path, clusters_of_sinks={"one": lambda: "another", "two": lambda: "cluster"})
        with pytest.raises(ConfigError, match='written to "dead", and so are the records of the sink two: `'):
            queue.prepare()
        with pytest.raises(ConfigError):
            publish(queue, [make_dead_letter(1)], 3, 1000)
        assert list(chain(*topic.records)) == []
        in_topic(topic, tmp_path, clusters_of_sinks={"one": lambda: "another"}).prepare()

    def test_clusters_of_sinks_that_write_the_topic_are_asked_for(self):
        server = KafkaServer(lambda _batch: None, {})
        options = {"brokers": f"127.0.0.1:{server.port}"}
        sinks = [(name, KafkaSinkSettings(topic=topic, **options)) for name, topic in (("a", "dead"), ("b", "other"))]
        requests = clusters_of_sinks([*sinks, ("c", MemorySettings())], "dead")
        assert {name: request() for name, request in requests.items()} == {"a": CLUSTER_ID}
        server.close()

    @pytest.mark.parametrize(("name", "cluster"), [("dead", CLUSTER_ID), ("other", None)])
    def test_cluster_of_a_source_is_asked_for_if_it_reads_the_topic(self, name, cluster):
        server = KafkaServer(lambda _batch: None, {})
        settings = KafkaSourceSettings.model_validate({"brokers": f"127.0.0.1:{server.port}", "topics": ["dead"]})
        request = cluster_of_reader(settings, name)
        assert (request and request()) == cluster
        server.close()

    def test_source_that_is_not_kafka_has_no_cluster(self):
        assert cluster_of_reader(FilesSourceSettings.model_validate({"path": "dead"}), "dead") is None

    def test_size_limit_is_requested_before_the_first_dead_letter_until_the_cluster_answers(
        self, tmp_path, topic, make_dead_letter
    ):
        topic.failing_requests = 2
        queue = in_topic(topic, tmp_path, max_message_bytes=2000)
        publish(queue, [], 1, 500)
        assert topic.failing_requests == 2
        with pytest.raises(SourceUnavailableError):
            queue.prepare()
        with pytest.raises(SourceUnavailableError):
            publish(queue, [make_dead_letter(1)], 3, 1000)
        assert list(tmp_path.iterdir()) == []
        for _ in range(2):
            publish(queue, [make_dead_letter(1)], 3, 1000)
        assert dead_letters_in(queue) == [make_dead_letter(1)]

    def test_dead_letters_of_other_pipelines_and_invalid_records_are_ignored(self, tmp_path, topic, make_dead_letter):
        publish(in_topic(topic, tmp_path, pipeline="q"), [make_dead_letter(1, pipeline="q")], 3, 1000)
        for value in (None, b"", b"rubbish"):
            for headers in ([], [(ORIGINAL_HEADERS, b"0")], [(ORIGINAL_HEADERS, b"x")], [(ORIGINAL_HEADERS, None)]):
                topic.send("dead", b"x", value, headers, partition_key=b"x")
        publish(in_topic(topic, tmp_path), [make_dead_letter(1)], 3, 1000)
        assert dead_letters_in(in_topic(topic, tmp_path)) == [make_dead_letter(1)]

    @pytest.mark.parametrize(("name", "id_"), [("dead", "recreated"), ("renamed", "another"), ("renamed", "first")])
    def test_marks_of_another_topic_are_ignored(self, tmp_path, topic, make_dead_letter, name, id_):
        publish(in_topic(topic, tmp_path), [make_dead_letter(1)], 3, 1000)
        queue = in_topic(topic, tmp_path)
        [entry] = queue.entries()
        queue.mark({entry.position: DONE})
        other = type(topic)(name, id_)
        publish(in_topic(other, tmp_path), [make_dead_letter(1, batch_time_ms=2000)], 4, 2000)
        [later] = in_topic(other, tmp_path).entries()
        assert (later.position, later.mark) == (entry.position, None)
        assert in_topic(other, tmp_path).read(later.position).mark is None
        in_topic(other, tmp_path).mark({later.position: FAILED})
        assert [entry.mark for entry in in_topic(other, tmp_path).entries()] == [FAILED]
        assert [entry.mark for entry in in_topic(topic, tmp_path).entries()] == [DONE]

    def test_mark_belongs_to_the_topic_that_was_read(self, tmp_path, topic, make_dead_letter):
        publish(in_topic(topic, tmp_path), [make_dead_letter(1)], 3, 1000)
        queue = in_topic(topic, tmp_path)
        [entry] = queue.entries()
        topic.id = "recreated"
        queue.mark({entry.position: DONE})
        assert [entry.mark for entry in in_topic(topic, tmp_path).entries()] == [None]

    @pytest.mark.parametrize(
        ("retention", "reasons", "wanted"),
        [
            ((604800000, -1, "delete"), "retention.ms is 604800000", "retention.ms=-1"),
            ((0, 5, "delete"), "retention.ms is 0 and retention.bytes is 5", "retention.ms=-1,retention.bytes=-1"),
            ((-1, -1, "compact"), "cleanup.policy is compact", "cleanup.policy=delete"),
            # with the policy `delete` the limit would apply
            ((7, -1, "compact"), "cleanup.policy is compact", "retention.ms=-1,cleanup.policy=delete"),
            (
                (7, -1, "compact,delete"),
                "retention.ms is 7 and cleanup.policy is compact,delete",
                "retention.ms=-1,cleanup.policy=delete",
            ),
        ],
    )
    def test_topic_that_deletes_dead_letters_causes_one_warning(
        self, tmp_path, topic, capsys, retention, reasons, wanted
    ):
        set_up()
        topic.retention = retention
        queue = in_topic(topic, tmp_path)
        queue.prepare()
        queue.prepare()
        [line] = map(json.loads, capsys.readouterr().err.splitlines())
        assert (line["level"], line["message"], line["pipeline"]) == ("warning", "dead letters will be lost", "p")
        assert line["reason"] == f'topic "dead" deletes dead letters: {reasons}'
        command = "kafka-configs.sh --alter --entity-type topics --entity-name dead --add-config"
        assert line["hint"] == f"run '{command} {wanted}'"

    @pytest.mark.parametrize("retention", [(-1, -1, "delete"), (604800000, 5, ""), (604800000, 5, "none")])
    def test_topic_that_retains_dead_letters_causes_no_warning(
        self, tmp_path, topic, make_dead_letter, capsys, retention
    ):
        set_up()
        topic.retention = retention
        queue = in_topic(topic, tmp_path)
        queue.prepare()
        publish(queue, [make_dead_letter(1)], 3, 1000)
        assert capsys.readouterr().err == ""

    def test_close_closes_the_producer_once(self, tmp_path, topic, make_dead_letter):
        queue = in_topic(topic, tmp_path)
        publish(queue, [make_dead_letter()], 0, 1000)
        queue.close()
        queue.close()
        assert topic.closed == 1


class TestRemoval:
    def test_other_entries_keep_their_positions_and_marks(self, tmp_path, make_dead_letter):
        queue = FileDeadLetters(tmp_path, "p")
        publish(queue, [make_dead_letter(offset) for offset in (1, 2, 3)], 0, 1000)
        first, second, third = [entry.position for entry in queue.entries()]
        queue.mark({third: DONE})
        queue.remove([first, second])
        (remaining,) = FileDeadLetters(tmp_path, "p").entries()
        assert (remaining.position, remaining.dead_letter.record.offset, remaining.mark) == (third, 3, DONE)
        assert queue.read(third) == remaining
        with pytest.raises(NotFoundError):
            queue.read(first)

    def test_file_without_entries_is_removed(self, tmp_path, make_dead_letter):
        queue = FileDeadLetters(tmp_path, "p")
        publish(queue, [make_dead_letter(1)], 0, 1000)
        (entry,) = queue.entries()
        queue.mark({entry.position: DONE})
        queue.remove([entry.position])
        queue.remove([entry.position])
        assert (dead_letters_in(queue), list(folder_of(tmp_path, "p").iterdir())) == ([], [])

    def test_entries_of_a_topic_cannot_be_removed(self, tmp_path, topic, make_dead_letter):
        queue = in_topic(topic, tmp_path)
        publish(queue, [make_dead_letter(1)], 0, 1000)
        (entry,) = queue.entries()
        with pytest.raises(ConfigError, match=r"retention\.ms"):
            queue.remove([entry.position])
        assert len(dead_letters_in(queue)) == 1
