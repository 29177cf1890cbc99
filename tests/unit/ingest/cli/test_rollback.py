"""`attr2hbase rollback`, on an embedded store whose service is stopped."""

import pytest

from ingest.formats.times import moment
from sinks.rewriting.rolled_back import rolled_back
from sinks.rewriting.table_lease import LEASE
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.update_rows import update_rows
from sinks.updates.intervals import Interval
from sinks.updates.keys import time_of
from tests.support.counters import HOUR, T, commit, opened, written


@pytest.fixture
def file(folder) -> str:
    name = written(folder)
    commit(T + 5 * HOUR // 2)
    return name


def rollback(ingest, file: str, first_ms: int, last_ms: int, *options: str):
    return ingest("rollback", "-f", file, "counters", "--from", moment(first_ms), "--to", moment(last_ms), *options)


def times() -> list[tuple[int, int]]:
    """Half hours since T of the first and last update in the rows of host a."""
    with opened() as store:
        found = update_rows(store, "counters", RowFormat.recorded(store, "counters"))
        return [
            tuple((time_ms - T) * 2 // HOUR for time_ms in (time_of(key.start), time_of(key.last)))
            for key, _ in found
            if key.row == b"a"
        ]


def test_updates_of_an_interval_are_deleted(ingest, file):
    dry = rollback(ingest, file, T + HOUR, T + 2 * HOUR, "--dry-run", "--output", "json").json
    assert times() == [(n, n) for n in range(6)]
    done = rollback(ingest, file, T + HOUR, T + 2 * HOUR, "--yes", "--output", "json").json
    assert times() == [(0, 0), (1, 1), (5, 5)]
    assert (dry.pop("dry_run"), done.pop("dry_run")) == (True, False)
    assert all(0 <= each.pop("seconds") < 60 for each in (dry, done))
    assert dry == done
    assert done == {
        "table": "counters",
        "logical_rows": 2,
        "deleted": 6,
        "straddling": 0,
        "examples": [],
        "rolled_back_ms": [[T + HOUR, T + 2 * HOUR]],
    }
    with opened() as store:
        assert rolled_back(store, "counters") == (Interval(T + HOUR, T + 2 * HOUR),)
        assert LEASE not in store.properties("counters")


def test_interval_without_update_rows_is_named(ingest, file):
    done = rollback(ingest, file, T - 10 * HOUR, T - 9 * HOUR, "--yes")
    assert (
        done.code,
        'no update row of "counters" that can be deleted has a batch time in this interval' in done.err,
    ) == (0, True)
    assert "no update row" not in rollback(ingest, file, T + HOUR, T + 2 * HOUR, "--yes").err


def test_merged_rows_across_the_interval_stay(ingest, file):
    assert ingest("compact", "-f", file, "counters", "--older-than", "0s").code == 0
    strict = rollback(ingest, file, T + HOUR // 2, T + 2 * HOUR - 1, "--yes", "--strict")
    assert (strict.code, "2 merged rows with updates both inside and outside" in strict.err) == (1, True)
    assert times() == [(0, 1), (2, 3), (4, 5)]
    result = rollback(ingest, file, T + HOUR // 2, T + 2 * HOUR - 1, "--yes")
    assert result.code == 0
    assert 'not rolled back: row "a": updates from 2023-11-14T22:00:00.000Z' in result.err
    assert times() == [(0, 1), (4, 5)]
    with opened() as store:
        assert rolled_back(store, "counters") == (Interval(T + HOUR // 2 + 1, T + 2 * HOUR - 1),)


def test_confirmation_needs_a_terminal(ingest, file):
    result = rollback(ingest, file, T, T)
    assert (result.code, "add --yes, or --dry-run" in result.err) == (2, True)
    assert len(times()) == 6


@pytest.mark.parametrize(
    ("first_ms", "last_ms", "code", "message"),
    [(T, T + 5 * HOUR // 2 + 1, 4, "after the committed position of table"), (T + 1, T, 2, "--from is after --to")],
)
def test_refused_intervals(ingest, file, first_ms: int, last_ms: int, code: int, message: str):
    result = rollback(ingest, file, first_ms, last_ms, "--yes")
    assert (result.code, message in result.err) == (code, True), result.err
    assert len(times()) == 6
