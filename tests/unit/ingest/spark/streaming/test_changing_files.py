"""Files that go on while they are read: last lines without a line end, and files that are replaced by longer ones."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

from ingest.api import Encoding
from ingest.sources import lines as source_lines
from ingest.sources.lines import QUIET_MS, end_of_last_line
from ingest.sources.unread import unread_error
from ingest.spark.streaming.files_reader import FilesReader
from ingest.spark.streaming.rows import records_of
from ingest.spark.streaming.unfinished_lines import UnfinishedLines

ALL = ReadAllAvailable()
NOW_MS = 1_000_000_000
OLD_MS = NOW_MS - QUIET_MS


def written(path: Path, content: bytes, time_ms: int = NOW_MS) -> Path:
    path.write_bytes(content)
    os.utime(path, (time_ms / 1000, time_ms / 1000))
    return path


class Time:
    """The wall clock; a sleep passes at once, after `meanwhile`."""

    def __init__(self) -> None:
        self.now_ms = NOW_MS
        self.meanwhile: Callable[[], object] = lambda: None
        self.slept_s = 0.0

    def sleep(self, seconds: float) -> None:
        self.meanwhile()
        self.slept_s += seconds
        self.now_ms += int(seconds * 1000)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def reader(tmp_path: Path, time: Time) -> FilesReader:
    return reader_of(tmp_path, time)


def reader_of(folder: Path, time: Time, encoding: Encoding = Encoding.UTF8, max_records: int | None = None):
    unfinished = UnfinishedLines(encoding, lambda: time.now_ms, time.sleep)
    return FilesReader(str(folder), 1_000, max_records, encoding=encoding, unfinished=unfinished)


def read(reader: FilesReader, start, end) -> list[tuple[int, bytes | None, int | None]]:
    """(offset, line, None), or (first byte, None, end) of lines that were not read."""
    found = []
    for piece in reader.partitions(start, end):
        for record in records_of(reader.read(piece)):
            missing = unread_error(record).end if record.value is None else None
            found.append((record.offset, record.value, missing))
    return found


def messages(reader: FilesReader, start, end) -> list[str]:
    pieces = reader.partitions(start, end)
    records = [record for piece in pieces for record in records_of(reader.read(piece))]
    return [unread_error(record).message for record in records if record.value is None]


@pytest.mark.parametrize(
    ("added", "expected"),
    [(b"1\n50\n", (6, None, 12)), (b"1", (6, None, 8)), (b"\n", (6, None, 8)), (None, (6, b"4", None))],
    ids=["completed", "longer", "ended", "quiet"],
)
@pytest.mark.parametrize("once", [True, False])
def test_last_line_without_a_line_end_is_read_once_its_file_is_quiet(tmp_path, reader, time, added, expected, once):
    path = written(tmp_path / "a", b"1\n2\n3\n4")
    if once:
        reader.prepareForTriggerAvailableNow()
    start = reader.latestOffset({}, ALL)
    assert [line for _, line, _ in read(reader, {}, start)] == [b"1", b"2", b"3"]

    def goes_on() -> None:
        if added is not None:
            written(path, path.read_bytes() + added, time.now_ms + 1)

    time.meanwhile = goes_on
    if not once:
        assert reader.latestOffset(start, ALL) == start
        time.sleep(QUIET_MS / 1000)
    end = reader.latestOffset(start, ALL)
    assert read(reader, start, end) == [expected]
    assert (time.slept_s, reader.latestOffset(end, ALL)) == (QUIET_MS / 1000, end)


def test_once_waits_for_no_file_but_such_ones(tmp_path: Path, reader: FilesReader, time: Time):
    written(tmp_path / "a", b"1\n")
    written(tmp_path / "b", b"2", OLD_MS)
    reader.prepareForTriggerAvailableNow()
    end = reader.latestOffset({}, ALL)
    assert [line for _, line, _ in read(reader, {}, end)] == [b"1", b"2"]
    assert (reader.latestOffset(end, ALL), time.slept_s) == (end, 0)


@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_once_leaves_a_new_file_that_goes_on_to_the_next_run(tmp_path: Path, reader: FilesReader, time: Time, name):
    def content(text: bytes) -> bytes:
        return gzip.compress(text, mtime=0) if name == "a.gz" else text

    path = written(tmp_path / name, content(b"1"))
    reader.prepareForTriggerAvailableNow()
    time.meanwhile = lambda: written(path, content(b"12"), time.now_ms + 9_000)
    assert reader.latestOffset({}, ALL) == {}
    time.now_ms += QUIET_MS
    reader.prepareForTriggerAvailableNow()
    assert read(reader, {}, reader.latestOffset({}, ALL)) == [(0, b"12", None)]


@pytest.mark.parametrize("time_ms", [NOW_MS + 3_600_000, OLD_MS], ids=["clock-ahead", "old"])
def test_other_files_are_read_at_once(tmp_path: Path, reader: FilesReader, time_ms: int):
    written(tmp_path / "a", b"1\n2", time_ms)
    written(tmp_path / "b.gz", gzip.compress(b"3\n4"), time_ms)
    assert [line for _, line, _ in read(reader, {}, reader.latestOffset({}, ALL))] == [b"1", b"2", b"3", b"4"]


@pytest.mark.parametrize("limits", [{"max_bytes": 3}, {"max_records": 1}])
def test_such_a_line_ends_the_batches_of_a_file(tmp_path: Path, time: Time, limits: dict[str, int]):
    written(tmp_path / "a", b"1\n2\n3\n4444444")
    reader = reader_of(tmp_path, time, max_records=limits.get("max_records"))
    limit = ReadMaxBytes(limits["max_bytes"]) if "max_bytes" in limits else ALL
    start, found = {}, []
    while (end := reader.latestOffset(start, limit)) != start:
        found += read(reader, start, end)
        start = end
    assert [line for _, line, _ in found] == [b"1", b"2", b"3"]


def test_file_with_such_a_line_that_is_removed_has_a_dead_letter(tmp_path: Path, reader: FilesReader):
    path = written(tmp_path / "a", b"1\n2")
    written(tmp_path / "b", b"")
    start = reader.latestOffset({}, ALL)
    path.unlink()
    assert read(reader, start, reader.latestOffset(start, ALL)) == [(2, None, 3)]


@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_dead_letter_has_the_last_line_that_was_read_without_its_end(tmp_path: Path, reader: FilesReader, name: str):
    """What was added may have completed it; the message says that it was read."""
    first, second = (gzip.compress(b"1\n4"), gzip.compress(b"1\n50\n")) if name == "a.gz" else (b"1\n4", b"1\n50\n")
    path = written(tmp_path / name, first, OLD_MS)
    start = reader.latestOffset({}, ALL)
    assert [line for _, line, _ in read(reader, {}, start)] == [b"1", b"4"]
    written(path, first + second)
    end = reader.latestOffset(start, ALL)
    assert read(reader, start, end) == [(2, None, None if name == "a.gz" else 8)]
    (message,) = messages(reader, start, end)
    assert message.endswith(
        "its lines from byte 2 on were not read; the first of them had no line end, and was read as it was then"
    )
    written(path, first + second + second, NOW_MS + 1)
    later = reader.latestOffset(end, ALL)
    assert read(reader, end, later) == [(2, None, None) if name == "a.gz" else (8, None, 13)]
    assert "had no line end" not in messages(reader, end, later)[0]


@pytest.mark.parametrize("name", ["a", "a.gz"])
@pytest.mark.parametrize("again", [True, False])
def test_file_that_is_replaced_by_a_longer_one_has_a_dead_letter_of_all_lines(tmp_path, reader, name, again):
    """As a log that was truncated and has grown since."""

    def content(text: bytes) -> bytes:
        return gzip.compress(text, compresslevel=0, mtime=0) if name == "a.gz" else text

    path = written(tmp_path / name, content(b"1\n2\n"), OLD_MS)
    start = reader.latestOffset({}, ALL)
    if again:
        written(path, content(b"1\n2\n") + content(b"3\n"), OLD_MS + 1)
        start = reader.latestOffset(start, ALL)
        assert reader.latestOffset(start, ALL) == start
    written(path, content(b"3\n4\n5\n6\n" * 10), OLD_MS + 2)
    assert read(reader, start, reader.latestOffset(start, ALL)) == [(0, None, None)]


def test_lines_of_a_file_that_grows_after_its_discovery_are_read(tmp_path: Path, reader: FilesReader):
    """So it does not stop a pipeline that counts."""
    path = written(tmp_path / "a", b"1\n2\n3")
    start = reader.latestOffset({}, ALL)
    written(path, b"1\n2\n34\n5", NOW_MS + 1)
    assert read(reader, {}, start) == [(0, b"1", None), (2, b"2", None)]
    assert read(reader, start, reader.latestOffset(start, ALL)) == [(4, None, 8)]


@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_last_line_that_goes_on_after_it_was_planned_is_not_read(tmp_path: Path, reader: FilesReader, name: str):
    """An earlier attempt may have read a part."""
    first, second = (gzip.compress(b"1\n2"), gzip.compress(b"3\n")) if name == "a.gz" else (b"1\n2", b"3\n")
    path = written(tmp_path / name, first, OLD_MS)
    start = reader.latestOffset({}, ALL)
    written(path, first + second)
    assert [found[:2] for found in read(reader, {}, start)] == [(0, None)]
    assert [found[:2] for found in read(reader, start, reader.latestOffset(start, ALL))] == [(2, None)]


DAMAGED = gzip.compress(b"1\n2\n", mtime=0)[:-9]


@pytest.mark.parametrize(
    ("name", "states", "expected"),
    [
        ("a", [b"1\n", b"1\n2\n"], [False]),
        ("a", [b"1\n2", b"1\n22\n", b"1\n22\n3\n"], [True, False]),
        ("a", [b"1\n", b"1\n"], [True]),
        ("a", [b"1\n", b"1\n2\n", b"3\n"], [False, True]),
        ("a", [b"1\n2\n", None, b"1\n"], [True]),
        ("a.gz", [DAMAGED, DAMAGED + b"?", gzip.compress(b"1\n2\n")], [False, False, False]),
        ("a.gz", [gzip.compress(b"1\n"), gzip.compress(b"1\n") + gzip.compress(b"2\n")], [False]),
        ("a.gz", [gzip.compress(b"1"), gzip.compress(b"1") + gzip.compress(b"2\n")], [True]),
        ("a.gz", [gzip.compress(b"1\n"), gzip.compress(b"2\n")], [True]),
    ],
    ids=[
        "grown",
        "completed",
        "touched",
        "replaced",
        "restored",
        "repaired",
        "gz-grown",
        "gz-completed",
        "gz-replaced",
    ],
)
def test_dead_letter_says_whether_lines_of_the_path_were_read_before(
    tmp_path: Path, time: Time, name: str, states: list[bytes | None], expected: list[bool]
):
    """These may have been counted."""
    written(tmp_path / "b", b"")
    start, found = {}, []
    for number, content in enumerate(states):
        if content is None:
            (tmp_path / name).unlink()
            written(tmp_path / "c", b"1\n", OLD_MS)
        else:
            written(tmp_path / name, content, OLD_MS - 1_000 + number)
        reader = reader_of(tmp_path, time)
        end = reader.latestOffset(start, ALL)
        records = [record for piece in reader.partitions(start, end) for record in records_of(reader.read(piece))]
        found += [unread_error(record).read_before for record in records if record.value is None]
        start = end
    assert found == expected


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        (encoding, text)
        for encoding in Encoding
        for text in ("", "a", "a\n", "a\nbc", "\u0a00\u000a\u0a0a\u0a00", "\n\n")
    ],
)
@pytest.mark.parametrize("buffer_bytes", [2, 1 << 20])
def test_end_of_the_last_line_that_has_one(tmp_path: Path, monkeypatch, encoding: Encoding, text: str, buffer_bytes):
    monkeypatch.setattr(source_lines, "_BUFFER_BYTES", buffer_bytes)
    names = {Encoding.UTF8: "utf-8", Encoding.UTF16LE: "utf-16-le", Encoding.UTF16BE: "utf-16-be"}
    content = text.encode(names[encoding])
    expected = len(text[: text.rfind("\n") + 1].encode(names[encoding]))
    path = written(tmp_path / "a", content)
    assert end_of_last_line(str(path), len(content), encoding) == expected
    written(path, content + b"x")
    assert end_of_last_line(str(path), len(content) + 1, encoding) == expected
    packed = written(tmp_path / "a.gz", gzip.compress(content))
    assert source_lines.lengths_of(str(packed), encoding) == (len(content), expected)
