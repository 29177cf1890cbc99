"""Reading dumps: which one, locks, tokens, damaged files."""

import errno
import gzip
import logging

import orjson
import pytest

from ingest.api import ConfigError, StoreUnavailableError
from sinks.dumps.errors import (
    DumpCorruptError,
    DumpNotAvailableError,
    TableNotDumpedError,
    TableNotInDumpError,
)
from sinks.dumps.file_ref import FileRef
from sinks.dumps.layout import FileFormat
from sinks.dumps.pins import pins
from sinks.dumps.reader import LATEST_CACHED_MS, DumpReader
from sinks.dumps.table_files import write_table_file
from sinks.files.local_root import LocalRoot
from tests.support.dumps import DUMP, START_MS, FullRoot, ReadOnlyRoot, make_dump, rows_of

HOUR_MS = 3_600_000
A, B = DUMP, "2015-02-24-01-00-00"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "dumps"


@pytest.fixture
def root(folder):
    root = LocalRoot(folder)
    make_dump(root, {"t": [rows_of(b"a1"), rows_of(b"a2")], "u": [rows_of(b"u")], "empty": [[]]})
    return root


def add_b(root):
    make_dump(root, {"t": [rows_of(b"b1"), rows_of(b"b2")], "u": [rows_of(b"b")]}, at_ms=START_MS + HOUR_MS, run_id="b")


def keys(rows):
    with rows:
        return [row.key for row in rows]


def test_1c_3_empty_and_unknown_tables(root, folder):
    reader = DumpReader(root)
    assert reader.tables() == ["t", "u"]
    assert not (folder / A / "empty").exists()
    assert reader.latest().manifest.empty_tables == ["empty"]
    for table, kind in (("empty", TableNotDumpedError), ("other", TableNotInDumpError)):
        with pytest.raises(kind) as refused:
            reader.scan(table)
        assert refused.value.exit_code == 3


@pytest.mark.parametrize(
    "latest",
    [
        None,
        b"",
        b"\xff" * (1 << 20),
        b"2099-01-01-00-00-00\n",
        b"1999-01-01-00-00-00",
        b"../../etc\n",
        b"2015-02-24-00-00-99",
    ],
)
def test_1c_8_latest_is_only_a_hint(root, folder, caplog, latest):
    add_b(root)
    (folder / "_LATEST").unlink()
    if latest is not None:
        (folder / "_LATEST").write_bytes(latest)
    now = [0]
    reader = DumpReader(root, clock_ms=lambda: now[0])
    with caplog.at_level(logging.WARNING):
        assert reader.latest().name == B
        now[0] += LATEST_CACHED_MS
        assert reader.latest().name == B
    assert len(caplog.records) == 1


def test_1c_8_no_complete_dump(tmp_path, root, folder):
    with pytest.raises(DumpNotAvailableError) as refused:
        DumpReader(str(tmp_path / "nothing")).tables()
    assert refused.value.exit_code == 3
    (folder / A / "_SUCCESS").unlink()
    with pytest.raises(DumpNotAvailableError, match="no complete dump"):
        DumpReader(root).latest()


def test_a_latest_that_lags_behind_is_not_followed(root, folder, caplog):
    add_b(root)
    (folder / "_LATEST").write_text(f"{A}\n")
    assert DumpReader(root).latest().name == B
    assert caplog.records == []


def test_dump_that_lacks_a_file_is_not_complete(root, folder, caplog):
    add_b(root)
    next((folder / B / "t").iterdir()).unlink()
    assert DumpReader(root).latest().name == A


def test_1c_9_locked_reader_stays_with_its_dump(root):
    now = [START_MS]
    reader = DumpReader(root, clock_ms=lambda: now[0])
    assert reader.lock() == A
    with reader.scan("t") as rows:
        assert next(rows).key == b"a1"
        add_b(root)
        now[0] += 10 * LATEST_CACHED_MS
        assert next(rows).key == b"a2"
    assert keys(reader.scan("u")) == [b"u"]
    reader.unlock()
    assert keys(reader.scan("t")) == [b"b1", b"b2"]
    assert pins(root) == []


def test_1c_9_unlocked_reader_finds_a_newer_dump_within_two_minutes(root):
    now = [START_MS]
    reader = DumpReader(root, clock_ms=lambda: now[0])
    assert reader.latest().name == A
    add_b(root)
    now[0] += LATEST_CACHED_MS - 1
    assert reader.latest().name == A
    now[0] += 1
    assert reader.latest().name == B


def test_1c_9_token_names_its_dump(root):
    reader = DumpReader(root)
    tokens = [ref.token for ref in reader.files("t")]
    add_b(root)
    assert [key for token in tokens for key in keys(DumpReader(root).read(token))] == [b"a1", b"a2"]


def test_locked_view_is_a_reader_of_its_own(root):
    with DumpReader(root) as reader, reader.locked_view() as view:
        add_b(root)
        assert reader.latest().name == B
        assert (view.latest().name, view.locked_dump, reader.locked_dump) == (A, A, None)
        assert [pin.dump for pin in pins(root)] == [A]
    assert pins(root) == []


def test_1c_10_failed_lock_changes_nothing(root):
    add_b(root)
    reader = DumpReader(root)
    reader.lock("2015-02-24T00:00:00Z")
    for at in ("2015-02-24T00:30:00Z", "2014-01-01-00-00-00"):
        with pytest.raises(DumpNotAvailableError):
            reader.lock(at)
    assert reader.locked_dump == A
    assert keys(reader.scan("t")) == [b"a1", b"a2"]
    assert [pin.dump for pin in pins(root)] == [A]
    with pytest.raises(ConfigError):
        reader.lock("yesterday")


def test_pin_is_renewed_while_rows_are_read(root):
    now = [START_MS]
    make_dump(root, {"t": [rows_of(*(b"%05d" % n for n in range(3_000)))]}, at_ms=START_MS + 1_000, run_id="c")
    reader = DumpReader(root, clock_ms=lambda: now[0])
    reader.lock(ttl_ms=HOUR_MS)
    with reader.scan("t") as rows:
        for _ in rows:
            now[0] += HOUR_MS // 1_500
            assert pins(root)[0].expires_ms > now[0]


def test_pin_that_cannot_be_renewed_is_used_until_it_ends(root, monkeypatch):
    now = [START_MS]
    reader = DumpReader(root, clock_ms=lambda: now[0])
    reader.lock(ttl_ms=HOUR_MS)

    def refuse(_path, _content):
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(root, "write", refuse)
    now[0] += HOUR_MS - 1
    assert reader.latest().name == A
    now[0] += 1
    with pytest.raises(StoreUnavailableError):
        reader.latest()


def test_second_lock_removes_the_pin_of_the_first(root):
    add_b(root)
    reader = DumpReader(root)
    reader.lock(A)
    reader.lock(B)
    assert [pin.dump for pin in pins(root)] == [B]


@pytest.mark.parametrize("token", ["", "x", "!!!", FileRef("2015", "t", "t/x.json.gz", 1).token])
def test_damaged_token_is_refused(root, token):
    with pytest.raises(ConfigError, match="no token of a file"):
        DumpReader(root).read(token)


def test_token_cannot_name_a_file_outside_of_its_dump():
    for path in ("../../etc/passwd", "t/../../x.json.gz", "u/x.json.gz", "t/x.txt"):
        with pytest.raises(ConfigError):
            FileRef.of_token(FileRef(DUMP, "t", path, 1).token)


def emodb_dump(folder, table, *files):
    """A dump with the files of a table as EmoDB writes them: no manifest."""
    path = folder / "2015-02-25-00-00-00" / table
    path.mkdir(parents=True)
    for number, content in enumerate(files):
        (path / f"{table}-{number:02x}-0123456789abcdef-{number}.json.gz").write_bytes(content)
    (path.parent / "_SUCCESS").write_text("2015-02-25T00:00:00.000Z\n2015-02-25T01:00:00.000Z\njob-1")
    return DumpReader(str(folder))


def line(number):
    return orjson.dumps({"~id": f"k{number}", "~table": "ns:t", "~version": 1, "f:q": "v"}) + b"\n"


def test_1c_11_several_gzip_members_of_a_dump_of_emodb(folder):
    members = [gzip.compress(b"".join(map(line, numbers))) for numbers in ((1, 2), (3,), (4, 5))]
    reader = emodb_dump(folder, "ns~t", b"".join(members), b"\0\0".join(members))
    assert reader.tables() == ["ns:t"]
    first, second = reader.files("ns:t")
    assert keys(reader.read(first)) == keys(reader.read(second)) == [b"k1", b"k2", b"k3", b"k4", b"k5"]
    with pytest.raises(TableNotInDumpError):
        reader.files("other")


def test_documents_of_emodb_are_read_as_they_are(folder):
    document = {"~id": "k", "~table": "t", "~signature": "5", "author": {"tags": [1, None]}}
    reader = emodb_dump(folder, "t", gzip.compress(orjson.dumps(document)))
    with reader.documents(*reader.files("t")) as documents:
        assert list(documents) == [document]
    with pytest.raises(DumpCorruptError, match="it lacks '~version'"):
        keys(reader.scan("t"))


def test_1c_11_truncated_last_member(folder):
    first = gzip.compress(line(1))
    whole = first + gzip.compress(line(2))
    for cut in range(len(first) + 1, len(whole)):
        rows = emodb_dump(folder / str(cut), "t", whole[:cut]).scan("t")
        assert next(rows).key == b"k1"
        with pytest.raises(DumpCorruptError) as damaged:
            list(rows)
        assert damaged.value.exit_code == 5
        assert damaged.value.file == "2015-02-25-00-00-00/t/t-00-0123456789abcdef-0.json.gz"
        assert damaged.value.offset == cut


def test_1c_11_line_that_is_not_json(folder):
    reader = emodb_dump(folder, "t", gzip.compress(line(1) + b"{broken\n" + line(3) + b"[]\n" + line(5)))
    rows = reader.scan("t")
    assert next(rows).key == b"k1"
    with pytest.raises(DumpCorruptError, match=r't-00-0123456789abcdef-0.json.gz", line 2: the line is not JSON'):
        next(rows)
    with reader.scan("t", skip_bad=True) as rows:
        assert [row.key for row in rows] == [b"k1", b"k3", b"k5"]
        assert rows.skipped == 2


@pytest.mark.parametrize("file_format", FileFormat)
def test_all_formats_have_the_same_rows(tmp_path, file_format):
    root = LocalRoot(tmp_path / file_format)
    rows = rows_of(*(b"%05d\xff" % n for n in range(10_000)), value=b"\xff\xfe")
    make_dump(root, {"t": [rows]}, file_format=file_format)
    reader = DumpReader(root)
    with reader.scan("t") as found:
        assert [row.to_row() for row in found] == rows
    with reader.documents(*reader.files("t")) as documents:
        assert next(documents)["f:q"] == {"b64": "//4="}


def test_lock_without_a_pin_only_if_nothing_may_be_written(root, folder):
    reasons = []
    with pytest.raises(StoreUnavailableError, match="Permission denied"):
        DumpReader(ReadOnlyRoot(folder)).lock()
    with DumpReader(ReadOnlyRoot(folder)).locked_view(on_unpinned=reasons.append) as reader:
        assert reader.locked_dump == A
        assert keys(reader.scan("t")) == [b"a1", b"a2"]
    assert ["Permission denied" in reason for reason in reasons] == [True]
    with pytest.raises(StoreUnavailableError, match="No space left"):
        DumpReader(FullRoot(folder)).lock(on_unpinned=reasons.append)
    assert len(reasons) == 1
    assert pins(root) == []


@pytest.mark.parametrize("file_format", FileFormat)
def test_file_that_a_late_task_replaced_is_damaged(folder, file_format):
    root = LocalRoot(folder)
    make_dump(root, {"t": [rows_of(b"old", b"new")]}, file_format=file_format)
    reader = DumpReader(root)
    (ref,) = reader.files("t")
    write_table_file(root, ref.dump, "t", 0, rows_of(b"old"), file_format)
    for rows in (reader.scan("t"), reader.read(ref.token), reader.documents(ref)):
        next(rows)
        with pytest.raises(DumpCorruptError, match=r"bytes, but \d+ were written"):
            next(rows)
