"""What may go, and how it goes."""

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
def test_nothing_goes_that_a_rule_keeps(entries: list[Entry], policy: RetentionPolicy, now_ms: int):
    gone = removable(entries, policy, now_ms)
    complete = sorted((each for each in entries if each.is_complete), key=lambda each: (each.since_ms, each.name))
    kept_by_count = complete[-max(1, policy.keep_last) :]
    for each in gone:
        assert not each.is_kept
        assert each not in kept_by_count
        assert now_ms - each.since_ms >= (policy.max_age_ms if each.is_complete else policy.incomplete_age_ms)
    assert [each.since_ms for each in gone] == sorted(each.since_ms for each in gone)


@given(ENTRIES, POLICIES, TIMES)
def test_all_goes_that_no_rule_keeps(entries: list[Entry], policy: RetentionPolicy, now_ms: int):
    left = set(entries) - set(removable(entries, policy, now_ms))
    unprotected = [each for each in left if each.is_complete and not each.is_kept]
    old = [each for each in unprotected if now_ms - each.since_ms >= policy.max_age_ms]
    assert len(old) <= max(1, policy.keep_last)
    assert all(each.is_complete or each.is_kept or now_ms - each.since_ms < policy.incomplete_age_ms for each in left)


@given(ENTRIES, POLICIES, TIMES)
def test_second_look_finds_no_more(entries: list[Entry], policy: RetentionPolicy, now_ms: int):
    gone = removable(entries, policy, now_ms)
    assert removable([each for each in entries if each not in gone], policy, now_ms) == []


def test_dumps_of_a_week():
    entries = [Entry(f"day {day}", day * DAY_MS, is_kept=day == 2) for day in range(1, 12)]
    entries.append(Entry("killed", 9 * DAY_MS, is_complete=False))
    policy = RetentionPolicy(keep_last=1, max_age_ms=7 * DAY_MS, incomplete_age_ms=DAY_MS)
    gone = removable(entries, policy, 11 * DAY_MS)
    assert [each.name for each in gone] == ["day 1", "day 3", "day 4", "killed"]


def test_marker_goes_first_and_a_removal_that_stopped_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
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
