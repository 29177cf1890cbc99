"""`attr2hbase compact`, on an embedded store whose service is stopped."""

import pytest

from ingest.durable.property_register import PropertyRegister
from sinks.rewriting.store_calls import StoreCalls, one_at_a_time
from sinks.rewriting.table_lease import LEASE
from tests.support.counters import HOUR, T, commit, opened, written
from tests.support.leases import left_lease


@pytest.fixture
def file(folder) -> str:
    return written(folder)


def test_updates_of_each_window_become_one(ingest, file):
    commit(T + 5 * HOUR // 2)
    dry = ingest("compact", "-f", file, "counters", "--dry-run", "--older-than", "0s", "--output", "json").json
    done = ingest("compact", "-f", file, "counters", "--older-than", "0s", "--output", "json").json
    assert (dry.pop("dry_run"), done.pop("dry_run")) == (True, False)
    seconds = dry.pop("seconds"), done.pop("seconds")
    assert all(0 <= each < 60 for each in seconds)
    assert dry == done
    assert done == {
        "table": "counters",
        "bound_ms": T + 5 * HOUR // 2,
        "logical_rows": 2,
        "update_rows": 12,
        "written": 6,
        "replaced": 12,
        "unmerged": 0,
        "examples": [],
        "rows_per_key": {"p50": 6, "p99": 6},
    }
    again = ingest("compact", "-f", file, "counters", "--older-than", "0s", "--window", "1d", "--output", "json").json
    assert again["replaced"] in (4, 6)  # one or two days
    with opened() as store:
        assert LEASE not in store.properties("counters")


def test_newer_updates_stay(ingest, file):
    commit(T + 5 * HOUR // 2)
    result = ingest("compact", "-f", file, "counters")
    assert result.code == 0, result.err
    assert "8 update rows up to 2023-11-14T23:30:00.000Z replaced" in result.out + result.err
    assert ingest("compact", "-f", file, "counters", "--output", "json").json["replaced"] == 0


def test_table_without_a_committed_position_is_not_compacted(ingest, file):
    result = ingest("compact", "-f", file, "counters")
    assert (result.code, "has no complete micro-batch yet" in result.err) == (0, True)
    assert ingest("compact", "-f", file, "counters", "--output", "json").json["bound_ms"] is None


def test_store_of_a_running_service_is_refused(ingest, file):
    commit(T)
    with opened():
        result = ingest("compact", "-f", file, "counters")
        assert (result.code, "is held by process" in result.err) == (4, True)
        assert ingest("compact", "-f", file, "counters", "--dry-run").code == 0


def test_lease_of_a_killed_compaction_is_taken_over(ingest, file):
    commit(T + 5 * HOUR // 2)
    with opened() as store:
        left_lease(PropertyRegister(StoreCalls(one_at_a_time(store)), "counters", LEASE))
    assert ingest("compact", "-f", file, "counters").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["countres"], 3, 'did you mean "counters"?'),
        (["plain"], 2, "declares no deferred updates"),
        (["unwritten"], 2, "no pipeline of the file writes"),
        (["counters", "--window", "0s"], 2, "--window: must be at least 0.001 s, not 0s"),
        (["counters", "--older-than", "1 year"], 2, '--older-than: "1 year" is not a duration'),
    ],
)
def test_refused(ingest, file, arguments: list[str], code: int, message: str):
    result = ingest("compact", "-f", file, *arguments)
    assert (result.code, message in result.err) == (code, True), result.err


@pytest.mark.parametrize("command", [("compact",), ("rollback", "--from", "2026-01-01", "--to", "2026-01-02", "--yes")])
def test_file_without_tables_is_refused_with_a_way_out(ingest, folder, command: tuple[str, ...]):
    (folder / "p.yaml").write_text(
        "version: 1\nstores: {local: {rocksdb: {path: ./data}}}\n"
        "pipelines: {p: {source: {files: {path: x}}, sinks: [{attr2hbase: {table: counters}}]}}"
    )
    result = ingest(command[0], "-f", "p.yaml", "counters", *command[1:])
    assert (result.code, "tables: {counters: {updates: " in result.err) == (3, True), result.err
