"""Finished files: ranges, the files of a `--once` run, and files that were changed or removed."""

import errno
import gzip
import json
import os
import random
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes
from pyspark.sql.types import StructType

from ingest.api import Decoding, SourceUnavailableError
from ingest.dry_run.inputs import record_of
from ingest.dry_run.raw_lines import first_records, records_of_file
from ingest.sources import lines as source_lines
from ingest.sources.lines import lines_of
from ingest.sources.unread import unread_error
from ingest.spark.streaming import files_reader
from ingest.spark.streaming.files_reader import CHANGED_AGAIN_S, FileRange, FilesDataSource, FilesReader
from ingest.spark.streaming.rows import records_of

ALL = ReadAllAvailable()


def touch(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    os.utime(path, (1_000, 1_000))
    return path


def values(reader: FilesReader, start, end) -> list[tuple[int, bytes]]:
    return [
        (row["offset"], row["value"])
        for piece in reader.partitions(start, end)
        for batch in reader.read(piece)
        for row in batch.to_pylist()
    ]


def missing(reader: FilesReader, start, end) -> list[tuple[str, int, int | None, bool, str]]:
    """(file, first offset, end, is_certain, message) of the lines that the reader reports as not read."""
    found = []
    for piece in reader.partitions(start, end):
        for record in records_of(reader.read(piece)):
            if record.value is None:
                error = unread_error(record)
                name = record.topic.rpartition("/")[2]
                found.append((name, record.offset, error.end, error.is_certain, f"{error.code}: {error.message}"))
    return found


@given(
    content=st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\r", b"bc"]), max_size=30).map(b"".join),
    borders=st.lists(st.integers(0, 40), max_size=5),
)
def test_ranges_contain_every_line_once(tmp_path_factory: pytest.TempPathFactory, content: bytes, borders: list[int]):
    path = touch(tmp_path_factory.mktemp("files") / "x", content)
    size = len(content)
    cuts = sorted({0, size, *(border for border in borders if border < size)})
    found = [pair for start, stop in pairwise(cuts) for pair in lines_of(str(path), 1_000, start, stop)]
    parts = content.split(b"\n")
    expected = [part.removesuffix(b"\r") for part in (parts if parts[-1] else parts[:-1])]
    assert [line for _, line in found] == expected
    assert [offset for offset, _ in found] == [sum(len(part) + 1 for part in parts[:n]) for n in range(len(expected))]


def test_headers_are_empty_and_not_null(tmp_path: Path):
    """For each null list Arrow's Java writer scans the whole batch."""
    touch(tmp_path / "a", b"one\ntwo\n")
    reader = FilesReader(str(tmp_path), 1_000)
    (piece,) = reader.partitions(reader.initialOffset(), reader.latestOffset(reader.initialOffset(), ALL))
    assert [batch.column("headers").to_pylist() for batch in reader.read(piece)] == [[[], []]]


def test_batches_of_any_size_contain_every_line(tmp_path: Path):
    touch(tmp_path / "a", b"one\ntwo\nthree")
    touch(tmp_path / "b", b"")
    touch(tmp_path / "c", b"four\r\n")
    (tmp_path / "d.gz").write_bytes(gzip.compress(b"five\nsix\n"))
    reader = FilesReader(str(tmp_path), 1_000)
    start, found = reader.initialOffset(), []
    while (end := reader.latestOffset(start, ReadMaxBytes(5))) != start:
        found += values(reader, start, end)
        start = end
    assert [value for _, value in found] == [b"one", b"two", b"three", b"four", b"five", b"six"]


def test_batches_have_at_most_the_maximum_of_lines(tmp_path: Path):
    touch(tmp_path / "a", b"1\n2\n3\n4\n5")
    touch(tmp_path / "b", b"6\r\n7\n")
    (tmp_path / "c.gz").write_bytes(gzip.compress(b"8\n9\n10\n"))
    touch(tmp_path / "d", b"11\n")
    reader = FilesReader(str(tmp_path), 1_000, max_records=2)
    start, batches = reader.initialOffset(), []
    while (end := reader.latestOffset(start, ReadMaxBytes(1_000))) != start:
        batches.append([value for _, value in values(reader, start, end)])
        start = end
    # a gzip file is read as a whole, and ends the batch
    assert batches == [[b"1", b"2"], [b"3", b"4"], [b"5", b"6"], [b"7", b"8", b"9", b"10"], [b"11"]]


@pytest.mark.parametrize(("options", "lines"), [({}, 3), ({"max_records": "2"}, 2)])
def test_maximum_of_lines_is_an_option_of_the_data_source(tmp_path: Path, options: dict[str, str], lines: int):
    touch(tmp_path / "a", b"1\n2\n3\n")
    source = FilesDataSource({"path": str(tmp_path), "max_event_bytes": "10", **options})
    reader = source.streamReader(StructType())
    assert len(values(reader, {}, reader.latestOffset({}, ALL))) == lines


def test_maximum_of_lines_applies_within_the_limit_of_bytes(tmp_path: Path):
    touch(tmp_path / "a", b"one\ntwo\nthree\n")
    reader = FilesReader(str(tmp_path), 1_000, max_records=2)
    end = reader.latestOffset({}, ReadMaxBytes(5))
    assert values(reader, {}, end) == [(0, b"one"), (4, b"two")]
    assert end[str(tmp_path / "a")]["position"] == 5
    later = reader.latestOffset(end, ReadMaxBytes(1_000))
    assert values(reader, end, later) == [(8, b"three")]


def test_once_reads_the_files_that_exist_at_the_start(tmp_path: Path):
    touch(tmp_path / "a", b"one\n")
    reader = FilesReader(str(tmp_path), 1_000)
    reader.prepareForTriggerAvailableNow()
    touch(tmp_path / "b", b"two\n")
    end = reader.latestOffset({}, ALL)
    assert values(reader, {}, end) == [(0, b"one")]


@pytest.mark.parametrize("once", [True, False])
def test_lines_added_to_a_file_that_was_read_have_a_dead_letter(tmp_path: Path, once):
    path = touch(tmp_path / "a", b"one\n")
    start = FilesReader(str(tmp_path), 1_000).latestOffset({}, ALL)
    touch(path, b"one\ntwo\n")
    touch(tmp_path / "b", b"three\n")
    reader = FilesReader(str(tmp_path), 1_000)
    if once:
        reader.prepareForTriggerAvailableNow()
    end = json.loads(json.dumps(reader.latestOffset(start, ALL)))
    ((name, first, stop, is_certain, message),) = missing(reader, start, end)
    assert (name, first, stop, is_certain) == ("a", 4, 8, True)
    assert "changed_file: " in message
    assert "has changed since it was discovered" in message
    assert message.endswith("its lines from byte 4 on were not read")
    assert [value for _, value in values(reader, start, end) if value] == [b"three"]
    assert reader.latestOffset(end, ALL) == end, "one dead letter"
    path.unlink()
    assert len(missing(reader, start, end)) == 1, "each attempt finds the same"


def test_a_file_that_goes_on_changing_has_a_dead_letter_from_time_to_time(tmp_path: Path):
    now_s = 0.0
    path = touch(tmp_path / "a", b"one\n")
    reader = FilesReader(str(tmp_path), 1_000, clock=lambda: now_s)
    start, found = reader.latestOffset({}, ALL), []
    for lines in range(2, 40):
        touch(path, b"one\n" * lines)
        end = reader.latestOffset(start, ALL)
        found += [(first, stop) for _, first, stop, *_ in missing(reader, start, end)]
        start = end
        now_s += CHANGED_AGAIN_S / 10
    # each line is in one dead letter; the first two are of the change, and of the change after it
    assert found == [(4, 8), (8, 12), (12, 52), (52, 92), (92, 132)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"ONE\nTWO\n", (0, None)), (b"x\n", (0, None)), (b"one\ntwo\nthree\n", (4, 14))],
    ids=["replaced", "truncated", "grown"],
)
def test_a_partly_read_file_that_changes_has_a_dead_letter(tmp_path: Path, content, expected):
    path = touch(tmp_path / "a", b"one\ntwo\n")
    reader = FilesReader(str(tmp_path), 1_000)
    start = reader.latestOffset({}, ReadMaxBytes(4))
    touch(path, content)
    os.utime(path, (2_000, 2_000))
    end = reader.latestOffset(start, ALL)
    assert [(first, stop) for _, first, stop, *_ in missing(reader, start, end)] == [expected]
    assert reader.latestOffset(end, ALL) == end


def test_position_of_a_file_that_becomes_shorter_does_not_go_back(tmp_path: Path):
    """Positions in the committed positions of tables would be ahead of those of the checkpoint."""
    path = touch(tmp_path / "a", b"one\ntwo\n")
    reader = FilesReader(str(tmp_path), 1_000)
    start = reader.latestOffset({}, ALL)
    touch(path, b"x\n")
    end = reader.latestOffset(start, ALL)
    assert (end[str(path)]["size"], end[str(path)]["position"]) == (2, 8)
    assert reader.latestOffset(end, ALL) == end


def test_change_that_a_full_batch_leaves_out_is_in_the_next_one(tmp_path: Path):
    path, first = touch(tmp_path / "b", b"one\n"), tmp_path / "a"
    reader = FilesReader(str(tmp_path), 1_000, clock=lambda: 0.0)
    start = reader.latestOffset({}, ALL)
    touch(path, b"one\ntwo\n")
    start = reader.latestOffset(start, ALL)
    touch(path, b"one\ntwo\nthree\n")
    touch(first, b"four\n")
    full = reader.latestOffset(start, ReadMaxBytes(5))
    assert values(reader, start, full) == [(0, b"four")]
    assert [found[:3] for found in missing(reader, full, reader.latestOffset(full, ALL))] == [("b", 8, 14)]


@pytest.mark.parametrize(("added", "first"), [(b"two\n", 4), (None, 0)], ids=["grown", "replaced"])
def test_a_gzip_file_that_changes_after_it_was_read_has_a_dead_letter(tmp_path: Path, added, first):
    path = touch(tmp_path / "a.gz", gzip.compress(b"one\n"))
    reader = FilesReader(str(tmp_path), 1_000)
    start = reader.latestOffset({}, ALL)
    touch(path, gzip.compress(b"one\n") + gzip.compress(added) if added else b"?")
    end = reader.latestOffset(start, ALL)
    assert [found[:4] for found in missing(reader, start, end)] == [("a.gz", first, None, True)]


def test_error_of_a_changed_file_has_both_states(tmp_path: Path):
    path = touch(tmp_path / "a", b"one\n")
    os.utime(path, ns=(0, 1_000_123_456_789))
    reader = FilesReader(str(tmp_path), 1_000)
    start = reader.latestOffset({}, ALL)
    path.write_bytes(b"two\n")
    os.utime(path, (2_000, 2_000))
    ((*_, message),) = missing(reader, start, reader.latestOffset(start, ALL))
    assert "4 bytes of 1970-01-01T00:16:40.123Z then, 4 bytes of 1970-01-01T00:33:20.000Z now" in message
    assert message.endswith("; its present lines were not read")


def test_file_that_was_read_may_be_removed(tmp_path: Path):
    path = touch(tmp_path / "a", b"one\n")
    reader = FilesReader(str(tmp_path), 1_000)
    end = reader.latestOffset({}, ALL)
    path.unlink()
    touch(tmp_path / "b", b"two\n")
    assert values(reader, end, reader.latestOffset(end, ALL)) == [(0, b"two")]


@pytest.mark.parametrize("once", [True, False])
def test_read_file_that_is_removed_during_discovery_is_no_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, once: bool
):
    path = touch(tmp_path / "a", b"one\n")
    reader = FilesReader(str(tmp_path), 1_000)
    start = reader.latestOffset({}, ALL)
    touch(tmp_path / "b", b"two\n")
    removed_after_first_stat(monkeypatch, path)
    if once:
        reader.prepareForTriggerAvailableNow()
    end = reader.latestOffset(start, ALL)
    assert not path.exists()
    assert values(reader, start, end) == [(0, b"two")]


def removed_after_first_stat(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    """Another program removes the file just after its first `stat`."""
    original = os.stat

    def stat(path, **options):
        status = original(path, **options)
        if Path(path) == file:
            monkeypatch.undo()
            file.unlink()
        return status

    monkeypatch.setattr(os, "stat", stat)


@pytest.mark.parametrize("once", [True, False])
def test_new_file_that_is_removed_during_discovery_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, once: bool
):
    path = touch(tmp_path / "a", b"one\n")
    touch(tmp_path / "b", b"two\n")
    reader = FilesReader(str(tmp_path), 1_000)
    removed_after_first_stat(monkeypatch, path)
    if once:
        reader.prepareForTriggerAvailableNow()
    end = reader.latestOffset({}, ALL)
    assert not path.exists()
    assert values(reader, {}, end) == [(0, b"two")]
    assert reader.latestOffset(end, ALL) == end


@pytest.mark.parametrize("change", ["removed", "replaced", "folder"])
def test_file_that_is_another_one_when_it_is_read_is_reported(tmp_path: Path, change):
    """An earlier attempt may have read it."""
    reader = in_folders(tmp_path, "a/1", "a/2")
    end = reader.latestOffset({}, ALL)
    path = tmp_path / "a" / "1"
    if change == "replaced":
        touch(path, b"two\none\n")
    else:
        path.unlink()
    if change == "folder":
        path.mkdir()
    ((name, first, stop, is_certain, message),) = missing(reader, {}, end)
    assert (name, first, stop, is_certain) == ("1", 0, 4, False)
    assert f'/a/1" {"was removed before" if change == "removed" else "has changed since"} ' in message
    assert [value for _, value in values(reader, {}, end) if value] == [b"one"]


def test_file_removed_before_it_is_opened_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = touch(tmp_path / "a", b"one\n")
    touch(tmp_path / "b", b"")
    reader = FilesReader(str(tmp_path), 1_000)
    end = reader.latestOffset({}, ALL)
    removed_after_first_stat(monkeypatch, path)
    ((*_, message),) = missing(reader, {}, end)
    assert '/a" was removed before it was read completely; its lines from byte 0 on were not read' in message


@pytest.mark.parametrize("lines", [1, files_reader.ARROW_ROWS + 1])
def test_file_that_changes_while_it_is_read_fails_the_attempt(tmp_path: Path, lines):
    """Its lines may be of no state of the file."""
    path = touch(tmp_path / "a", b"one\n" * lines)
    reader = FilesReader(str(tmp_path), 1_000)
    (piece,) = reader.partitions({}, reader.latestOffset({}, ALL))
    found = iter(reader.read(piece))
    if lines > 1:
        next(found)
        touch(path, b"two\n" * (lines + 1))
    else:
        original = source_lines.lines_of

        def read_meanwhile(*args):
            yield from original(*args)
            touch(path, b"two\none\n")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files_reader, "lines_of", read_meanwhile)
            with pytest.raises(SourceUnavailableError, match="while it was read"):
                list(found)
        return
    with pytest.raises(SourceUnavailableError, match="while it was read"):
        list(found)


@pytest.mark.parametrize("folder", ["empty", "gone"])
def test_file_of_an_empty_folder_is_awaited(tmp_path: Path, folder):
    """Its disk may not be mounted."""
    reader = in_folders(tmp_path, "a/1", "b/1")
    end = reader.latestOffset({}, ReadMaxBytes(2))
    shutil.rmtree(tmp_path / "a")
    if folder == "empty":
        (tmp_path / "a").mkdir()
    with pytest.raises(SourceUnavailableError, match="its disk may not be mounted"):
        values(reader, {}, end)
    with pytest.raises(SourceUnavailableError, match="its disk may not be mounted"):
        reader.latestOffset(end, ALL)
    (tmp_path / "a").mkdir(exist_ok=True)
    touch(tmp_path / "a" / "2", b"")
    assert [found[:4] for found in missing(reader, {}, end)] == [("1", 0, 2, False)]
    assert [found[:4] for found in missing(reader, end, reader.latestOffset(end, ALL))] == [("1", 2, 4, True)]


def test_file_that_cannot_be_examined_is_retried():
    name = "/" + "a" * 300
    with pytest.raises(
        SourceUnavailableError, match=f'"{name}" cannot be read: File name too long; the pipeline resumes'
    ):
        FilesReader(name, 1_000).latestOffset({}, ALL)


def test_file_that_cannot_be_read_is_retried():
    """Linux maps no memory at address 0, and the errno is that of a failed disk."""
    path = Path("/proc/self/mem")
    with path.open("rb"):
        piece = FileRange(str(path), 0, path.stat().st_mtime_ns // 1_000_000, 0, 10)
        with pytest.raises(SourceUnavailableError, match='"/proc/self/mem" cannot be read: Input/output error'):
            list(FilesReader("/", 1_000).read(piece))


def test_new_empty_file_starts_no_batch(tmp_path: Path):
    reader = in_folders(tmp_path, "day/a")
    start = reader.latestOffset({}, ALL)
    empty = touch(tmp_path / "day" / "b", b"")
    assert reader.latestOffset(start, ALL) == start
    empty.write_bytes(b"two\n")
    assert values(reader, start, reader.latestOffset(start, ALL)) == [(0, b"two")]


def test_folder_that_cannot_be_listed_is_retried(tmp_path: Path, monkeypatch):
    touch(tmp_path / "a", b"one\n")

    def denied(_path: str) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "listdir", denied)  # root may list any
    with pytest.raises(SourceUnavailableError, match=f'"{tmp_path}" cannot be read: Permission denied'):
        FilesReader(str(tmp_path), 1_000).latestOffset({}, ALL)


@pytest.mark.parametrize("once", [True, False])
def test_partly_read_file_that_was_removed_has_a_dead_letter(tmp_path: Path, once):
    path = touch(tmp_path / "a", b"one\ntwo\n")
    touch(tmp_path / "b", b"three\n")
    start = FilesReader(str(tmp_path), 1_000).latestOffset({}, ReadMaxBytes(4))
    path.unlink()
    reader = FilesReader(str(tmp_path), 1_000)
    if once:
        reader.prepareForTriggerAvailableNow()
    end = reader.latestOffset(start, ALL)
    ((name, first, stop, is_certain, message),) = missing(reader, start, end)
    assert (name, first, stop, is_certain) == ("a", 4, 8, True)
    assert message.startswith("removed_file: ")
    assert message.endswith('/a" was removed before it was read completely; its lines from byte 4 on were not read')
    assert [value for _, value in values(reader, start, end) if value] == [b"three"]
    assert reader.latestOffset(end, ALL) == end
    touch(tmp_path / "c", b"four\n")
    if once:
        reader.prepareForTriggerAvailableNow()
    later = reader.latestOffset(end, ALL)
    assert names(tmp_path, later) == ["b", "c"]


def in_folders(root: Path, *names: str) -> FilesReader:
    """A reader of files of one line each, in folders below the root."""
    for name in names:
        (root / name).parent.mkdir(exist_ok=True)
        touch(root / name, b"one\n")
    return FilesReader(str(root / "*" / "*"), 1_000)


def names(root: Path, offset) -> list[str]:
    return [str(Path(path).relative_to(root)) for path in sorted(offset.keys() - {"forgotten"})]


def test_removed_files_are_dropped_from_the_offset_with_the_next_batch(tmp_path: Path):
    reader = in_folders(tmp_path, *(f"day1/{number:02d}" for number in range(50)), "day2/gone", "day2/kept")
    start = reader.latestOffset({}, ALL)
    assert len(start) == 52
    shutil.rmtree(tmp_path / "day1")
    (tmp_path / "day2" / "gone").unlink()
    assert reader.latestOffset(start, ALL) == start, "no empty batch"
    touch(tmp_path / "day2" / "new", b"two\n")
    end = reader.latestOffset(start, ALL)
    assert names(tmp_path, end) == ["day2/kept", "day2/new"]
    assert values(reader, start, end) == [(0, b"two")]
    assert reader.latestOffset(end, ALL) == end


@pytest.mark.parametrize("content", [b"three\nfour\n", b"one\n"], ids=["another", "put-back"])
@pytest.mark.parametrize("once", [True, False])
def test_new_file_at_the_path_of_a_removed_one_has_a_dead_letter(tmp_path: Path, content: bytes, once: bool):
    """Its events would overwrite those of the first one."""
    reader = in_folders(tmp_path, "a/1", "a/2")
    start = reader.latestOffset({}, ALL)
    (tmp_path / "a" / "1").unlink()
    touch(tmp_path / "a" / "3", b"two\n")
    middle = json.loads(json.dumps(reader.latestOffset(start, ALL)))
    touch(tmp_path / "a" / "4", b"five\n")
    end = json.loads(json.dumps(reader.latestOffset(middle, ALL)))
    assert values(reader, start, middle) == [(0, b"two")], "the replay of a batch"
    path = touch(tmp_path / "a" / "1", content)
    if once:
        reader.prepareForTriggerAvailableNow()
    for offset in (middle, end):
        ((name, first, stop, is_certain, message),) = missing(reader, offset, reader.latestOffset(offset, ALL))
        assert (name, first, stop, is_certain) == ("1", 0, None, True)
        assert '/a/1" exists again' in message
        assert message.endswith("give a new file another name")
    later = reader.latestOffset(end, ALL)
    path.rename(tmp_path / "a" / "5")
    if once:
        reader.prepareForTriggerAvailableNow()
    assert values(reader, later, reader.latestOffset(later, ALL)) == [
        (offset, line) for offset, line in [(0, content.split()[0]), (6, b"four")] if line in content
    ]


def test_files_of_an_empty_folder_stay_in_the_offset(tmp_path: Path):
    """The folder may be the mount point of a disk that is not mounted."""
    reader = in_folders(tmp_path, "disk/1", "other/1")
    start = reader.latestOffset({}, ALL)
    (tmp_path / "disk" / "1").unlink()
    touch(tmp_path / "other" / "2", b"two\n")
    end = reader.latestOffset(start, ALL)
    assert names(tmp_path, end) == ["disk/1", "other/1", "other/2"]


def test_files_of_a_folder_that_cannot_be_examined_stay_in_the_offset(tmp_path: Path):
    reader = in_folders(tmp_path, "a/1", "b/1")
    start = reader.latestOffset({}, ALL)
    shutil.rmtree(tmp_path / "a")
    (tmp_path / "a").symlink_to("a")
    touch(tmp_path / "b" / "2", b"two\n")
    assert names(tmp_path, reader.latestOffset(start, ALL)) == ["a/1", "b/1", "b/2"]


def test_once_drops_only_files_that_were_removed_before_its_start(tmp_path: Path):
    reader = in_folders(tmp_path, "a/1", "a/2")
    start = reader.latestOffset({}, ALL)
    (tmp_path / "a" / "1").unlink()
    for name in "34":
        touch(tmp_path / "a" / name, b"two\n")
    reader.prepareForTriggerAvailableNow()
    (tmp_path / "a" / "2").unlink()
    middle = reader.latestOffset(start, ReadMaxBytes(4))
    assert names(tmp_path, middle) == ["a/2", "a/3"]
    (tmp_path / "a" / "3").unlink()
    end = reader.latestOffset(middle, ReadMaxBytes(4))
    assert values(reader, middle, end) == [(0, b"two")]
    assert names(tmp_path, end) == ["a/2", "a/3", "a/4"]
    assert reader.latestOffset(end, ALL) == end


DAMAGED = {
    "truncated": gzip.compress(b"one\n" * 1_000, mtime=0)[:-12],
    "misnamed": b"no gzip",
    "checksum": gzip.compress(b"x", mtime=0)[:-6] + b"abcdef",
    "followed": gzip.compress(b"one\n", mtime=0) + b"more",
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_nothing_of_a_damaged_gzip_file_is_read_but_the_other_files(tmp_path: Path, content: bytes):
    touch(tmp_path / "a.log", b"one\n")
    path = touch(tmp_path / "b.gz", content)
    touch(tmp_path / "c.log", b"two\n")
    reader = FilesReader(str(tmp_path), 1_000)
    end = json.loads(json.dumps(reader.latestOffset({}, ALL)))
    ((name, first, stop, is_certain, message),) = missing(reader, {}, end)
    assert (name, first, stop, is_certain) == ("b.gz", 0, None, True)
    assert message.startswith("damaged_file: ")
    assert "cannot be decompressed" in message
    assert [value for _, value in values(reader, {}, end)] == [b"one", None, b"two"]
    assert reader.latestOffset(end, ALL) == end, "one dead letter"
    path.write_bytes(gzip.compress(b"three\n"))
    later = reader.latestOffset(end, ALL)
    assert [found[:4] for found in missing(reader, end, later)] == [("b.gz", 0, None, True)], "to be replayed"
    assert len(missing(reader, {}, end)) == 1, "each attempt finds the same"


def test_damage_that_appears_after_the_discovery_ends_the_lines_of_a_gzip_file(tmp_path: Path):
    """Such as that of a disk: size and time are the same. Not every damage is found before it has made a line end."""
    content = gzip.compress(random.Random(1).randbytes(3_000_000).hex().encode() + b"\ntwo\n", compresslevel=1, mtime=0)
    path = touch(tmp_path / "a.gz", gzip.compress(b"one\n", mtime=0) + content)
    reader = FilesReader(str(tmp_path), 10_000_000)
    end = reader.latestOffset({}, ALL)
    touch(path, path.read_bytes()[:-40] + b"?" * 40)
    ((name, first, stop, is_certain, message),) = missing(reader, {}, end)
    assert (name, first, stop, is_certain) == ("a.gz", 4, None, False)
    assert message.endswith("its lines from byte 4 on were not read")
    assert [value for _, value in values(reader, {}, end)] == [b"one", None]


def test_files_that_are_not_read_count_in_a_batch(tmp_path: Path):
    for name in "abcd":
        touch(tmp_path / f"{name}.gz", b"no gzip")
    for limits in ({"limit": ReadMaxBytes(files_reader.UNREAD_BYTES + 1)}, {"limit": ALL, "max_records": 2}):
        reader = FilesReader(str(tmp_path), 1_000, max_records=limits.get("max_records"))
        end = reader.latestOffset({}, limits["limit"])
        assert [found[0] for found in missing(reader, {}, end)] == ["a.gz", "b.gz"]
        assert len(missing(reader, end, reader.latestOffset(end, ALL))) == 2


def test_lines_of_a_file_that_is_removed_meanwhile_are_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = touch(tmp_path / "a", b"1\n2\n3\n")
    touch(tmp_path / "b", b"4\n")
    reader = FilesReader(str(tmp_path), 1_000, max_records=2)
    monkeypatch.setattr(files_reader, "_is_gone", lambda _path: False)
    reader.prepareForTriggerAvailableNow()
    path.unlink()
    end = reader.latestOffset({}, ALL)
    monkeypatch.undo()
    assert [found[:4] for found in missing(reader, {}, end)] == [("a", 0, 6, False)]
    assert [value for _, value in values(reader, {}, end)] == [None, b"4"]


def test_folder_with_glob_characters_in_its_name_is_read(tmp_path: Path):
    folder = tmp_path / "logs [1]"
    folder.mkdir()
    touch(folder / "a", b"one\n")
    reader = FilesReader(str(folder), 1_000)
    assert values(reader, {}, reader.latestOffset({}, ALL)) == [(0, b"one")]


def test_line_that_is_too_large_for_an_event_is_complete_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(source_lines, "MAX_LINE_BYTES", 10)
    path = touch(tmp_path / "x", b"a" * 10 + b"\n" + b"b" * 50 + b"\nc\n")
    assert list(lines_of(str(path), 5)) == [(0, b"a" * 10), (11, b"b" * 12), (62, b"c")]


@pytest.mark.parametrize("end_of_name", ["", ".gz"])
def test_file_whose_name_is_not_utf8_is_read(tmp_path: Path, end_of_name: str):
    path = tmp_path / os.fsdecode(b"caf\xe9" + end_of_name.encode())
    touch(path, gzip.compress(b"one\n") if end_of_name else b"one\n")
    touch(tmp_path / rf"caf\xe9{end_of_name}", path.read_bytes())
    reader = FilesReader(str(tmp_path), 1_000)
    end = json.loads(json.dumps(reader.latestOffset({}, ALL)))
    topics = [
        topic
        for piece in reader.partitions({}, end)
        for batch in reader.read(piece)
        for topic in batch["topic"].to_pylist()
    ]
    assert sorted(topics) == sorted(end) == [rf"{tmp_path}/caf\\xe9{end_of_name}", rf"{tmp_path}/caf\xe9{end_of_name}"]
    assert reader.latestOffset(end, ALL) == end
    path.write_bytes(b"two")
    ((name, *_, message),) = missing(reader, end, reader.latestOffset(end, ALL))
    assert name == rf"caf\xe9{end_of_name}"
    assert rf'/caf\xe9{end_of_name}" has changed'.encode() in message.encode()
    path.unlink()
    touch(tmp_path / "more", b"two\n")
    assert names(tmp_path, reader.latestOffset(end, ALL)) == [rf"caf\\xe9{end_of_name}", "more"]


def test_a_dry_run_has_the_records_that_spark_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
):
    monkeypatch.setattr(source_lines, "MAX_LINE_BYTES", 10)
    folder = tmp_path / "logs [1]"
    folder.mkdir()
    touch(folder / "plain.log", b"one\n\n\xff\nlast")
    touch(folder / "windows.log", b"one\r\ntwo\r\r\n")
    touch(folder / "zipped.log.gz", gzip.compress(b"one\r\ntwo\n" + b"z" * 30 + b"\nlast"))
    touch(folder / "long.log", b"a" * 10 + b"\r\n" + b"b" * 11 + b"\n" + b"c" * 50 + b"\r\nafter\n" + b"d" * 20)
    touch(folder / os.fsdecode(b"caf\xe9 %{x}.log"), b"one\n")
    touch(folder / r"caf\xe9.log", b"two\n")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (folder / "link.log").symlink_to(touch(elsewhere / "linked.gz", gzip.compress(b"three\n")))
    (folder / "same.log").symlink_to(folder / "plain.log")
    (folder / "dangling.log").symlink_to("nowhere")
    (folder / "folder.log").mkdir()
    for name in (".hidden", "_SUCCESS", "empty.log"):
        touch(folder / name, b"" if name == "empty.log" else b"hidden\n")
    monkeypatch.chdir(tmp_path)
    reader = FilesReader("logs [1]", 5)
    read = [
        (row["topic"], row["partition"], row["offset"], row["value"], row["timestamp_ms"])
        for piece in reader.partitions({}, reader.latestOffset({}, ALL))
        for batch in reader.read(piece)
        for row in batch.to_pylist()
    ]
    assert len(read) == 4 + 2 + 4 + 5 + 3
    assert dry(first_records("logs [1]", 100, Decoding(max_event_bytes=5))) == read
    one_by_one = [
        record
        for path in folder.glob("[!._]*.*")
        if path.is_file()
        for record in dry(records_of_file(path, Decoding(max_event_bytes=5)))
    ]
    assert set(one_by_one) == set(read)


def dry(given) -> list[tuple[str, int, int, bytes | None, int]]:
    records = [record_of(number, each.record) for number, each in enumerate(given)]
    return [(each.topic, each.partition, each.offset, each.value, each.timestamp_ms) for each in records]
