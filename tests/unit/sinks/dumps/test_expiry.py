"""Which dumps expire."""

import pytest

from sinks.dumps.errors import DumpNotAvailableError
from sinks.dumps.expiry import DAY_MS, Reason, Retention, expire, files_to_remove, plan_expiry
from sinks.dumps.layout import dump_name
from sinks.dumps.pins import Pin, create_pin, pins
from sinks.dumps.reader import DumpReader
from sinks.files.local_root import LocalRoot
from tests.support.dumps import START_MS, make_dump, rows_of
from tests.support.memory_root import MemoryRoot

NAMES = [dump_name(START_MS + day * DAY_MS) for day in range(12)]
NOW = START_MS + 12 * DAY_MS


@pytest.fixture
def root():
    root = MemoryRoot()
    for day in range(len(NAMES)):
        make_dump(root, {"t": [rows_of(b"k")]}, at_ms=START_MS + day * DAY_MS, run_id=str(day))
    return root


def names(plan):
    return [each.path for each in plan.expired]


def test_1c_12_retention(root):
    create_pin(root, NAMES[1], NOW, owner="Ann")
    root.write(f"{NAMES[2]}/_KEEP", b"")
    plan = plan_expiry(root, Retention(), NOW)
    assert names(plan) == [NAMES[0], NAMES[3], NAMES[4]]
    assert plan.kept == {NAMES[1]: "pinned by Ann", NAMES[2]: "it has _KEEP"}
    planned = list(files_to_remove(root, plan))
    removed = []
    assert expire(root, plan, NOW, removed.append) == names(plan)
    assert removed == planned
    assert [dump.name for dump in DumpReader(root).dumps()] == [NAMES[1], NAMES[2], *NAMES[5:]]
    assert names(plan_expiry(root, Retention(), NOW)) == []


def test_1c_12_the_newest_stay_whatever_their_age(root):
    later = NOW + 365 * DAY_MS
    plan = plan_expiry(root, Retention(keep_ms=0, keep_last=2), later)
    assert names(plan) == NAMES[:-2]
    assert plan.kept == dict.fromkeys(NAMES[-2:], "one of the newest")
    expire(root, plan, later)
    assert DumpReader(root).latest().name == NAMES[-1]


def test_dump_from_the_future_is_none_of_the_newest(root):
    now = START_MS + 10 * DAY_MS  # NAMES[11] is later
    plan = plan_expiry(root, Retention(keep_ms=0), now)
    assert (names(plan), plan.kept) == (NAMES[:10], {})
    plan = plan_expiry(root, Retention(keep_ms=0), now + 1)
    assert plan.kept == {NAMES[10]: "one of the newest"}


def test_pin_that_has_expired_keeps_nothing_and_is_removed(root):
    pin = create_pin(root, NAMES[0], NOW, ttl_ms=1_000)
    assert NAMES[0] not in names(plan_expiry(root, Retention(), NOW + 999))
    plan = plan_expiry(root, Retention(), NOW + 1_000)
    assert (NAMES[0] in names(plan), (pin.path, Reason.PIN) in plan.expired) == (True, True)
    expire(root, plan, NOW + 1_000)
    assert pins(root) == []


def test_pin_written_while_the_dump_is_removed_keeps_it(root):
    plan = plan_expiry(root, Retention(), NOW)
    Pin("late", NAMES[0], "Ann", NOW + 1).write(root)
    removed = []
    assert expire(root, plan, NOW, removed.append) == NAMES[1:5]
    assert not any(NAMES[0] in path for path in removed)
    with DumpReader(root).locked_view(NAMES[0]) as view, view.scan("t") as rows:
        assert [row.key for row in rows] == [b"k"]


def test_pin_written_beside_a_second_expiry_keeps_the_dump_that_the_first_has_hidden(root):
    root.rename(f"{NAMES[0]}/_SUCCESS", f"{NAMES[0]}/_SUCCESS.hidden")  # by an expiry that was killed then
    plan = plan_expiry(root, Retention(), NOW)
    assert (NAMES[0], Reason.INCOMPLETE) in plan.expired
    Pin("late", NAMES[0], "Ann", NOW + 1).write(root)
    assert expire(root, plan, NOW) == NAMES[1:5]
    with DumpReader(root).locked_view(NAMES[0]) as view, view.scan("t") as rows:
        assert [row.key for row in rows] == [b"k"]


def test_dump_that_has_expired_cannot_be_pinned(root):
    expire(root, plan_expiry(root, Retention(), NOW), NOW)
    with pytest.raises(DumpNotAvailableError):
        create_pin(root, NAMES[0], NOW)
    assert pins(root) == []


def test_foreign_files_stay_and_are_reported(root):
    old, emodb = NAMES[0], "2014-01-01-00-00-00"
    mine = [f"{old}/mine.txt", f"{old}/t/mine.json.gz", "notes.txt", "_pins/x.json"]
    root.make_folder("_pins")
    root.make_folder(f"{emodb}/t")
    for path in mine:
        root.write(path, b"mine")
    of_emodb = {f"{emodb}/t/t-00-0123456789abcdef-0.json.gz": b"", f"{emodb}/_SUCCESS": b"2014-01-01T00:00:00Z\n" * 3}
    for path, content in of_emodb.items():
        root.write(path, content)
    plan = plan_expiry(root, Retention(), NOW)
    assert plan.foreign == (emodb, *mine)
    expire(root, plan, NOW)
    assert [path for path, _ in root.files_below(old)] == mine[:2]
    assert all(root.exists(path) for path in [*mine, *of_emodb])


def test_leftovers_of_killed_runs_expire_after_a_day(tmp_path):
    root = LocalRoot(tmp_path)
    root.make_folder("_run-killed/t")
    root.write("_run-killed/t/t-00-0123456789abcdef-0.json.gz", b"")
    root.write(".tmp-1234-_LOCK", b"")
    now = root.entries("")[0].modified_ms
    assert plan_expiry(root, Retention(), now).expired == ()
    plan = plan_expiry(root, Retention(), now + 3 * DAY_MS)
    assert plan.expired == ((".tmp-1234-_LOCK", Reason.LEFTOVER), ("_run-killed", Reason.LEFTOVER))
    assert expire(root, plan, now) == []
    assert root.entries("") == []


def test_no_root_has_nothing_that_expires(tmp_path):
    assert plan_expiry(LocalRoot(tmp_path / "none"), Retention(), NOW) == plan_expiry(
        LocalRoot(tmp_path), Retention(), NOW
    )
    with pytest.raises(ValueError, match="at least"):
        Retention(keep_last=0)
