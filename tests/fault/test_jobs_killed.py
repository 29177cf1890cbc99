"""Jobs in a process of their own, killed within a step and run again, without servers."""

import json
from pathlib import Path

import pytest

from ingest.api import FamilySpec, Put, Scan, TableSpec
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.service.state_folders import update_replay_file
from sinks.archive.layout import SUCCESS
from sinks.archive.partition import Partition
from sinks.archive.rewrite import Rewrite
from sinks.dumps.layout import LOCK
from sinks.dumps.reader import DumpReader
from sinks.files.local_root import LocalRoot
from sinks.files.register import RootRegister
from sinks.rewriting.rolled_back import rolled_back
from sinks.rewriting.table_lease import LEASE
from sinks.updates.intervals import Interval
from tests.support.archives import START_S, Writer, event, visible
from tests.support.checkpoint import acknowledge
from tests.support.counters import HOUR, T, commit, opened, written
from tests.support.in_process import run_here
from tests.support.killed_commands import run
from tests.support.leases import expire_lease
from tests.support.update_pipeline import BATCH_MS, Pipeline

ARCHIVE = """
version: 1
service: {http: {listen: "127.0.0.1:1"}}  # no service answers there
pipelines:
  p:
    source: {kafka: {topics: [t], brokers: "localhost:1"}}
    sinks: [archive: {root: ./archive, table: customer}]
"""
DUMP = """
version: 1
service: {http: {listen: "127.0.0.1:1"}}  # no service answers there
spark: {master: "local[1]"}
stores: {local: {rocksdb: {path: ./data}}}
tables: {rows: {families: {f: {}}}}
pipelines: {p: {source: {files: {path: "*.jsonl"}}, sinks: [attr2hbase: {table: rows}]}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_killed_rollback_deletes_the_rest_when_it_runs_again(folder: Path) -> None:
    written(folder)
    commit(T + 5 * HOUR // 2)
    command = (
        "rollback",
        "-f",
        "p.yaml",
        "counters",
        "--yes",
        "--from",
        "2023-11-14T22:00",
        "--to",
        "2023-11-14T22:59",
    )
    run(*command, kill_at="rollback_deleted")
    with opened() as store:
        assert 8 <= len(list(store.scan("counters", Scan()))) < 12
        assert rolled_back(store, "counters") == ()
        assert LEASE in store.properties("counters")
    run(*command)
    with opened() as store:
        assert len(list(store.scan("counters", Scan()))) == 8
        assert rolled_back(store, "counters") == (Interval(T, T + 59 * 60_000),)


def test_killed_cleanup_removes_the_batch_when_it_runs_again(folder: Path) -> None:
    (folder / "p.yaml").write_text(ARCHIVE)
    root = LocalRoot(folder / "archive" / "customer")
    Writer(root).run(START_S * 1000, [event(1)], [event(2)])
    partition = Partition(root, "dt=20151210")
    with Rewrite(partition, "test") as rewrite:
        Writer(root).run(START_S * 1000 + 1, [event(1)])
        rewrite.finish()
    command = ("admin", "archive", "cleanup", "-f", "p.yaml", "customer", "--older-than", "0s", "--force")
    run(*command, kill_at="archive_hidden")
    assert not root.exists(partition.path(START_S, SUCCESS))
    assert (len(partition.parts(START_S)), visible(root)) == (3, {"20151210": [1]})
    run(*command)
    assert (partition.version_ids(), visible(root)) == ([rewrite.version_id], {"20151210": [1]})


@pytest.mark.parametrize(
    "point",
    [
        "replay_written",
        *(pytest.param(point, marks=pytest.mark.slow) for point in ("replay_begun", "replay_moved")),
    ],
)
def test_killed_replay_of_dead_letters_counts_once(folder: Path, point: str) -> None:
    pipeline = Pipeline(folder)
    configuration = pipeline.load()
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    queue.publish([pipeline.dead_letter("counts").to_json()], 0, BATCH_MS)
    file = folder / "p.yaml"
    file.write_text(file.read_text().replace("localhost:9092", "localhost:1"))  # no broker answers there
    run("dead-letters", "replay", "-f", "p.yaml", kill_at=point)
    assert update_replay_file(configuration, "p").exists()
    run("dead-letters", "replay", "-f", "p.yaml")
    assert not update_replay_file(configuration, "p").exists()
    assert [value for _, value in pipeline.updates()] == [b"2"]
    assert [entry.is_replayed for entry in queue.entries()] == [True]


@pytest.mark.parametrize("point", ["merged_rows_written", pytest.param("covered_rows_deleted", marks=pytest.mark.slow)])
def test_killed_compaction_merges_to_the_same_values(folder: Path, point: str) -> None:
    written(folder)
    commit(T + 5 * HOUR // 2)
    command = ("compact", "-f", "p.yaml", "counters", "--older-than", "0s", "--window", "1h")

    def values() -> list[object]:
        scanned = run_here(["scan", "-f", "p.yaml", "counters", "--output", "json"], folder)
        return [json.loads(line)["cells"] for line in scanned.stdout.splitlines()]

    before = values()
    assert len(before) == 2
    run(*command, kill_at=point)
    with opened() as store:
        assert LEASE in store.properties("counters")
        assert len(list(store.scan("counters", Scan()))) != 12
    assert values() == before
    run(*command)
    assert values() == before
    with opened() as store:
        assert len(list(store.scan("counters", Scan()))) == 6


@pytest.mark.parametrize(
    ("point", "is_current"),
    [
        ("archive_completed", False),
        *(
            pytest.param(point, is_current, marks=pytest.mark.slow)
            for point, is_current in (
                ("archive_written", False),
                ("archive_superseded", False),
                ("archive_switched", True),
            )
        ),
    ],
)
def test_killed_join_leaves_one_of_the_batches(folder: Path, point: str, is_current: bool) -> None:
    (folder / "p.yaml").write_text(ARCHIVE)
    root = LocalRoot(folder / "archive" / "customer")
    Writer(root).run(START_S * 1000, [event(1)], [event(2)])
    acknowledge(folder / "data" / "state" / "checkpoints" / "p", 0, {"t": {0: 3}})
    partition = Partition(root, "dt=20151210")
    command = ("archive", "join", "-f", "p.yaml", "customer", "--dt", "20151210", "--output", "json")
    run(*command, kill_at=point)
    assert (partition.current() != START_S, visible(root)) == (is_current, {"20151210": [1, 2]})
    done = json.loads(run(*command).stdout)
    assert (partition.current(), visible(root)) == (done["version"], {"20151210": [1, 2]})
    assert len(partition.parts(done["version"])) == 1


@pytest.mark.slow
def test_killed_dump_is_seen_once_it_is_resumed(folder: Path) -> None:
    (folder / "p.yaml").write_text(DUMP)
    with opened() as store:
        store.ensure_table(TableSpec("rows", (FamilySpec(b"f"),)))
        store.apply("rows", [Put(b"r", {b"f:q": b"1"}, 5)])
    command = ("dump", "run", "-f", "p.yaml", "--root", "dumps", "--output", "json")
    run(*command, "--id", "killed", kill_at="dump_renamed")
    (renamed,) = (path.name for path in Path("dumps").iterdir() if not path.name.startswith("_"))
    assert DumpReader("dumps").dumps() == []
    expire_lease(RootRegister(LocalRoot(Path("dumps")), LOCK))
    done = json.loads(run(*command, "--resume", "killed").stdout)
    assert (done["dump"], done["rows"]) == (renamed, 1)
    assert [each.name for each in DumpReader("dumps").dumps()] == [renamed]
