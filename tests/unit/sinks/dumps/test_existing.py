"""The oldest dump that may have pointers of a table."""

import contextlib
import itertools

import pytest

from ingest.api import StoreUnavailableError
from sinks.dumps.existing import ExistingDump, oldest_with_pointers
from sinks.dumps.expiry import Retention, expire, plan_expiry
from sinks.dumps.layout import MANIFEST
from sinks.dumps.manifest import DumpedTable
from sinks.dumps.run import DumpRun
from sinks.dumps.table_files import write_table_file
from sinks.files.local_root import LocalRoot
from tests.support.crashing_root import CrashError, CrashingRoot
from tests.support.dumps import DUMP, START_MS, make_dump, rows_of
from tests.support.memory_root import MemoryRoot

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
ROWS = {"t": [rows_of(b"a")]}


@pytest.fixture(params=[True, False], ids=["renames_folders", "object_store"])
def root(request):
    root = MemoryRoot()
    root.renames_folders = request.param
    return root


def start_ms(root, table: str = "t") -> int | None:
    found = oldest_with_pointers(root, table)
    return None if found is None else found.start_ms


def test_root_that_does_not_exist_has_none(tmp_path):
    assert oldest_with_pointers(LocalRoot(tmp_path / "absent"), "t") is None


def test_root_that_cannot_be_read_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailableError):
        oldest_with_pointers(LocalRoot(tmp_path / "file"), "t")


def test_oldest_complete_dump_of_the_table(root):
    make_dump(root, {"other": [rows_of(b"a")], "t": []}, at_ms=START_MS, run_id="1")
    make_dump(root, ROWS, at_ms=START_MS + HOUR_MS + 7, run_id="2")
    make_dump(root, ROWS, at_ms=START_MS + 2 * HOUR_MS, run_id="3")
    assert oldest_with_pointers(root, "t") == ExistingDump(f"{root}/2015-02-24-01-00-00", START_MS + HOUR_MS + 7)
    assert start_ms(root, "other") == START_MS
    assert start_ms(root, "absent") is None


def test_dump_with_values_has_no_pointers(root):
    with DumpRun(root, "run", clock_ms=lambda: START_MS) as run:
        run.start(["t"])
        run.add("t", 0, write_table_file(root, run.folder, "t", 0, rows_of(b"a")))
        assert start_ms(root) == START_MS
        run.finish({"t": DumpedTable((), has_values=True)})
    assert start_ms(root) is None


def test_dump_counts_until_its_manifest_is_removed(root):
    make_dump(root, ROWS, run_id="old")
    make_dump(root, ROWS, at_ms=START_MS + HOUR_MS, run_id="new")
    now = START_MS + 8 * DAY_MS
    for most in itertools.count():
        before = start_ms(root)
        with contextlib.suppress(CrashError):
            expire(CrashingRoot(root, 1), plan_expiry(root, Retention(), now), now)
            break
        assert before == START_MS or not any(root.files_below(DUMP)), most
    assert start_ms(root) == START_MS + HOUR_MS


def test_run_counts_from_before_its_plan_is_made_until_it_is_removed(root):
    """Killed at each of its changes of the file system, from the first one after its start."""
    for most in itertools.count():
        crashing = CrashingRoot(root, most)
        crashing.renames_folders = root.renames_folders
        was_planned = []

        def plan(was_planned=was_planned):
            was_planned.append(start_ms(root))
            return {}

        run = DumpRun(crashing, f"run{most}", clock_ms=lambda: START_MS)
        with contextlib.suppress(CrashError):
            with run:
                run.start(["t"], plan=plan)
                run.add("t", 0, write_table_file(crashing, run.folder, "t", 0, rows_of(b"a")))
                run.finish({"t": DumpedTable(())})
            break
        assert was_planned in ([], [START_MS])
        if was_planned:
            assert start_ms(root) == START_MS
        for entry in root.entries(""):
            root.remove_tree(entry.name) if entry.is_folder else root.remove_file(entry.name)
        assert start_ms(root) is None
    assert most > 8
    assert start_ms(root) == START_MS


def test_run_whose_plan_fails_leaves_nothing(root):
    def plan():
        raise ValueError("no space")

    with DumpRun(root, "run", clock_ms=lambda: START_MS) as run, pytest.raises(ValueError, match="no space"):
        run.start(["t"], plan=plan)
    assert start_ms(root) is None
    assert [entry.name for entry in root.entries("") if entry.is_folder] == ["_LOCK"]


def test_unreadable_manifest_or_plan_counts_for_every_table(root):
    make_dump(root, ROWS)
    root.write(f"{DUMP}/{MANIFEST}", b"{}")
    assert start_ms(root, "other") == START_MS
    root.make_folder("_run-x")
    root.write("_run-x/_PLAN.json", b"")
    assert start_ms(root, "other") == 0


def test_dump_of_another_product_does_not_count(root):
    root.make_folder(f"{DUMP}/t")
    root.write(f"{DUMP}/t/t-00-0000000000000000-0.json.gz", b"")
    root.write(f"{DUMP}/_SUCCESS", b"2015-02-24T00:00:00Z\n2015-02-24T00:00:00Z\nx\n")
    assert start_ms(root) is None


def test_run_that_ends_while_the_folders_are_read():
    """It is renamed after its old name was listed."""
    root = MemoryRoot()
    run = DumpRun(root, "run", clock_ms=lambda: START_MS)
    with run:
        run.start(["t"])
        run.add("t", 0, write_table_file(root, run.folder, "t", 0, rows_of(b"a")))
        read, done = root.read, []

        def finish_then_read(path, most=-1):
            if not done:
                done.append(path)
                run.finish({"t": DumpedTable(())})
            return read(path, most)

        root.read = finish_then_read
        assert start_ms(root) == START_MS
    assert done == ["_run-run/_PLAN.json"]
