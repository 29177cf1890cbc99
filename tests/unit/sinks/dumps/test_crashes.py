"""A run or an expiry is killed at each of its changes of the file system."""

import contextlib
import itertools

import pytest

from ingest.api import ConflictError
from sinks.dumps.expiry import Reason, Retention, expire, plan_expiry
from sinks.dumps.layout import LOCK
from sinks.dumps.listing import complete_dump
from sinks.dumps.manifest import DumpedTable
from sinks.dumps.pins import Pin
from sinks.dumps.reader import DumpReader
from sinks.dumps.run import DumpRun
from sinks.dumps.table_files import write_table_file
from sinks.dumps.verifying import verify_dump
from sinks.files.register import RootRegister
from tests.support.crashing_root import CrashError, CrashingRoot
from tests.support.dumps import DUMP, START_MS, make_dump, rows_of
from tests.support.leases import expire_lease
from tests.support.memory_root import MemoryRoot

HOUR_MS = 3_600_000
NEXT = "2015-02-24-01-00-00"


@pytest.fixture
def root():
    root = MemoryRoot()
    make_dump(root, {"t": [rows_of(b"a")]}, run_id="before")
    return root


def test_1c_4_and_5_killed_at_any_change_a_run_is_invisible_or_complete():
    seen = set()
    for most in itertools.count():
        root = MemoryRoot()
        make_dump(root, {"t": [rows_of(b"a")]}, run_id="before")
        crashing = CrashingRoot(root, most)
        is_done = False
        with contextlib.suppress(CrashError):
            make_dump(crashing, {"t": [rows_of(b"b"), rows_of(b"c")]}, at_ms=START_MS + HOUR_MS, run_id="killed")
            is_done = True
        status = verify_dump(root, NEXT).status if root.exists(NEXT) else "invisible"
        seen.add(status)
        is_visible = status == "complete"
        assert DumpReader(root).latest().name == (NEXT if is_visible else DUMP)
        assert (complete_dump(root, NEXT) is not None) == is_visible
        if is_done:
            break
        expire_lease(RootRegister(root, LOCK))
        later = START_MS + HOUR_MS + 1_000
        make_dump(root, {"t": [rows_of(b"d")]}, at_ms=later, run_id="next")
        assert not [entry.name for entry in root.entries("") if entry.name.startswith("_run-")]
        with DumpReader(root).scan("t") as rows:
            assert [row.key for row in rows] == [b"d"]
        plan = plan_expiry(root, Retention(), later + 25 * HOUR_MS)
        assert [each.path for each in plan.expired if each.reason is Reason.INCOMPLETE] == (
            [NEXT] if status == "incomplete" else []
        )
        expire(root, plan, later)
        assert root.exists(NEXT) == is_visible
    assert seen == {"invisible", "incomplete", "complete"}


@pytest.mark.parametrize("renames", [True, False])
def test_run_that_is_killed_while_it_finishes_resumes_with_all_its_files(monkeypatch, renames):
    for kind in (MemoryRoot, CrashingRoot):
        monkeypatch.setattr(kind, "renames_folders", renames)
    tables = {"t": DumpedTable(())}
    stages = set()
    for most in itertools.count():
        root = MemoryRoot()
        with DumpRun(root, "r", clock_ms=lambda: START_MS) as run:
            run.start(["t"])
            for number, key in enumerate((b"a", b"b")):
                run.add("t", number, write_table_file(root, run.folder, "t", number, rows_of(key)))
            write_table_file(root, run.folder, "t", 9, rows_of(b"z"))  # of an attempt that was not recorded
        with contextlib.suppress(CrashError):
            with DumpRun(CrashingRoot(root, most), "r", clock_ms=lambda: START_MS + HOUR_MS) as run:
                run.resume()
                run.finish(tables)
            break
        expire_lease(RootRegister(root, LOCK))
        stages.add((root.exists(DUMP), is_complete := complete_dump(root, DUMP) is not None))
        with DumpRun(root, "next" if is_complete else "r", clock_ms=lambda: START_MS + 2 * HOUR_MS) as run:
            if not is_complete:
                run.resume()
                assert sorted(run.done("t")) == [0, 1]
                run.finish(tables)
        assert verify_dump(root, DUMP).status == "complete"
        with DumpReader(root).scan("t") as rows:
            assert [row.key for row in rows] == [b"a", b"b"]
    assert {entry.name for entry in root.entries(DUMP)} == {"_SUCCESS", "_MANIFEST.json", "t"}
    assert stages == {(True, False), (True, True), *([(False, False)] if renames else [])}


def test_run_that_has_lost_its_lock_changes_nothing():
    root = MemoryRoot()
    tables = {"t": DumpedTable(())}
    with DumpRun(root, "r", clock_ms=lambda: START_MS) as suspended:
        suspended.start(["t"])
        suspended.add("t", 0, write_table_file(root, suspended.folder, "t", 0, rows_of(b"a")))
        expire_lease(RootRegister(root, LOCK))
        with DumpRun(root, "r", clock_ms=lambda: START_MS + 1) as run:
            run.resume()
            run.add("t", 1, write_table_file(root, run.folder, "t", 1, rows_of(b"b")))
            for change in (lambda: suspended.add("t", 2, None), lambda: suspended.finish(tables)):
                with pytest.raises(ConflictError) as lost:
                    change()
                assert lost.value.code == "lease_lost"
            run.finish(tables)
    with DumpReader(root).scan("t") as rows:
        assert [row.key for row in rows] == [b"a", b"b"]


def test_1c_12_success_disappears_before_any_other_file():
    for most in itertools.count():
        root = MemoryRoot()
        make_dump(root, {"t": [rows_of(b"a"), rows_of(b"b")]}, run_id="old")
        make_dump(root, {"t": [rows_of(b"c")]}, at_ms=START_MS + HOUR_MS, run_id="new")
        now = START_MS + 8 * 24 * HOUR_MS
        crashing = CrashingRoot(root, most)
        with contextlib.suppress(CrashError):
            expire(crashing, plan_expiry(root, Retention(), now), now)
            break
        assert verify_dump(root, DUMP).status == ("complete" if most == 0 else "incomplete")
        expire(root, plan_expiry(root, Retention(), now), now)
        assert not root.exists(DUMP)
    assert f"rename {DUMP}/_SUCCESS" in crashing.changes[0]
    assert crashing.changes[-1] == f"remove {DUMP}/"
    assert most > 5


@pytest.mark.parametrize("most", range(1, 4))
def test_pinned_dump_that_a_killed_expiry_has_hidden_is_restored(most):
    root = MemoryRoot()
    make_dump(root, {"t": [rows_of(b"a")]}, run_id="old")
    make_dump(root, {"t": [rows_of(b"b")]}, at_ms=START_MS + HOUR_MS, run_id="new")
    now = START_MS + 8 * 24 * HOUR_MS
    plan = plan_expiry(root, Retention(), now)
    Pin("late", DUMP, "Ann", now + HOUR_MS).write(root)
    with contextlib.suppress(CrashError):
        expire(CrashingRoot(root, most), plan, now)
    expire(root, plan_expiry(root, Retention(), now), now)
    assert complete_dump(root, DUMP) is not None
