"""The sink of a re-run: the rows of one partition, into a version that no reader reads yet."""

import pytest

from ingest.api import Batch, IntegrityError, SinkContext, TaskSpec, WriteCounts
from sinks.archive.layout import NO_TIME
from sinks.archive.partition import Partition
from sinks.archive.rerun_sink import OTHER_PARTITION, RerunSettings, RerunSink
from sinks.files.local_root import LocalRoot
from tests.support.archives import DAY_MS, START_S, event, offsets_in

DAY = 24 * 3_600_000
LAST_MS = 253_402_300_799_999
"""The end of the year 9999."""
BATCH = Batch("b", DAY_MS + 40 * DAY, "a")
"""Long after the event times: late events are accepted."""


@pytest.fixture
def partition(tmp_path):
    return Partition(LocalRoot(tmp_path / "customer"), "dt=20151210")


@pytest.fixture
def sink(tmp_path, partition):
    partition.create(START_S, "rerun")
    return RerunSink(
        RerunSettings.model_validate(
            {"root": str(tmp_path), "table": "customer", "value": "20151210", "version_id": START_S}
        )
    )


@pytest.fixture
def context(tmp_path):
    return SinkContext("p", "archive", tmp_path, is_replay=True)


def flushed(sink, context, prepared, *events):
    writer = sink.writer(context)
    writer.begin(TaskSpec(BATCH, task_id="t"), prepared, WriteCounts())
    return [writer.write(each) for each in events], writer.flush().payload


def test_rows_of_the_partition_go_into_the_version(sink, context, partition):
    committer = sink.committer(context)
    prepared = committer.prepare(BATCH, ())
    others = [event(2, time_ms=DAY_MS - 1), event(3, time_ms=DAY_MS + DAY), event(4, time_ms=0)]
    reasons, result = flushed(sink, context, prepared, event(1), *others)
    assert reasons == [None, *[OTHER_PARTITION] * 3]
    committer.commit(BATCH, [result])
    committer.commit(BATCH, [result])
    assert (offsets_in(partition.root, partition, START_S), partition.current()) == ([1], None)


def test_partition_of_events_without_a_time_is_written_again(tmp_path, context):
    settings = {"root": str(tmp_path), "table": "customer", "value": NO_TIME, "version_id": START_S}
    sink = RerunSink(RerunSettings.model_validate(settings))
    events = [event(number, time_ms=time_ms) for number, time_ms in enumerate((-1, 0, LAST_MS, LAST_MS + 1))]
    reasons, _ = flushed(sink, context, sink.committer(context).prepare(BATCH, ()), *events)
    assert reasons == [None, OTHER_PARTITION, OTHER_PARTITION, None]


def test_staged_file_that_is_gone_is_reported(sink, context, partition):
    committer = sink.committer(context)
    prepared = committer.prepare(BATCH, ())
    _, result = flushed(sink, context, prepared, event(1))
    committer.abort(BATCH)
    with pytest.raises(IntegrityError) as caught:
        committer.commit(BATCH, [result])
    assert caught.value.code == "staged_file_lost"


def test_end_removes_what_is_staged(sink, context, partition):
    committer = sink.committer(context)
    flushed(sink, context, committer.prepare(BATCH, ()), event(1))
    committer.close()
    assert [path for path, _ in partition.root.files_below("_tmp")] == []


def test_start_removes_what_a_killed_rerun_has_staged(sink, context, partition):
    flushed(sink, context, sink.committer(context).prepare(BATCH, ()), event(1))
    assert [path for path, _ in partition.root.files_below("_tmp")] != []
    later = RerunSink(sink.settings.model_copy(update={"version_id": START_S + 1}))
    later.committer(context).recover()
    assert [path for path, _ in partition.root.files_below("_tmp")] == []
