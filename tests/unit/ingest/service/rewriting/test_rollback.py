"""Rollbacks of a table: what is refused, the order of their steps, and their end before they are done."""

from pathlib import Path
from typing import Any

import pytest

from ingest.api import ConfigError, ConflictError, TableSpec, UpdatesDifferError
from ingest.formats.times import moment
from ingest.service.job_kinds import job_of
from ingest.service.rewriting.rollback import Rollback, RollbackOptions, RowsStraddleError, rollback_steps
from sinks.rewriting.rolled_back import rolled_back
from sinks.rewriting.unfinished_rollback import (
    RollbackUnfinishedError,
    UnfinishedRollback,
    refuse_unfinished,
    unfinished_rollback,
)
from sinks.updates.intervals import Interval
from sinks.updates.keys import update_id_of
from tests.support.place import Here
from tests.support.update_rows import VALUE
from tests.support.updated_table import TABLE, KilledError, UpdateWriter

DECLARED = TableSpec(TABLE, updates='{"processor": "sum"}')


def with_updates(*times_ms: int) -> UpdateWriter:
    table = UpdateWriter()
    table.store.checks_deletes = False
    for time_ms in times_ms:
        table.add(b"k", update_id_of(time_ms, 0), {VALUE: b"1"})
    return table


class Rolling:
    """A rollback of the updates from time 1 on."""

    def __init__(self, table: UpdateWriter, last_ms: int, *others: str, replay: Path = Path("no-replay")) -> None:
        self.table = table
        self.group = table.group(*others, replay=replay)
        self.last_ms = last_ms

    def run(self, *, is_strict: bool = False, place: Here | None = None) -> Any:
        """The result."""
        options = RollbackOptions.model_validate({"from": moment(1), "to": moment(self.last_ms), "strict": is_strict})
        steps = [*rollback_steps(DECLARED, options, self.table.calls, self.group, place or Here())]
        return steps[-1].result

    def plan(self) -> Any:
        """The result of a dry run."""
        return self.run(place=Here(is_dry_run=True))


def rollback(table: UpdateWriter, last_ms: int, *others: str, replay: Path = Path("no-replay")) -> Rolling:
    return Rolling(table, last_ms, *others, replay=replay)


def test_interval_above_the_committed_position_is_refused():
    table = with_updates(5, 6)
    with pytest.raises(ConflictError, match="nothing to roll back"):
        rollback(table, 2).run()
    table.commit(5)
    with pytest.raises(ConflictError, match='after the committed position of table "counters", 1970') as refused:
        rollback(table, 6).run()
    assert refused.value.code == "above_committed_position"
    assert "--to 1970-01-01T00:00:00.005Z" in str(refused.value.hint)
    assert rollback(table, 5).run()["deleted"] == 1


@pytest.mark.parametrize("updates", ["", '{"processor": "max"}'])
def test_other_updates_than_the_declared_ones_are_refused(updates: str):
    table = with_updates(5)
    recorded = table.store.properties(TABLE)["updates"]
    assert table.store.set_property(TABLE, "updates", recorded, updates or None)
    for run in (rollback(table, 5).plan, rollback(table, 5).run):
        with pytest.raises(UpdatesDifferError):
            run()
    assert table.store.calls == []


def test_interval_above_the_committed_position_of_another_table_is_refused():
    table = with_updates(5, 6)
    table.commit(6)
    table.commit(5, "sums")
    with pytest.raises(
        ConflictError, match='after the committed position of table "sums", which the same pipeline writes'
    ):
        rollback(table, 6, "sums").run()
    assert table.store.calls == []
    assert rollback(table, 6, "new").run()["deleted"] == 2


@pytest.mark.parametrize("is_dry_run", [False, True])
def test_unfinished_replay_is_refused(tmp_path: Path, is_dry_run: bool):
    table, replay = with_updates(5), tmp_path / "updates"
    table.commit(5)
    replay.touch()
    run = rollback(table, 5, replay=replay)
    with pytest.raises(ConflictError, match='replay into the tables of pipeline "hits"') as refused:
        run.plan() if is_dry_run else run.run()
    assert (refused.value.code, "run its command again" in (refused.value.hint or "")) == ("replay_unfinished", True)
    assert table.store.calls == []
    replay.unlink()
    assert rollback(table, 5, replay=replay).run()["deleted"] == 1


def test_strict_rollback_that_would_leave_a_merged_row_deletes_nothing():
    table = with_updates(5, 9)
    table.add(b"m", update_id_of(4, 0), {VALUE: b"2"}, end=update_id_of(20, 0))
    table.commit(20)
    with pytest.raises(RowsStraddleError, match="1 merged row with updates both inside and outside"):
        rollback(table, 10).run(is_strict=True)
    assert (table.store.calls, rolled_back(table.store, TABLE)) == ([], ())
    result = rollback(table, 10).run()
    assert (result["deleted"], result["straddling"], result["rolled_back_ms"]) == (0, 3, [[1, 3]])
    assert rollback(table, 3).run(is_strict=True)["deleted"] == 0


def test_rollback_that_was_killed_has_recorded_nothing():
    """A replay of batches whose updates are still there would count them twice."""
    table = with_updates(5)
    table.commit(5)
    table.store.calls_left = 0
    with pytest.raises(KilledError):
        rollback(table, 5).run()
    assert rolled_back(table.store, TABLE) == ()
    table.store.calls_left = None
    rollback(table, 5).run()
    assert rolled_back(table.store, TABLE) == (Interval(1, 5),)


def test_rollback_that_was_interrupted_ends_as_it_was_begun():
    """A row that came in, or was merged, meanwhile would give it another plan, and half of the updates would stay."""
    table = with_updates(5)
    table.commit(5)
    table.store.calls_left = 0
    with pytest.raises(KilledError):
        rollback(table, 5).run()
    table.store.calls_left = None
    assert unfinished_rollback(table.store, TABLE) == UnfinishedRollback(Interval(1, 5), (Interval(1, 5),))
    with pytest.raises(RollbackUnfinishedError, match="was interrupted") as refused:
        rollback(table, 4).run()
    assert "--from 1970-01-01T00:00:00.001Z --to 1970-01-01T00:00:00.005Z" in str(refused.value.hint)
    with pytest.raises(RollbackUnfinishedError):
        refuse_unfinished(table.store, TABLE)
    table.add(b"m", update_id_of(4, 0), {VALUE: b"2"}, end=update_id_of(20, 0))
    table.commit(20)
    assert rollback(table, 5).run()["rolled_back_ms"] == [[1, 5]]
    assert (unfinished_rollback(table.store, TABLE), rolled_back(table.store, TABLE)) == (None, (Interval(1, 5),))
    refuse_unfinished(table.store, TABLE)


@pytest.mark.parametrize("is_strict", [False, True])
def test_cancelled_rollback_ends_at_the_next_row(is_strict: bool):
    table = with_updates(5)
    table.add(b"l", update_id_of(5, 0), {VALUE: b"1"})
    table.commit(5)
    rows, place = [], Here()
    check = place.cancellation.check

    def check_running(activity: str) -> None:
        rows.append("row")
        if len(rows) == 2:
            place.cancellation.request()
        check(activity)

    place.cancellation.check = check_running
    with pytest.raises(ConflictError, match="cancelled"):
        rollback(table, 5).run(is_strict=is_strict, place=place)
    assert table.store.calls == []


def test_tombstones_are_flushed_after_a_rollback(monkeypatch: pytest.MonkeyPatch):
    table = with_updates(5)
    table.commit(5)
    flushed = []
    monkeypatch.setattr(table.store, "flush_removed", lambda name: flushed.append((name, table.update_keys())))
    rollback(table, 5).run()
    assert flushed == [(TABLE, set())]


def test_options_of_a_request():
    job = job_of("rollback", {"table": "t", "from": "1970-01-01T00:00:00.001Z", "to": "1970-01-01T00:00:00.002"})
    assert isinstance(job, Rollback)
    assert (job.options.from_, job.options.to, job.options.strict) == (1, 2, False)
    for wrong in (
        {},
        {"from": "x", "to": "1970-01-01"},
        {"from": "1970-01-02", "to": "1970-01-01"},
        {"from": 1, "to": 2},
    ):
        with pytest.raises(ConfigError):
            job_of("rollback", {"table": "t", **wrong})
