"""The durable progress of a replay."""

from collections import Counter
from pathlib import Path

import pytest

from ingest.api import ConflictError, IntegrityError
from ingest.receipt import Counts
from ingest.service.replay.plan import BatchKind, ReplayBatch
from ingest.service.replay.state import ReplayState, ReplayTotals
from tests.support.place import replay_options

REQUEST = replay_options(1_000, 2_000)
BATCHES = [
    ReplayBatch(BatchKind.WHOLE, number, 1_000 + 2 * number, {("t", 0): (number, number + 1)}) for number in range(3)
]
IDS = {"t": "a"}


@pytest.fixture
def state(tmp_path: Path) -> ReplayState:
    return ReplayState(tmp_path / "replays", REQUEST, "f1")


def test_replay_that_never_started_has_no_state(state: ReplayState, tmp_path: Path):
    assert state.load() is None
    assert not (tmp_path / "replays").exists()


def test_progress_survives(state: ReplayState, tmp_path: Path):
    state.start(BATCHES, IDS, ReplayTotals(not_durable=7))
    assert state.load() == (BATCHES, ReplayTotals(not_durable=7), "f1", IDS)
    totals = ReplayTotals()
    failed = Counter({("bad_json", "json"): 1})
    totals.add(Counts(records=5, read=6, stored=3, dropped=Counter(no_key=2), dead_lettered_by=failed))
    state.progress(totals)
    assert ReplayState(tmp_path / "replays", REQUEST, "f1").load() == (BATCHES, totals, "f1", IDS)
    assert (totals.batches, totals.records, totals.read) == (1, 5, 6)


def test_finished_replay_starts_anew(state: ReplayState):
    state.start(BATCHES, IDS, ReplayTotals())
    state.progress(ReplayTotals(batches=3))
    state.finish()
    state.finish()
    assert state.load() is None
    state.start(BATCHES[:1], IDS, ReplayTotals())
    assert state.load() == (BATCHES[:1], ReplayTotals(), "f1", IDS)


def test_progress_of_an_earlier_replay_does_not_count(state: ReplayState, tmp_path: Path):
    state.start(BATCHES, IDS, ReplayTotals())
    state.progress(ReplayTotals(batches=2))
    state.plan_file.unlink()  # killed within `finish`
    state.start(BATCHES, IDS, ReplayTotals())
    assert state.load() == (BATCHES, ReplayTotals(), "f1", IDS)


def test_other_options_are_refused(state: ReplayState, tmp_path: Path):
    state.start(BATCHES, IDS, ReplayTotals())
    with pytest.raises(ConflictError, match="other options"):
        ReplayState(tmp_path / "replays", replay_options(1_000, 2_000, overwrite=True), "f1").load()
    assert ReplayState(tmp_path / "replays", replay_options(1_000, 2_001), "f1").load() is None


def test_plan_keeps_the_version_of_the_pipeline(state: ReplayState, tmp_path: Path):
    state.start(BATCHES, IDS, ReplayTotals())
    assert ReplayState(tmp_path / "replays", REQUEST, "f2").load() == (BATCHES, ReplayTotals(), "f1", IDS)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [(b'"format":1', b'"format":2', "format 2"), (b"[", b"{", "cannot be read"), (b'"request"', b'"r"', "request")],
)
def test_damaged_or_newer_plan_is_refused(state: ReplayState, old: bytes, new: bytes, message: str):
    state.start(BATCHES, IDS, ReplayTotals())
    state.plan_file.write_bytes(state.plan_file.read_bytes().replace(old, new, 1))
    with pytest.raises(IntegrityError, match=message):
        state.load()


def test_empty_plan_is_damaged(state: ReplayState):
    state.start(BATCHES, IDS, ReplayTotals())
    state.plan_file.write_bytes(b"")
    with pytest.raises(IntegrityError, match="cannot be read"):
        state.load()
