"""Retention of entries, and their removal."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import StoreUnavailableError
from ingest.durable.retention import Entry, RetentionPolicy, removable, remove

DAY_MS = 86_400_000
TIMES = st.integers(0, 100)
ENTRIES = st.lists(
    st.builds(Entry, st.text("abc", min_size=1), TIMES, st.booleans(), st.booleans()), unique_by=lambda each: each.name
)
POLICIES = st.builds(RetentionPolicy, st.integers(-1, 5), TIMES, TIMES)


@given(ENTRIES, POLICIES, TIMES)
def test_no_retained_entry_is_removable(entries: list[Entry], policy: RetentionPolicy, now_ms: int):
    removed = removable(entries, policy, now_ms)
    complete = sorted((each for each in entries if each.is_complete), key=lambda each: (each.since_ms, each.name))
    kept_by_count = complete[-max(1, policy.keep_last) :]
    for each in removed:
        assert not each.is_kept
        assert each not in kept_by_count
        assert now_ms - each.since_ms >= (policy.max_age_ms if each.is_complete else policy.incomplete_age_ms)
    assert [each.since_ms for each in removed] == sorted(each.since_ms for each in removed)


@given(ENTRIES, POLICIES, TIMES)
def test_every_other_entry_is_removable(entries: list[Entry], policy: RetentionPolicy, now_ms: int):
    left = set(entries) - set(removable(entries, policy, now_ms))
    unprotected = [each for each in left if each.is_complete and not each.is_kept]
    old = [each for each in unprotected if now_ms - each.since_ms >= policy.max_age_ms]
    assert len(old) <= max(1, policy.keep_last)
    assert all(each.is_complete or each.is_kept or now_ms - each.since_ms < policy.incomplete_age_ms for each in left)


@given(ENTRIES, POLICIES, TIMES)
def test_removable_is_idempotent(entries: list[Entry], policy: RetentionPolicy, now_ms: int):
    removed = removable(entries, policy, now_ms)
    rest = [each for each in entries if each not in removed]
    assert removable(rest, policy, now_ms) == []


def test_dumps_of_a_week():
    entries = [Entry(f"day {day}", day * DAY_MS, is_kept=day == 2) for day in range(1, 12)]
    entries.append(Entry("killed", 9 * DAY_MS, is_complete=False))
    policy = RetentionPolicy(keep_last=1, max_age_ms=7 * DAY_MS, incomplete_age_ms=DAY_MS)
    removed = removable(entries, policy, 11 * DAY_MS)
    assert [each.name for each in removed] == ["day 1", "day 3", "day 4", "killed"]


def test_marker_is_removed_first_and_an_interrupted_removal_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    entry = tmp_path / "dump"
    (entry / "table").mkdir(parents=True)
    (entry / "_SUCCESS").touch()
    (entry / "table" / "rows").touch()

    def stops(*_arguments: object) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", stops)
        with pytest.raises(StoreUnavailableError, match="busy"):
            remove(entry, "_SUCCESS")
    assert [path.name for path in entry.iterdir()] == ["table"]
    assert remove(entry, "_SUCCESS")
    assert not entry.exists()
    assert remove(entry, "_SUCCESS")
