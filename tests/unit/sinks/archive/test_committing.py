"""A micro-batch into an archive: its files, kills between any two changes, and re-runs of a partition meanwhile."""

import errno
import gzip
import itertools
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.api import (
    Batch,
    Disposition,
    Event,
    EventError,
    IngestError,
    IntegrityError,
    MappingError,
    Origin,
    StoreUnavailableError,
    TaskSpec,
    WriteCounts,
)
from ingest.pipeline.time_limit import OutOfTimeError
from sinks.archive import switching
from sinks.archive.committing import ArchiveCommitter
from sinks.archive.errors import ArchiveCorruptError
from sinks.archive.layout import NO_TIME, SUCCESS
from sinks.archive.partition import Partition
from sinks.archive.reruns import STALE_MS, Answer, RerunLease, answers, put_lease, remove_lease
from sinks.archive.sink import ArchiveSettings
from sinks.files.local_root import LocalRoot
from sinks.files.root import Root
from tests.support.archives import (
    DAY_MS,
    SETTINGS,
    START_S,
    WRITER,
    Stream,
    event,
    files_of,
    offsets_in,
    rows_in,
    visible,
)
from tests.support.crashing_root import CrashError, CrashingRoot
from tests.support.memory_root import MemoryRoot
from tests.support.waiting import reached

TIME_MS = DAY_MS + 3_600_000
DAY = 24 * 3_600_000


@pytest.fixture(params=["local", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Root:
    return LocalRoot(tmp_path / "customer") if request.param == "local" else MemoryRoot()


@pytest.fixture
def partition(root: Root) -> Partition:
    return Partition(root, "dt=20151210")


def names(root: Root) -> list[str]:
    """All files of partitions."""
    return [path for entry in root.entries("") if "=" in entry.name for path, _ in root.files_below(entry.name)]


class TestFiles:
    def test_3c1_first_write_makes_batch_and_pointer(self, root: Root, partition: Partition) -> None:
        Stream(root).run(TIME_MS, [event(1)])
        assert partition.batch(START_S).is_complete
        assert root.read("dt=20151210/_CURRENT") == b"batch_id=1449784608\n"
        assert root.exists("dt=20151210/batch_id=1449784608/_SUCCESS")
        assert visible(root) == {"20151210": [1]}

    def test_later_micro_batches_add_files_to_the_batch(self, root: Root, partition: Partition) -> None:
        stream = Stream(root)
        stream.run(TIME_MS, [event(1)], [], [event(2)])
        stream.run(TIME_MS + 1, [event(3)])
        Stream(root, START_S + 100).run(TIME_MS + 2, [event(4)])
        assert visible(root) == {"20151210": [1, 2, 3, 4]}
        assert partition.batch_ids() == [START_S]
        assert [name[:27] for name in files_of(root, partition, START_S)] == [
            f"part-{TIME_MS + batch:016}-{rank:05}" for batch, rank in ((0, 0), (0, 2), (1, 0), (2, 0))
        ]

    def test_events_go_to_the_partitions_of_their_times(self, root: Root) -> None:
        Stream(root).run(
            TIME_MS,
            [event(1), event(2, time_ms=DAY_MS - 1), event(3, time_ms=DAY_MS + DAY)],
            [event(4), event(5, time_ms=DAY_MS - 1)],
        )
        assert visible(root) == {"20151209": [2, 5], "20151210": [1, 4], "20151211": [3]}

    def test_more_rows_than_a_row_group(self, root: Root) -> None:
        Stream(root).run(TIME_MS, [event(number) for number in range(40_000)])
        assert visible(root) == {"20151210": list(range(40_000))}

    def test_3c9_replayed_micro_batch_has_the_same_files(self, root: Root) -> None:
        stream = Stream(root)
        stream.run(TIME_MS - 1, [event(0)])
        stream.run(TIME_MS, [event(1)], [event(2), event(3)])
        before = names(root)
        stream.run(TIME_MS, [event(1)], [event(2), event(3)])
        assert names(root) == before
        again = Stream(root, START_S + 60)
        again.run(TIME_MS, [event(1)], [event(2), event(3)])
        assert names(root) == before
        assert visible(root) == {"20151210": [0, 1, 2, 3]}

    def test_3c9_replay_in_other_tasks_or_partitions_leaves_no_file_of_the_first(self, root: Root) -> None:
        Stream(root).run(TIME_MS, [event(1)], [event(2)], [event(3, time_ms=DAY_MS - 1)])
        Stream(root).run(TIME_MS, [event(1), event(2), event(3)])
        assert visible(root) == {"20151209": [], "20151210": [1, 2, 3]}

    def test_micro_batch_without_events_makes_no_partition(self, root: Root) -> None:
        Stream(root).run(TIME_MS, [])
        assert visible(root) == {}

    def test_replay_of_dead_letters_adds_its_rows(self, root: Root) -> None:
        Stream(root).run(TIME_MS, [event(1)])
        Stream(root, is_replay=True).run(TIME_MS, [event(2)])
        assert visible(root) == {"20151210": [1, 2]}

    def test_batch_that_runs_again_at_a_later_time_replaces_its_files(self, root: Root) -> None:
        stream = Stream(root)
        stream.run(TIME_MS, [event(1)], [event(2)])
        again = Stream(root)
        again.committer.commit(*again.flush(TIME_MS + 7, [event(1), event(2)], name=str(TIME_MS)))
        assert visible(root) == {"20151210": [1, 2]}

    def test_rows_in_memory_are_bounded_by_their_bytes(self, root: Root) -> None:
        columns = {"body": {"value": "%{body}", "type": "binary"}, "text": "%{text}"}
        settings = ArchiveSettings.model_validate({"root": "r", "table": "t", "columns": columns})
        large = event(1)
        large.attributes["text"] = b"x" * (12 << 20)
        writer = Stream(root, settings=settings).writer()
        counts = WriteCounts()
        writer.begin(TaskSpec(Batch("b", TIME_MS, "a"), task_id="t"), b"_tmp/w/a", counts)
        for _ in range(2):
            writer.write(large)
        assert counts.write_calls == 0
        writer.write(large)
        assert counts.write_calls == 1
        for _ in range(2):
            writer.write(large)
        assert counts.write_calls == 1
        writer.close()

    @pytest.mark.parametrize(
        ("error", "expected"),
        [
            (TypeError("a defect"), ("sink_failed", Disposition.STOP)),
            (OutOfTimeError(), ("store_unavailable", Disposition.RETRY)),
            (OSError(errno.ENOSPC, "full"), ("disk_full", Disposition.RETRY)),
        ],
    )
    def test_row_that_cannot_be_written_fails_no_event(
        self, root: Root, error: BaseException, expected: tuple[str, Disposition]
    ) -> None:
        class Failing(CrashingRoot):
            def make_folder(self, path: str) -> None:
                raise error

        stream = Stream(root)
        stream.root = Failing(root, 0)
        with pytest.raises(IngestError) as caught:
            stream.flush(TIME_MS, [event(1)])
        assert (caught.value.code, caught.value.disposition) == expected

    @pytest.mark.parametrize("kind", ["parquet", "json"])
    def test_3c8_replay_of_dead_letters_adds_no_row_twice(self, root: Root, kind: str) -> None:
        settings = ArchiveSettings.model_validate({"root": "r", "table": "customer", "format": kind})
        Stream(root, settings=settings).run(TIME_MS, [event(1), event(2)])
        fanned_out = replace(event(2), origin=Origin("t", 0, 2, 1))
        replay = Stream(root, settings=settings, is_replay=True)
        batch, results = replay.flush(TIME_MS - 1, [event(2)], [event(1), event(3), fanned_out])
        replay.committer.commit(batch, results)
        replay.committer.commit(batch, results)
        assert visible(root) == {"20151210": [1, 2, 2, 3]}
        again = Stream(root, settings=settings, is_replay=True)
        again.run(TIME_MS - 1, [event(2)], [event(1), event(3), fanned_out])
        assert visible(root) == {"20151210": [1, 2, 2, 3]}

    def test_replay_of_the_same_dead_letters_after_other_ones_replaces_its_own_rows(self, root: Root) -> None:
        Stream(root).run(TIME_MS, [event(0)])

        def replay(*batches: tuple[int, str, list[list[Event]]]) -> None:
            stream = Stream(root, is_replay=True)
            for time_ms, name, parts in batches:
                stream.committer.commit(*stream.flush(time_ms, *parts, name=name))

        replay((TIME_MS - 2, "a", [[event(1)], [event(2)]]), (TIME_MS - 1, "b", [[event(4)]]))
        replay((TIME_MS - 2, "a", [[event(1), event(2), event(3)]]))
        assert visible(root) == {"20151210": [0, 1, 2, 3, 4]}

    def test_replay_keeps_a_file_of_equal_digits_and_another_time(self, root: Root, partition: Partition) -> None:
        Stream(root).run(TIME_MS, [event(0)])
        replay = Stream(root, is_replay=True)
        replay.committer.commit(*replay.flush(TIME_MS - 2, [event(1)], name="a"))
        replay.committer.commit(*replay.flush(TIME_MS - 3, [event(2)], name="b"))
        replay.committer.commit(*replay.flush(TIME_MS - 1, [event(3)], name="a"))
        assert visible(root) == {"20151210": [0, 1, 2, 3]}

    def test_columns(self, root: Root, partition: Partition) -> None:
        columns = {
            "user": "%{user}",
            "raw": {"value": "%{body}", "type": "binary"},
            "small": {"value": "%{n}", "type": "int32"},
            "large": {"value": "%{n}", "type": "int64"},
            "real": {"value": "%{n}", "type": "float64"},
            "seen": {"value": "%{n}", "type": "time"},
            "none": {"value": "%{none}", "on_missing": "empty"},
        }
        settings = ArchiveSettings.model_validate({"root": "r", "table": "t", "columns": columns})
        full, bare = event(1), replace(event(2), origin=Origin("t", 3, 2, 1))
        full.attributes.update(user="å".encode(), n=b"7")
        stream = Stream(root, settings=settings)
        stream.run(TIME_MS, [full, bare])
        (name,) = files_of(root, partition, START_S)
        with root.open(partition.path(START_S, name)) as file:
            table = pq.read_table(file)
        assert [str(field.type) for field in table.schema] == [
            *("string", "int32", "int64", "int64", "timestamp[ms, tz=UTC]"),
            *("string", "binary", "int32", "int64", "double", "timestamp[ms, tz=UTC]", "string"),
        ]
        assert table.schema.names[:6] == ["_topic", "_partition", "_offset", "_fan_out", "_time", "user"]
        numbered = table.set_column(4, "_time", table["_time"].cast(pa.int64()))
        numbered = numbered.set_column(10, "seen", numbered["seen"].cast(pa.int64()))
        assert [list(row.values()) for row in numbered.to_pylist()] == [
            ["t", 0, 1, 0, DAY_MS + 1, "å", b"1", 7, 7, 7.0, 7, ""],
            ["t", 3, 2, 1, DAY_MS + 1, None, b"2", None, None, None, None, ""],
        ]

    def test_lines_of_json(self, root: Root, partition: Partition) -> None:
        settings = ArchiveSettings.model_validate({"root": "r", "table": "t", "format": "json"})
        stream = Stream(root, settings=settings)
        stream.run(TIME_MS, [event(1), replace(event(2), body=b"\xff")])
        (name,) = files_of(root, partition, START_S)
        lines = gzip.decompress(root.read(partition.path(START_S, name))).splitlines()
        assert [json.loads(line) for line in lines] == [
            {"_topic": "t", "_partition": 0, "_offset": number, "_fan_out": 0, "_time": time, "body": body}
            for number, time, body in (
                (1, "2015-12-10T00:00:00.001Z", "1"),
                (2, "2015-12-10T00:00:00.001Z", {"b64": "/w=="}),
            )
        ]

    @pytest.mark.parametrize(
        ("column_type", "text"),
        [
            *(("int32", b"x"), ("int32", b"2147483648"), ("int64", b"%d" % 2**63), ("float64", b"nan")),
            *(("utf8", b"\xff"), ("time", b"x"), ("time", b"1449784608000000000"), ("time", b"253402300800000")),
        ],
    )
    def test_value_of_another_type_fails(self, root: Root, column_type: str, text: bytes) -> None:
        columns = {"n": {"value": "%{n}", "type": column_type}}
        settings = ArchiveSettings.model_validate({"root": "r", "table": "t", "columns": columns})
        bad = event(1)
        bad.attributes["n"] = text
        with pytest.raises(MappingError, match='column "n"') as caught:
            Stream(root, settings=settings).flush(TIME_MS, [bad])
        assert caught.value.code == "bad_column"


class TestTimes:
    @pytest.mark.parametrize("time_ms", [0, -1, 253_402_300_800_000, 10**18])
    def test_3c15_event_without_a_time_fails_by_default(self, root: Root, time_ms: int) -> None:
        with pytest.raises(EventError) as caught:
            Stream(root).flush(TIME_MS, [event(1, time_ms=time_ms)])
        assert caught.value.code == "no_event_time"

    @pytest.mark.parametrize("time_ms", [0, -1, 253_402_300_800_000, 10**18])
    def test_3c15_event_without_a_time_goes_to_the_default_partition_by_setting(self, root: Root, time_ms: int) -> None:
        settings = SETTINGS.model_copy(
            update=dict(ArchiveSettings.model_validate({"root": "r", "table": "t", "on_no_time": "default_partition"}))
        )
        Stream(root, settings=settings).run(TIME_MS, [event(1), event(2, time_ms=time_ms)])
        assert visible(root) == {"20151210": [1], NO_TIME: [2]}
        (row,) = rows_in(root, Partition(root, f"dt={NO_TIME}"), START_S)
        assert row["_time"] is None

    def test_3c15_late_event_fails(self, root: Root) -> None:
        stream = Stream(root)
        stream.run(TIME_MS, [event(1, time_ms=TIME_MS - 7 * DAY)])
        assert visible(root) == {"20151203": [1]}
        with pytest.raises(EventError, match="before the earliest") as caught:
            stream.flush(TIME_MS, [event(2, time_ms=TIME_MS - 7 * DAY - 1)])
        assert caught.value.code == "late_event"

    def test_early_event_fails(self, root: Root) -> None:
        settings = ArchiveSettings.model_validate({"root": "r", "table": "t", "early": "2d"})
        stream = Stream(root, settings=settings)
        stream.run(TIME_MS, [event(1, time_ms=TIME_MS + 2 * DAY)])
        assert visible(root) == {"20151212": [1]}
        with pytest.raises(EventError, match="after the latest") as caught:
            stream.flush(TIME_MS, [event(2, time_ms=TIME_MS + 2 * DAY + 1)])
        assert caught.value.code == "early_event"


def crashes(make: Callable[[], Root], action: Callable[[Root], None]) -> list[Root]:
    """The state after a kill at each change of an action; `make` returns the state before."""
    found = []
    for most in itertools.count():
        files = make()
        try:
            action(CrashingRoot(files, most))
        except (CrashError, StoreUnavailableError):  # in a task, any exception means that the batch runs again
            found.append(files)
        else:
            assert len(found) > 5
            return found
    raise AssertionError


class Pointing(CrashingRoot):
    """`ingest archive point` moves the pointer just before the first file is moved."""

    def __init__(self, root: Root, most: int, partition: Partition, batch_id: int) -> None:
        super().__init__(root, most)
        self._point = partial(switching.switch, partition, batch_id, 0)

    def move(self, path: str, to: str) -> None:
        self._point()
        super().move(path, to)


class TestKills:
    def test_kill_between_any_two_changes_then_the_batch_runs_again(self) -> None:
        parts = [event(1), event(2, time_ms=DAY_MS - 1)], [event(3)]

        def make() -> Root:
            files = MemoryRoot()
            Stream(files).run(TIME_MS - 1, [event(0)])
            return files

        for files in crashes(make, lambda files: Stream(files).run(TIME_MS, *parts)):
            again = Stream(files, START_S + 1)
            assert not [path for path, _ in files.files_below("_tmp")]
            again.run(TIME_MS, *parts)
            again.run(TIME_MS + 1, [event(4)])
            assert visible(files) == {"20151209": [2], "20151210": [0, 1, 3, 4]}
            for day in ("09", "10"):
                partition = Partition(files, f"dt=201512{day}")
                complete = [batch.id for batch in partition.batches() if batch.is_complete]
                assert complete == [partition.current()]

    def test_kill_then_other_events_after_a_corrected_configuration(self) -> None:
        parts = [event(1), event(2, time_ms=DAY_MS - 1)], [event(3)]
        for files in crashes(MemoryRoot, lambda files: Stream(files).run(TIME_MS, *parts)):
            Stream(files).run(TIME_MS, [event(3)])
            assert {offset for offsets in visible(files).values() for offset in offsets} == {3}

    def test_commit_that_failed_is_repeated(self) -> None:
        for most in itertools.count():
            files = MemoryRoot()
            stream = Stream(files)
            flushed = stream.flush(TIME_MS, [event(1)], [event(2, time_ms=DAY_MS - 1)])
            stream.committer._root = CrashingRoot(files, most)
            try:
                stream.committer.commit(*flushed)
            except CrashError:
                stream.committer._root = files
                stream.committer.commit(*flushed)
                assert visible(files) == {"20151209": [2], "20151210": [1]}
            else:
                break
        assert most > 5

    def test_staged_file_that_is_gone_stops(self, root: Root) -> None:
        stream = Stream(root)
        flushed = stream.flush(TIME_MS, [event(1)])
        root.remove_tree("_tmp")
        with pytest.raises(IntegrityError, match="is gone") as caught:
            stream.committer.commit(*flushed)
        assert caught.value.code == "staged_file_lost"

    def test_process_that_has_lost_its_pipeline_removes_no_file(self, root: Root) -> None:
        stream = Stream(root)
        acknowledged: list[int] = []
        flushed = stream.flush(TIME_MS, [event(1)])

        class Suspended(CrashingRoot):
            """Another process runs and acknowledges the micro-batch just before this one moves its file."""

            def remove_file(self, path: str) -> None:
                self._suspend()
                super().remove_file(path)

            def move(self, path: str, to: str) -> None:
                self._suspend()
                super().move(path, to)

            def _suspend(self) -> None:
                if not acknowledged:
                    acknowledged.append(TIME_MS)
                    Stream(root).run(TIME_MS, [event(1)])

        stream.committer._root = Suspended(root, 1_000)
        with pytest.raises(IntegrityError) as caught:
            stream.committer.commit(*flushed)
        assert (caught.value.code, visible(root)) == ("staged_file_lost", {"20151210": [1]})

    def test_pointer_that_moves_within_a_commit_hides_no_row(self) -> None:
        """Also if the process is killed, or a call fails, at any change of the file system after it."""
        parts = [event(1)], [event(2)]
        for most in itertools.count():
            for is_restarted in (False, True):
                files = MemoryRoot()
                stream = Stream(files)
                stream.run(TIME_MS - 1, [event(0)])
                partition = Partition(files, "dt=20151210")
                other = partition.create(START_S, "a re-run")
                partition.complete(other)
                flushed = stream.flush(TIME_MS, *parts)
                stream.committer._root = Pointing(files, most, partition, other)
                try:
                    stream.committer.commit(*flushed)
                except CrashError:
                    stream.committer._root = files
                    if is_restarted:
                        Stream(files).run(TIME_MS, *parts)
                    else:
                        stream.committer.commit(*flushed)
                else:
                    assert most > 5
                    assert offsets_in(files, partition, START_S) == [0, 1, 2]
                    assert offsets_in(files, partition, other) == [1, 2]
                    # the copies are recorded: a run with other tasks replaces them too
                    Stream(files).run(TIME_MS, [event(1), event(2)])
                    assert offsets_in(files, partition, other) == [1, 2]
                    return
                if partition.current() == other:
                    assert visible(files) == {"20151210": [1, 2]}

    @pytest.mark.parametrize("parts", [([event(2)],), ([event(2), event(3)],), ([event(2)], [event(3)])])
    def test_pointer_that_moves_within_a_replay_doubles_no_row(self, parts: tuple[list[Event], ...]) -> None:
        files = MemoryRoot()
        Stream(files).run(TIME_MS - 3, [event(0)])
        partition = Partition(files, "dt=20151210")
        first = partition.current()
        assert first is not None
        other = partition.create(START_S, "a re-run")
        partition.complete(other)
        switching.switch(partition, other, 0)
        Stream(files).run(TIME_MS - 2, [event(2)])
        switching.switch(partition, first, 0)
        replay = Stream(files, is_replay=True)
        flushed = replay.flush(TIME_MS - 1, *parts)
        replay.committer._root = Pointing(files, 1_000, partition, other)
        replay.committer.commit(*flushed)
        assert partition.current() == other
        assert visible(files) == {"20151210": sorted({2, *(each.origin.offset for part in parts for each in part)})}

    def test_start_after_a_pause_waits_for_the_commit_that_the_pause_has_abandoned(self) -> None:
        files = MemoryRoot()
        stream = Stream(files)
        flushed = stream.flush(TIME_MS, [event(1)])
        recovered = threading.Event()

        def start() -> None:
            stream.committer.recover()
            recovered.set()

        starting = threading.Thread(target=start)

        class Slow(CrashingRoot):
            def move(self, path: str, to: str) -> None:
                starting.start()
                assert not recovered.wait(0.2)
                super().move(path, to)

        stream.committer._root = Slow(files, 1_000)
        stream.committer.commit(*flushed)
        starting.join()
        assert recovered.is_set()
        assert visible(files) == {"20151210": [1]}
        stream.committer.close()

    def test_aborted_attempt_leaves_nothing(self, root: Root) -> None:
        stream = Stream(root)
        batch, _ = stream.flush(TIME_MS, [event(1)])
        stream.committer.abort(batch)
        assert not list(root.files_below("_tmp"))

    def test_damaged_record_stops(self, root: Root) -> None:
        Stream(root).run(TIME_MS, [event(1)])
        root.write(f"_writers/{WRITER}.json", b"{}")
        with pytest.raises(ArchiveCorruptError, match="_writers"):
            Stream(root)

    def test_first_batch_of_another_stream_is_used(self, partition: Partition) -> None:
        root = partition.root

        class Raced(CrashingRoot):
            """Another stream creates the first batch just before this one sets the pointer."""

            def create(self, path: str, content: bytes) -> None:
                if path.endswith("_CURRENT") and not root.exists(path):
                    other = partition.create(START_S, "other")
                    partition.complete(other)
                    partition.write_pointer(other)
                super().create(path, content)

        Stream(Raced(root, 1_000)).run(TIME_MS, [event(1)])
        assert partition.current() == START_S + 1
        assert partition.batch_ids() == [START_S + 1]
        assert visible(root) == {"20151210": [1]}


def begin_rerun(partition: Partition) -> RerunLease:
    """A re-run that has created its batch and its lease."""
    batch_id = partition.create(START_S + 1_000, "a re-run")
    lease = RerunLease("r1", partition.folder, batch_id, "a re-run", START_S * 1000)
    put_lease(partition.root, lease)
    return lease


def switch(partition: Partition, lease: RerunLease) -> None:
    """The end of a re-run."""
    partition.complete(lease.batch_id)
    partition.write_pointer(lease.batch_id)
    remove_lease(partition.root, lease.id)


class TestReruns:
    def test_3c8_stream_writes_to_both_batches_from_its_answer_on(self, root: Root, partition: Partition) -> None:
        stream = Stream(root)
        stream.run(TIME_MS, [event(1)])
        lease = begin_rerun(partition)
        stream.committer.answer_reruns()
        assert answers(root, "r1") == [Answer(WRITER, TIME_MS + 1)]
        stream.run(TIME_MS + 1, [event(2), event(3, time_ms=DAY_MS - 1)])
        assert offsets_in(root, partition, START_S) == [1, 2]
        assert offsets_in(root, partition, lease.batch_id) == [2]
        switch(partition, lease)
        stream.run(TIME_MS + 2, [event(4)])
        assert visible(root) == {"20151209": [3], "20151210": [2, 4]}
        assert offsets_in(root, partition, START_S) == [1, 2]

    def test_3c8_idle_stream_answers(self, root: Root, partition: Partition) -> None:
        committer = ArchiveCommitter(root, WRITER, "parquet", clock_ms=lambda: START_S * 1000, poll_s=0.01)
        committer.recover()
        begin_rerun(partition)
        assert reached(lambda: answers(root, "r1") == [Answer(WRITER, 1)], 30)
        committer.close()
        committer.close()

    def test_3c8_unanswered_lease_is_answered_by_the_next_micro_batch(self, root: Root, partition: Partition) -> None:
        stream = Stream(root)
        stream.run(TIME_MS, [event(1)])
        lease = begin_rerun(partition)
        stream.run(TIME_MS + 5, [event(2)])
        assert answers(root, "r1") == [Answer(WRITER, TIME_MS + 5)]
        assert offsets_in(root, partition, lease.batch_id) == [2]

    def test_3c8_stream_that_starts_leaves_the_batch_that_may_run_again_to_the_rerun(
        self, partition: Partition
    ) -> None:
        root = partition.root
        Stream(root).run(TIME_MS, [event(1)])
        lease = begin_rerun(partition)
        again = Stream(root)
        assert answers(root, "r1") == [Answer(WRITER, TIME_MS + 1)]
        again.run(TIME_MS, [event(1)])
        again.run(TIME_MS + 1, [event(2)])
        assert offsets_in(root, partition, START_S) == [1, 2]
        assert offsets_in(root, partition, lease.batch_id) == [2]

    def test_3c8_rerun_that_begins_within_a_commit_waits_for_it(self) -> None:
        for most in itertools.count():
            files = MemoryRoot()
            stream = Stream(files)
            flushed = stream.flush(TIME_MS, [event(1)], [event(2)])
            stream.committer._root = CrashingRoot(files, most)
            try:
                stream.committer.commit(*flushed)
            except CrashError:
                stream.committer._root = files
                partition = Partition(files, "dt=20151210")
                lease = begin_rerun(partition)
                stream.committer.commit(*flushed)
                assert answers(files, "r1") == [Answer(WRITER, TIME_MS + 1)]
                assert visible(files) == {"20151210": [1, 2]}
                assert offsets_in(files, partition, lease.batch_id) == []
            else:
                break

    def test_3c8_batch_before_the_answer_stays_in_the_old_batch_after_a_restart(self, partition: Partition) -> None:
        root = partition.root
        stream = Stream(root)
        stream.run(TIME_MS, [event(1)])
        lease = begin_rerun(partition)
        stream.committer.answer_reruns()
        Stream(root).run(TIME_MS, [event(1)])
        assert offsets_in(root, partition, lease.batch_id) == []
        assert offsets_in(root, partition, START_S) == [1]

    def test_3c8_replay_of_dead_letters_writes_to_both(self, root: Root, partition: Partition) -> None:
        stream = Stream(root)
        stream.run(TIME_MS, [event(1)])
        lease = begin_rerun(partition)
        replay = Stream(root, is_replay=True)
        replay.run(TIME_MS - 1, [event(2)])
        assert offsets_in(root, partition, lease.batch_id) == [2]
        assert visible(root) == {"20151210": [1, 2]}

    def test_lease_without_a_heartbeat_is_ignored(self, root: Root, partition: Partition) -> None:
        stream = Stream(root)
        stream.run(TIME_MS, [event(1)])
        lease = begin_rerun(partition)
        stream.clock.now += STALE_MS + 1
        stream.committer.answer_reruns()
        stream.run(TIME_MS + 1, [event(2)])
        assert answers(root, "r1") == []
        assert offsets_in(root, partition, lease.batch_id) == []

    def test_batch_that_was_removed_gets_nothing(self, root: Root, partition: Partition) -> None:
        stream = Stream(root)
        stream.run(TIME_MS, [event(1)])
        root.remove_tree(partition.path(begin_rerun(partition).batch_id))
        stream.run(TIME_MS + 1, [event(2)])
        assert visible(root) == {"20151210": [1, 2]}

    def test_batch_that_is_removed_within_a_commit_gets_nothing(self, tmp_path: Path) -> None:
        """A re-run that wrote no row ends: the commit goes on, although it has read the lease."""
        files = LocalRoot(tmp_path)
        stream = Stream(files)
        stream.run(TIME_MS, [event(1)])
        partition = Partition(files, "dt=20151210")
        lease = begin_rerun(partition)

        class Ending(CrashingRoot):
            def open(self, path: str) -> BinaryIO:
                if path.startswith("_tmp/"):
                    partition.remove_empty(lease.batch_id)
                return super().open(path)

        flushed = stream.flush(TIME_MS + 1, [event(2)])
        stream.committer._root = Ending(files, 1_000)
        stream.committer.commit(*flushed)
        assert visible(files) == {"20151210": [1, 2]}
        assert partition.batch_ids() == [START_S]

    def test_kill_between_any_two_changes_while_both_are_written(self) -> None:
        def make() -> Root:
            files = MemoryRoot()
            Stream(files).run(TIME_MS, [event(1)])
            begin_rerun(Partition(files, "dt=20151210"))
            Stream(files)
            return files

        for files in crashes(make, lambda files: Stream(files).run(TIME_MS + 1, [event(2)], [event(3)])):
            Stream(files).run(TIME_MS + 1, [event(2)], [event(3)])
            partition = Partition(files, "dt=20151210")
            assert offsets_in(files, partition, START_S) == [1, 2, 3]
            assert offsets_in(files, partition, START_S + 1_000) == [2, 3]
            assert not partition.root.exists(partition.path(START_S + 1_000, SUCCESS))
