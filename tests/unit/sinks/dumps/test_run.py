"""Making a dump."""

import gzip
import json
import re

import pytest

from ingest.api import ConfigError, ConflictError, IntegrityError, NotFoundError
from ingest.durable.lease import Lease
from sinks.dumps.layout import FileFormat
from sinks.dumps.listing import RunPlan, complete_dumps, unfinished_dumps
from sinks.dumps.manifest import DumpedTable
from sinks.dumps.reader import DumpReader
from sinks.dumps.run import DumpRun
from sinks.dumps.table_files import write_table_file
from sinks.files.local_root import LocalRoot
from tests.support.dumps import DUMP, START_MS, make_dump, rows_of
from tests.support.memory_root import MemoryRoot

TABLE = "answer:testclient1"


@pytest.fixture
def root(tmp_path):
    return LocalRoot(tmp_path / "dumps")


def test_1c_1_layout(root, tmp_path):
    make_dump(root, {TABLE: [rows_of(b"a", b"b"), rows_of(b"c")]})
    files = sorted((tmp_path / "dumps" / DUMP / "answer~testclient1").iterdir())
    lines = [line for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]
    pattern = r"answer~testclient1-[0-9a-f]{2}-[0-9a-f]{16}-\d+\.json\.gz"
    assert all(re.fullmatch(pattern, file.name) for file in files)
    assert [(row["~id"], row["~table"]) for row in map(json.loads, lines)] == [("a", TABLE), ("b", TABLE), ("c", TABLE)]


def test_1c_2_success_and_latest(root, tmp_path):
    now = [START_MS + 999]
    with DumpRun(root, "r-1", clock_ms=lambda: now[0]) as run:
        run.start([TABLE])
        run.add(TABLE, 0, write_table_file(root, run.folder, TABLE, 0, rows_of(b"a")))
        now[0] = START_MS + 61_000
        run.finish({TABLE: DumpedTable(())})
    folder = tmp_path / "dumps"
    assert (folder / DUMP / "_SUCCESS").read_text() == "2015-02-24T00:00:00Z\n2015-02-24T00:01:01Z\nr-1\n"
    assert (folder / "_LATEST").read_text().strip() == DUMP
    assert {path.name for path in (folder / DUMP).iterdir()} == {"_SUCCESS", "_MANIFEST.json", "answer~testclient1"}
    assert {path.name for path in folder.iterdir()} == {DUMP, "_LATEST", "_LOCK"}


def test_1c_6_second_run_is_refused_and_names_the_owner(root):
    second = DumpRun(root, "second", clock_ms=lambda: START_MS + 60_000)
    with (
        DumpRun(root, "first", clock_ms=lambda: START_MS),
        pytest.raises(ConflictError, match=r'in use by the dump "first" of pid \d+ on ') as refused,
    ):
        second.__enter__()
    assert refused.value.exit_code == 4
    make_dump(root, {TABLE: [rows_of(b"a")]}, run_id="x")
    with pytest.raises(ConflictError, match='has the id "x" already'):
        make_dump(root, {TABLE: [rows_of(b"a")]}, run_id="x", at_ms=START_MS + 5_000)
    make_dump(root, {TABLE: [rows_of(b"a")]}, run_id="y", at_ms=START_MS + 5_000)


def test_1c_7_an_older_dump_that_ends_later_does_not_move_latest_back(monkeypatch):
    monkeypatch.setattr(MemoryRoot, "renames_folders", False)  # there the next run removes no killed one
    root = MemoryRoot()
    with DumpRun(root, "a", clock_ms=lambda: START_MS) as killed:
        killed.start([TABLE])
    make_dump(root, {TABLE: [rows_of(b"b")]}, at_ms=START_MS + 3_600_000, run_id="b")
    with DumpRun(root, "a", clock_ms=lambda: START_MS + 7_200_000) as resumed:
        resumed.resume()
        assert resumed.finish({TABLE: DumpedTable(())}).dump == DUMP
    assert root.read("_LATEST") == b"2015-02-24-01-00-00\n"


def test_1c_15_equal_rows_give_equal_files(root, tmp_path):
    other = LocalRoot(tmp_path / "other")
    first, second = (make_dump(each, {TABLE: [rows_of(b"a", b"b")]}) for each in (root, other))
    assert first == second
    (file,) = first.tables[TABLE].files
    assert root.read(f"{DUMP}/{file.path}") == other.read(f"{DUMP}/{file.path}")


def test_interrupted_run_resumes_with_the_ranges_that_are_done(root):
    with DumpRun(root, "r", clock_ms=lambda: START_MS) as run:
        run.start([TABLE], plan=lambda: {"ranges": 3})
        run.add(TABLE, 0, write_table_file(root, run.folder, TABLE, 0, rows_of(b"a")))
        run.add(TABLE, 1, None)
        write_table_file(root, run.folder, TABLE, 9, rows_of(b"z"))  # of an attempt that was not recorded
    with DumpRun(root, "r", clock_ms=lambda: START_MS + 90_000) as run:
        run.resume()
        assert ({0, 1}, {"ranges": 3}) == (run.done(TABLE).keys(), run.plan)
        run.add(TABLE, 2, write_table_file(root, run.folder, TABLE, 2, rows_of(b"c")))
        manifest = run.finish({TABLE: DumpedTable(())})
    assert (manifest.dump, manifest.start_ms) == (DUMP, START_MS)
    with DumpReader(root).scan(TABLE) as rows:
        assert [row.key for row in rows] == [b"a", b"c"]
    with DumpRun(root, "r2", clock_ms=lambda: START_MS) as run, pytest.raises(NotFoundError, match="no interrupted"):
        run.resume()


def test_two_dumps_of_one_second_are_refused(root):
    make_dump(root, {TABLE: [rows_of(b"a")]})
    with pytest.raises(ConflictError, match="of this second"):
        make_dump(root, {TABLE: [rows_of(b"a")]}, run_id="other")


def test_start_before_a_complete_dump_is_refused(root):
    """The clock was ahead, and readers find the newest dump by its name."""
    later = make_dump(root, {TABLE: [rows_of(b"a")]}, run_id="ahead", at_ms=START_MS + 86_400_000).dump
    with pytest.raises(ConflictError, match=f'the dump "{later}" in ".*" is later than now'):
        make_dump(root, {TABLE: [rows_of(b"b")]})
    root.remove_file(f"{later}/_SUCCESS")
    assert make_dump(root, {TABLE: [rows_of(b"b")]}).dump == DUMP


def written(root, run: DumpRun, *parts: int) -> None:
    for part in parts:
        run.add(TABLE, part, write_table_file(root, run.folder, TABLE, part, rows_of(b"%d" % part)))


def test_file_that_was_changed_after_it_was_written_is_not_published(root, tmp_path):
    with DumpRun(root, "r", clock_ms=lambda: START_MS) as run:
        run.start([TABLE])
        written(root, run, 0, 1)
        first, second = sorted((tmp_path / "dumps" / run.folder / "answer~testclient1").iterdir())
        content = first.read_bytes()
        first.write_bytes(content[:-1])
        with pytest.raises(IntegrityError, match="bytes, but"):
            run.finish({TABLE: DumpedTable(())})
        first.write_bytes(content)
        kept = second.read_bytes()
        second.unlink()
        with pytest.raises(IntegrityError, match="is missing"):
            run.finish({TABLE: DumpedTable(())})
        assert list(root.entries("")) == [each for each in root.entries("") if each.name.startswith("_")]
        second.write_bytes(kept)
        run.finish({TABLE: DumpedTable(())})
    assert [row.key for row in DumpReader(root).scan(TABLE)] == [b"0", b"1"]


def test_files_of_repeated_attempts_are_removed_and_the_others_are_in_order(root, tmp_path):
    with DumpRun(root, "r", clock_ms=lambda: START_MS) as run:
        run.start([TABLE])
        written(root, run, 2, 0)
        write_table_file(root, run.folder, TABLE, 7, rows_of(b"twice"))  # its task was repeated with other numbers
        written(root, run, 1)
        manifest = run.finish({TABLE: DumpedTable(())})
    assert [file.first_row for file in manifest.tables[TABLE].files] == [b"0", b"1", b"2"]
    assert len(list((tmp_path / "dumps" / DUMP / "answer~testclient1").iterdir())) == 3


@pytest.mark.parametrize("checks", [0, 1, 2])
def test_run_that_has_lost_its_lock_publishes_nothing(root, monkeypatch, checks: int):
    lost: list[int] = []

    def check(_lock: Lease) -> None:
        lost.append(checks)
        if len(lost) > checks:
            raise ConflictError("another process has taken the lock")

    with DumpRun(root, "r", clock_ms=lambda: START_MS) as run:
        run.start([TABLE])
        written(root, run, 0)
        monkeypatch.setattr(Lease, "check", check)
        with pytest.raises(ConflictError, match="taken the lock"):
            run.finish({TABLE: DumpedTable(())})
        monkeypatch.undo()
        assert complete_dumps(root) == []
        has_manifest = any(root.exists(f"{folder}/_MANIFEST.json") for folder in (run.folder, DUMP))
        assert (root.exists(DUMP), has_manifest) == (checks == 2, checks == 2)


def test_refused_start_keeps_the_dump_that_can_be_resumed(root):
    with DumpRun(root, "killed", clock_ms=lambda: START_MS) as run:
        run.start([TABLE])
        written(root, run, 0)

    def refused() -> dict[str, object]:
        assert other.leftover_bytes() > 0
        raise ConfigError("no such table")

    with DumpRun(root, "other", clock_ms=lambda: START_MS + 1_000) as other, pytest.raises(ConfigError):
        other.start([TABLE], plan=refused)
    with DumpRun(root, "killed", clock_ms=lambda: START_MS + 2_000) as resumed:
        resumed.resume()
        assert resumed.done(TABLE).keys() == {0}
    make_dump(root, {TABLE: [rows_of(b"a")]}, at_ms=START_MS + 3_000)
    assert unfinished_dumps(root) == {}


def test_run_whose_plan_was_not_made_or_is_damaged_cannot_be_resumed(root):
    planning = RunPlan("planning", START_MS, (TABLE,), FileFormat.GZIP).to_bytes()
    for run_id, content in (("planning", planning), ("damaged", b"{")):
        root.make_folder(f"_run-{run_id}")
        root.write(f"_run-{run_id}/_PLAN.json", content)
    assert {run_id: each.can_be_resumed for run_id, each in unfinished_dumps(root).items()} == {
        "damaged": False,
        "planning": False,
    }
    for run_id, error in (("planning", NotFoundError), ("damaged", IntegrityError), ("other", NotFoundError)):
        with DumpRun(root, run_id) as run, pytest.raises(error) as refused:
            run.resume()
        assert "--resume" in (refused.value.hint or "")
        assert ("there is none; " in (refused.value.hint or "")) == (error is NotFoundError)


def test_interrupted_dump_is_not_started_again_under_its_id(root: LocalRoot) -> None:
    with DumpRun(root, "x", clock_ms=lambda: START_MS) as run:
        run.start(["t"])
        run.add("t", 0, write_table_file(root, run.folder, "t", 0, rows_of(b"old")))
    with (
        DumpRun(root, "x", clock_ms=lambda: START_MS + 1000) as again,
        pytest.raises(ConflictError, match="resume it with --resume x, or choose another id"),
    ):
        again.start(["t"])
    assert "x" in unfinished_dumps(root)


def test_dump_without_a_plan_is_started_anew(root: LocalRoot) -> None:
    with DumpRun(root, "x", clock_ms=lambda: START_MS) as run:
        run.start(["t"])
        run.add("t", 0, write_table_file(root, run.folder, "t", 0, rows_of(b"old")))
    root.write("_run-x/_PLAN.json", b"{")
    with DumpRun(root, "x", clock_ms=lambda: START_MS + 1000) as again:
        again.start(["t"])
        assert not root.exists("_run-x/t")
        assert root.entries("_run-x/_parts") == []


def test_killed_dump_is_removed_after_the_plan_of_the_next_one_is_recorded(
    root: LocalRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DumpRun(root, "x", clock_ms=lambda: START_MS) as run:
        run.start(["t"])

    def killed(_folder: str) -> None:
        raise KeyboardInterrupt

    with DumpRun(root, "y", clock_ms=lambda: START_MS + 1000) as run:
        remove_tree = root.remove_tree
        monkeypatch.setattr(root, "remove_tree", lambda folder: (killed if folder == "_run-x" else remove_tree)(folder))
        with pytest.raises(KeyboardInterrupt):
            run.start(["t"])
    assert unfinished_dumps(root)["y"].can_be_resumed


def test_success_that_the_client_creates_twice_is_that_of_this_run(
    root: LocalRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object store may execute a request whose answer is lost; its client repeats it."""
    create = root.create

    def repeated(path: str, content: bytes) -> None:
        create(path, content)
        if path.endswith("_SUCCESS"):
            create(path, content)

    with DumpRun(root, "x", clock_ms=lambda: START_MS) as run:
        run.start(["t"])
        monkeypatch.setattr(root, "create", repeated)
        run.finish({"t": DumpedTable(())})
    assert [dump.name for dump in complete_dumps(root)] == [DUMP]
    assert root.read("_LATEST") == f"{DUMP}\n".encode()
