"""Rollbacks that are refused: above a mark of the pipeline's tables, or with an unfinished replay."""

from pathlib import Path

import pytest

from ingest.api import ConflictError
from ingest.service.rewriting.rollback import TableRollback
from sinks.rewriting.rolled_back import Interval
from sinks.updates.keys import start_of
from tests.support.update_rows import VALUE
from tests.support.updated_table import TABLE, UpdatedTable


def with_updates(*times_ms: int) -> UpdatedTable:
    table = UpdatedTable()
    table.store.checks_deletes = False
    for time_ms in times_ms:
        table.add(b"k", start_of(time_ms, 0), {VALUE: b"1"})
    return table


def rollback(table: UpdatedTable, last_ms: int, *others: str, replay: Path = Path("no-replay")) -> TableRollback:
    return TableRollback(table.calls, TABLE, Interval(1, last_ms), table.group(*others, replay=replay))


def test_interval_above_the_mark_is_refused():
    table = with_updates(5, 6)
    with pytest.raises(ConflictError, match="nothing to roll back"):
        rollback(table, 2).run()
    table.mark(5)
    with pytest.raises(ConflictError, match='after the mark of table "counters", 1970') as refused:
        rollback(table, 6).run()
    assert refused.value.code == "above_mark"
    assert rollback(table, 5).run().counts.deleted == 1


def test_interval_above_the_mark_of_another_table_is_refused():
    table = with_updates(5, 6)
    table.mark(6)
    table.mark(5, "sums")
    with pytest.raises(ConflictError, match='after the mark of table "sums", which the same pipeline writes'):
        rollback(table, 6, "sums").run()
    assert table.store.calls == []
    assert rollback(table, 6, "new").run().counts.deleted == 2


@pytest.mark.parametrize("is_dry_run", [False, True])
def test_unfinished_replay_is_refused(tmp_path: Path, is_dry_run: bool):
    table, replay = with_updates(5), tmp_path / "updates"
    table.mark(5)
    replay.touch()
    run = rollback(table, 5, replay=replay)
    with pytest.raises(ConflictError, match='replay into the tables of pipeline "hits"') as refused:
        run.plan() if is_dry_run else run.run()
    assert (refused.value.code, "run its command again" in (refused.value.hint or "")) == ("replay_unfinished", True)
    assert table.store.calls == []
    replay.unlink()
    assert rollback(table, 5, replay=replay).run().counts.deleted == 1
