"""The parquet sink: the contract of all sinks, and the content of its files."""

import errno
import os
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from attr2hbase_parquet import ROWS_PER_GROUP, Parquet

from ingest.api import (
    Batch,
    ConflictError,
    Disposition,
    Event,
    IntegrityError,
    MappingError,
    SinkContext,
    StoreUnavailableError,
    TaskSpec,
    WriteCounts,
)
from ingest.testing.events import settings_of
from ingest.testing.sinks import SinkContract, SinkKit

COLUMNS = "{body: '%{body}', number: '%{number}'}"


def sink(folder):
    return Parquet(settings_of(Parquet.settings_class(), f"{{path: '{folder}', columns: {COLUMNS}}}"))


def rows(folder):
    """Body and number of every visible row; readers ignore hidden folders."""
    return [
        (row["body"], row["number"])
        for file in folder.glob("batch=*/*.parquet")
        for row in pq.ParquetFile(file).read().to_pylist()
    ]


class TestContract(SinkContract):
    @pytest.fixture
    def kit(self, tmp_path):
        folder = tmp_path / "rows"
        return SinkKit(
            sink(folder),
            tmp_path / "state",
            visible=lambda: rows(folder),
            seen=lambda event: (event.body.decode(), event.attributes["number"].decode()),
            staged=lambda: [*folder.glob(".of-*/*/*")],
            refused=Event(b"\xff", {}),
        )


@pytest.fixture
def sides(tmp_path):
    parquet = sink(tmp_path / "rows")
    context = SinkContext("p", "parquet", tmp_path)
    committer = parquet.committer(context)
    committer.recover()
    return parquet.writer(context), committer


def begin(writer, committer, batch, task="0"):
    counts = WriteCounts()
    writer.begin(TaskSpec(batch, task_id=task), committer.prepare(batch, ()), counts)
    return counts


def test_rows_of_several_groups_are_one_file(tmp_path, sides):
    writer, committer = sides
    counts = begin(writer, committer, Batch("1000", 1000, "a"))
    for number in range(ROWS_PER_GROUP + 1):
        writer.write(Event(b"x", {"number": b"%d" % number}))
    committer.commit(Batch("1000", 1000, "a"), [writer.flush().payload])
    (file,) = (tmp_path / "rows").glob("batch=1000/*.parquet")
    assert pq.ParquetFile(file).num_row_groups == 2
    assert len(rows(tmp_path / "rows")) == counts.rows_sent == ROWS_PER_GROUP + 1
    assert (counts.write_calls, counts.cells, counts.bytes) == (2, 2 * (ROWS_PER_GROUP + 1), file.stat().st_size)


def test_file_of_a_failed_task_is_not_committed(tmp_path, sides):
    writer, committer = sides
    batch = Batch("1000", 1000, "a")
    payloads = []
    for task in ("failed", "retried"):
        begin(writer, committer, batch, task)
        writer.write(Event(b"x", {}))
        payloads.append(writer.flush().payload)
    committer.commit(batch, payloads[1:])
    assert rows(tmp_path / "rows") == [("x", "")]


def stage(sides, attempt, body):
    writer, committer = sides
    batch = Batch("1000", 1000, attempt)
    begin(writer, committer, batch)
    writer.write(Event(body, {}))
    return batch, [writer.flush().payload]


def test_kill_within_a_replacement_keeps_the_old_rows(tmp_path, sides, monkeypatch):
    _, committer = sides
    committer.commit(*stage(sides, "a", b"old"))
    second = stage(sides, "b", b"new")
    rename = Path.rename

    def kill(path, target):
        if path.name == "complete":
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", kill)
    with pytest.raises(KeyboardInterrupt):
        committer.commit(*second)
    monkeypatch.undo()
    assert rows(tmp_path / "rows") == []
    committer.recover()
    assert rows(tmp_path / "rows") == [("old", "")]
    committer.commit(*stage(sides, "c", b"new"))
    assert rows(tmp_path / "rows") == [("new", "")]


def fail_sync(monkeypatch, folder, number):
    """Let the next sync of a folder fail; returns the folders that are synced."""
    synced = []

    def fsync(descriptor):
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        if synced.count(folder) == 1 and synced[-1] == folder:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fsync)
    return synced


def test_repeated_commit_syncs_the_folder_that_a_failed_one_did_not(tmp_path, sides, monkeypatch):
    _, committer = sides
    staged = stage(sides, "a", b"x")
    synced = fail_sync(monkeypatch, tmp_path / "rows", errno.ENOSPC)
    with pytest.raises(StoreUnavailableError, match="No space left"):
        committer.commit(*staged)
    committer.commit(*staged)
    assert synced.count(tmp_path / "rows") == 2
    assert rows(tmp_path / "rows") == [("x", "")]


def test_failed_disk_stops_the_pipeline(tmp_path, sides, monkeypatch):
    _, committer = sides
    staged = stage(sides, "a", b"x")
    fail_sync(monkeypatch, tmp_path / "rows", errno.EIO)
    with pytest.raises(IntegrityError) as caught:
        committer.commit(*staged)
    assert (caught.value.code, caught.value.disposition) == ("disk_failed", Disposition.STOP)


@pytest.mark.parametrize("is_whole", [True, False], ids=["folder", "file"])
def test_lost_staged_files_stop_the_pipeline(sides, is_whole):
    _, committer = sides
    batch, results = stage(sides, "a", b"x")
    attempt = Path(os.fsdecode(committer.prepare(batch, ())))
    if is_whole:
        shutil.rmtree(attempt)
    else:
        (attempt / os.fsdecode(results[0])).unlink()
    for _ in range(2):
        with pytest.raises(IntegrityError, match=re.escape(f'is no longer in "{attempt}"')):
            committer.commit(batch, results)


def test_text_that_is_not_utf8_is_rejected(sides):
    writer, committer = sides
    begin(writer, committer, Batch("1000", 1000, "a"))
    with pytest.raises(MappingError) as caught:
        writer.write(Event(b"\xff", {}))
    assert caught.value.code == "not_utf8"


@pytest.mark.usefixtures("sides")
def test_path_of_another_sink_is_rejected(tmp_path):
    made, context = sink(tmp_path / "rows"), SinkContext("q", "parquet", tmp_path)
    with pytest.raises(ConflictError, match="belongs to another sink"):
        made.check(context)
    with pytest.raises(ConflictError, match="belongs to another sink"):
        made.committer(context).recover()


def test_check_counts_batches_and_creates_nothing(tmp_path, sides):
    context = SinkContext("p", "parquet", tmp_path)
    assert sink(tmp_path / "to-come" / "rows").check(context) == "batches: 0"
    assert not (tmp_path / "to-come").exists()
    writer, committer = sides
    batch = Batch("1000", 1000, "a")
    begin(writer, committer, batch)
    writer.write(Event(b"x", {}))
    committer.commit(batch, [writer.flush().payload])
    assert sink(tmp_path / "rows").check(context) == "batches: 1"


def test_check_rejects_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    context = SinkContext("p", "parquet", tmp_path)
    with pytest.raises(StoreUnavailableError, match="is no folder"):
        sink(tmp_path / "file" / "rows").check(context)
    monkeypatch.setattr(os, "access", lambda *_arguments: False)
    with pytest.raises(StoreUnavailableError, match="no right to write"):
        sink(tmp_path / "rows").check(context)


def test_unavailable_disk_is_an_unavailable_store(tmp_path, sides):
    writer, _ = sides
    (tmp_path / "file").touch()
    writer.begin(TaskSpec(Batch("1000", 1000, "a")), bytes(tmp_path / "file"), WriteCounts())
    writer.write(Event(b"x", {}))
    with pytest.raises(StoreUnavailableError, match="cannot be written"):
        writer.flush()
