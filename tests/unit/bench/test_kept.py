"""A run that is kept by turn."""

import subprocess
from dataclasses import replace

import pytest

from tests.bench import calibration
from tests.bench.kept import ATTEMPTS, Head, KeptRun, RunError, Turn, commit_of

HEAD = Head("a1", {"cpu": "2 x any"}, {"sync": "true"}, {"runs": 2}, "2026-01-01T10:00:00+00:00")


def turn(part, number, *, attempt=1, s=1.0, **figures):
    return Turn(part, number, attempt, [s, s], figures)


def test_interrupted_run_continues_with_the_turns_that_it_has_not(tmp_path):
    run = KeptRun.resumed(tmp_path / "run", HEAD)
    assert run.due({"a": 2, "b": 1}) == {"a": {1: 1, 2: 1}, "b": {1: 1}}
    run.keep(turn("a", 2, x=3.0, b=1.0))
    later = KeptRun.resumed(tmp_path / "run", replace(HEAD, started="2026-01-01T23:00:00+00:00"))
    assert later.due({"a": 2, "b": 1}) == {"a": {1: 1}, "b": {1: 1}}
    assert (later.turns("a"), later.parts(), later.head) == ([turn("a", 2, x=3.0, b=1.0)], ["a"], HEAD)
    assert list(later.turns("a")[0].figures) == ["x", "b"]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"commit": "b2"}, "the commit was a1 and is b2"),
        ({"machine": {"cpu": "4 x any"}}, "the machine was cpu 2 x any and is cpu 4 x any"),
        ({"settings": {"sync": "false"}}, "the settings was sync true"),
        ({"options": {"runs": 3}}, "turns was runs 2 and is runs 3"),
        ({"started": "2026-01-02T10:00:01+00:00"}, "more than a day ago"),
    ],
)
def test_another_run_is_not_continued(tmp_path, changed, reason):
    KeptRun.resumed(tmp_path / "run", HEAD).keep(turn("a", 1))
    with pytest.raises(RunError, match=rf"{reason}.*start anew with --new"):
        KeptRun.resumed(tmp_path / "run", replace(HEAD, **changed))
    assert KeptRun.started(tmp_path / "run", replace(HEAD, **changed)).parts() == []


def test_folder_with_other_files_is_not_removed(tmp_path):
    (tmp_path / "a").write_text("1")
    with pytest.raises(RunError, match="has files, and no run: choose another --folder"):
        KeptRun.started(tmp_path, HEAD)
    assert (tmp_path / "a").read_text() == "1"


def test_turn_is_measured_again_while_the_machine_was_faster_or_slower(tmp_path):
    run = KeptRun.started(tmp_path / "run", HEAD)
    for number, s in enumerate((1.0, 1.09, 0.89, 1.0, 1.15), start=1):
        run.keep(turn("a", number, s=s))
    assert run.due({"a": 5}) == {"a": {3: 2, 5: 2}}
    run.keep(turn("a", 3, attempt=2, s=1.01))
    for attempt in range(2, ATTEMPTS + 1):
        assert run.due({"a": 5}) == {"a": {5: attempt}}
        run.keep(turn("a", 5, attempt=attempt, s=2.0))
    assert run.due({"a": 5}) == {}
    assert [run.deviates(each) for each in run.turns("a")] == [False, False, False, False, True]


def test_turn_counts_with_a_few_unusual_times():
    usual = [1.0, 1.09, 0.91, 1.0]
    assert [calibration.deviates([*usual, *more], 1.0) for more in ([1.2], [1.2, 0.8])] == [False, True]
    assert calibration.deviates([1.0, 2.0], 1.0)


def test_draft_is_measured_once(tmp_path):
    run = KeptRun.started(tmp_path / "run", replace(HEAD, is_draft=True))
    run.keep(turn("a", 1))
    run.keep(turn("a", 2))
    run.keep(turn("a", 3, s=2.0))
    assert run.due({"a": 3}) == {}
    assert run.deviates(run.turns("a")[2])


def test_calibration_takes_as_long_as_its_fastest_round(monkeypatch):
    moments = iter((0.0, 3.0, 3.0, 4.0, 4.0, 6.0))
    monkeypatch.setattr(calibration.time, "perf_counter", lambda: next(moments))
    monkeypatch.setattr(calibration, "ADDITIONS", 1)
    assert calibration.seconds() == 1.0


def test_changed_files_of_a_tree_are_named(tmp_path):
    def git(*words):
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-m", "one")
    commit, changed = commit_of(tmp_path)
    assert (len(commit) >= 7, changed) == (True, [])
    (tmp_path / "a").write_text("2")
    (tmp_path / "b").write_text("1")
    assert commit_of(tmp_path) == (commit, ["a", "b"])
