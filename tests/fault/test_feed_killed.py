"""
A table with a change feed whose writer, dumps, expiry, splits, merges and consumers are killed: no change is lost or
doubled.

After each kill of the writer, the table has the cells of every visible change. Size: `FEED_TURNS` turns with kills.
"""

import itertools
import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from ingest import failpoint
from ingest.api import Row, Scan, Store
from ingest.api.feeds import feed_table
from sinks.dumps.layout import LOCK
from sinks.dumps.reader import DumpReader
from sinks.feed.changes import Change, ColumnChange
from sinks.feed.keys import FeedKey
from sinks.files.local_root import LocalRoot
from sinks.files.register import RootRegister
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.owning.committed_position import COMMITTED, CommittedPosition
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.commands import INGEST, Folder
from tests.support.leases import expire_lease
from tests.support.names import unique
from tests.support.order_events import OrderEvents, order_key
from tests.support.servers import HBase, Kafka
from tests.support.service import Service, environment
from tests.support.waiting import reached

TURNS = int(os.environ.get("FEED_TURNS", "18"))
"""Each kills one or two processes."""
VICTIMS = ("sink", "consumer", "dump", "split", "merge", "expire")
WORKERS = 2
ROWS, RATE = 2_000, 300
RECOVERY_S = 180.0
POINTS = ("after_last_send:1:kill", "between_sends:1:kill", "before_commit:2:kill", "before_send:2:kill")
"""Of the writer, beside kills at random moments."""

State = dict[bytes, tuple[int, bytes]]
"""Row key -> timestamp and value of its only cell."""


def content(store: dict[str, Any], kafka: Kafka, topic: str, table: str) -> dict[str, Any]:
    return {
        "stores": {"store": store},
        "tables": {table: {"families": {"d": {}}, "feed": {"shards": 2, "before": True}}},
        "pipelines": {
            "orders": {
                "source": {
                    "kafka": {
                        "brokers": kafka.brokers,
                        "topics": [topic],
                        "group": unique("group"),
                        "tombstones": "delete",
                    }
                },
                "decorators": [
                    {"value": {"attribute": "2hb_", "value": "%{key}"}},
                    {"value": {"attribute": "2hb_d:value", "value": "%{body}"}},
                ],
                "sinks": [{"attr2hbase": {"table": table}}],
            }
        },
    }


class Storm:
    """
    The service, its commands and a group of consumers, each of which is killed at random moments.

    Attributes:
        kills: of each kind; only of processes that ran.
        outputs: the files of all workers, with the process.
    """

    def __init__(self, service: Service, table: str, chance: random.Random, store: dict[str, Any]) -> None:
        self.service = service
        self.table = table
        self.kills: Counter[str] = Counter()
        self._points = itertools.cycle(POINTS)
        # a kill at a random moment may come after the end
        self._expiry_points = itertools.cycle(["dump_hidden:1:die", None])
        self.outputs: dict[Path, subprocess.Popen[bytes]] = {}
        self.dumps = service.folder / "dumps"
        self._chance = chance
        self._store = store
        self._workers: list[Path] = []
        self._number = 0

    def opened(self) -> Store[Any]:
        """The store; open for reading."""
        store: Store[Any]
        if "hbase" in self._store:
            store = HBaseStore.of(HBaseSettings.model_validate(self._store["hbase"]))
        else:
            store = RocksDBStore(RocksDBSettings.model_validate(self._store["rocksdb"]), read_only=True)
        store.open()
        return store

    def kill(self, victim: str) -> None:
        """Kill one process while it works, and start what must run."""
        getattr(self, f"_kill_{victim}")()

    def start_worker(self, point: str | None = None) -> None:
        """One more consumer of the group."""
        self._number += 1
        out = self.service.folder / f"worker-{self._number}"
        command = ["feed", "consume", "-f", str(self.service.file), self.table, "--group", "g", "--limit", "50"]
        self.outputs[out] = self._started(*command, out=out, point=point)
        self._workers.append(out)

    def end_workers(self) -> None:
        """Stop the consumers; those that were not killed must end well."""
        for out in self._workers:
            self.outputs[out].send_signal(signal.SIGTERM)
        for out in self._workers:
            code = self.outputs[out].wait(60)
            assert code in (0, -signal.SIGKILL, -signal.SIGTERM), out.with_suffix(".err").read_text()

    def is_consumed(self) -> bool:
        """Whether the group has read all changes; leases of killed workers end after 20 s."""
        found = self.service.ingest("admin feed groups", self.table, "--output", "json")
        return not found.returncode and max(lag["behind_ms"] for lag in json.loads(found.stdout)["g"]) == 0

    def free_root(self) -> None:
        """Let the root be taken over, as a minute after its owner was killed."""
        expire_lease(RootRegister(LocalRoot(self.dumps), LOCK))

    def restart(self, point: str | None = None) -> None:
        """Start the service after a kill."""
        self._number += 1
        self.service.start(env=self._variables(point))
        if point is None:
            self.service.wait_for_batches(1, "orders", RECOVERY_S)

    def _kill_sink(self) -> None:
        """At a random moment, and then at a failpoint."""
        point = next(self._points)
        self._kill_service("sink", point)
        assert self.service.wait_for_exit(RECOVERY_S) == -signal.SIGKILL, point
        self._kill_service("sink")

    def _kill_service(self, victim: str, point: str | None = None) -> None:
        """Kill the service, and start it again, with a failpoint if one is named."""
        self.service.kill_all()
        self.kills[victim] += 1
        check_visible(self)
        self.restart(point)

    def _kill_consumer(self) -> None:
        out = self._workers.pop(self._chance.randrange(len(self._workers)))
        self._kill(self.outputs[out], "consumer")
        self.start_worker(self._chance.choice([None, "changes_delivered:3:die", "changes_checkpointed:4:die"]))

    def _kill_dump(self) -> None:
        """The service dumps an embedded store, a process of its own one in HBase."""
        self.free_root()
        is_embedded = "rocksdb" in self._store
        options = ["--root", str(self.dumps), "--min-ranges", "16", *([] if is_embedded else ["--own-process"])]
        before = set(self.dumps.glob("_run-*"))
        dump = self._started("dump", "run", "-f", str(self.service.file), *options)
        assert reached(lambda: set(self.dumps.glob("_run-*")) - before, RECOVERY_S)
        time.sleep(self._chance.uniform(0, 0.5))
        if is_embedded:
            self._kill_service("dump")
            dump.wait(60)
        else:
            self._kill(dump, "dump")

    def _kill_expire(self) -> None:
        """Of two complete dumps it removes the older one."""
        self.free_root()
        self.dump()
        self.dump()
        point = next(self._expiry_points)
        expire = self._started(
            "admin", "dump", "expire", str(self.dumps), "--keep", "1s", "--keep-last", "1", point=point
        )
        if point is None:
            time.sleep(self._chance.uniform(0.3, 0.8))
            self._kill(expire, "expire")
        else:
            assert expire.wait(60) == -signal.SIGKILL
            self.kills["expire"] += 1
        with DumpReader(str(self.dumps)) as reader:
            assert reader.dumps()

    def _kill_split(self) -> None:
        """Divide the rows of the shard that has a random one of them."""
        key = order_key(self._chance.randrange(ROWS)).decode()
        shard = next(each for each in reversed(self.open_shards()) if start_of(each) <= key)
        self._kill_request("split", "--shard", str(shard["shard"]), "--at", key)

    def _kill_merge(self) -> None:
        if len(self.open_shards()) == 1:
            self._kill_split()
        shards = self.open_shards()
        first = self._chance.randrange(len(shards) - 1)
        self._kill_request("merge", "--shards", f"{shards[first]['shard']},{shards[first + 1]['shard']}")

    def _kill_request(self, command: str, *options: str) -> None:
        """Kill the command, and then the service within the edge that another one requests."""
        process = self._started("admin", "feed", command, "-f", str(self.service.file), self.table, *options)
        time.sleep(self._chance.uniform(0.3, 1.0))
        self._kill(process, command)
        done = self.service.ingest(f"admin feed {command}", self.table, *options)
        # 2 if the killed one had requested the same, and the shard is closed meanwhile
        assert done.returncode in (0, 2), done.stderr
        time.sleep(self._chance.random())
        self._kill_service(command)

    def open_shards(self) -> list[dict[str, Any]]:
        """The open shards by their ranges."""
        return sorted((shard for shard in self.shards() if shard["until_ms"] is None), key=start_of)

    def shards(self) -> list[dict[str, Any]]:
        """All shards of the feed, as `feed describe` shows them."""
        described = self.service.ingest("feed describe", self.table, "--output", "json")
        assert described.returncode == 0, described.stderr
        shards: list[dict[str, Any]] = json.loads(described.stdout)["shards"]
        return shards

    def dump(self) -> None:
        """A complete dump."""
        done = self.service.ingest("dump run", "--root", str(self.dumps), "--output", "json", timeout_s=RECOVERY_S)
        assert done.returncode == 0, done.stderr

    def _variables(self, point: str | None) -> dict[str, str]:
        folder = self.service.folder / f"points-{self._number}"
        return {} if point is None else {failpoint.VARIABLE: point, failpoint.FOLDER_VARIABLE: str(folder)}

    def _started(self, *command: str, out: Path | None = None, point: str | None = None) -> subprocess.Popen[bytes]:
        self._number += 1
        out = out or self.service.folder / f"command-{self._number}"
        variables = environment() | self._variables(point)
        with out.open("wb") as stdout, out.with_suffix(".err").open("wb") as err:
            return subprocess.Popen(
                [INGEST, *command], cwd=self.service.folder, env=variables, stdout=stdout, stderr=err
            )

    def _kill(self, process: subprocess.Popen[bytes], victim: str) -> None:
        """Kill a command, and the JVM that it may have; it counts if it had not ended before."""
        if process.poll() is None:
            for each in [*psutil.Process(process.pid).children(recursive=True), process]:
                each.kill()
        self.kills[victim] += process.wait(30) == -signal.SIGKILL


def start_of(shard: dict[str, Any]) -> str:
    """The first row key of a shard; that of the upper half of all keys is no text."""
    start: object = shard["start"]
    return start if isinstance(start, str) else "\U0010ffff"


def changes(store: Store[Any], table: str) -> list[Change]:
    """All changes of a feed, in the order of their micro-batches."""
    found = [
        Change.decoded(FeedKey.decoded(row.key), row.cells[0].value) for row in store.scan(feed_table(table), Scan())
    ]
    return sorted(found, key=lambda change: (change.time_ms, change.rank))


def applied(state: State, change: Change) -> None:
    """Apply a change to the rows before it, and check its image of the row before."""
    before = state.get(change.row)
    image = [(cell.timestamp_ms, cell.value) for cell in change.before or ()]
    assert image == ([] if before is None else [before]), f"{change} after {before}"
    if any(column.type is ColumnChange.DELETE_ROW for column in change.columns):
        state.pop(change.row, None)
    for column in change.columns:
        if column.type is ColumnChange.PUT and column.value is not None:
            state[change.row] = (column.timestamp_ms, column.value)


def content_of(rows: list[Row]) -> State:
    return {row.key: (row.cells[0].timestamp_ms, row.cells[0].value) for row in rows}


def check_visible(storm: Storm) -> None:
    """No visible change lacks its cells, and no cells lack their change; nothing writes the store meanwhile."""
    with closing(storm.opened()) as store:
        found = store.properties(storm.table)
        committed_ms = CommittedPosition.of(found[COMMITTED], storm.table).time_ms if COMMITTED in found else 0
        table = content_of(list(store.scan(storm.table, Scan())))
        state: State = {}
        pending: dict[bytes, list[tuple[int, bytes] | None]] = {}
        for change in changes(store, storm.table):
            if change.time_ms > committed_ms:
                pending.setdefault(change.row, [state.get(change.row)])
            applied(state, change)
            if change.row in pending:
                pending[change.row].append(state.get(change.row))
    wrong = [row for row in table.keys() | state.keys() if table.get(row) not in pending.get(row, [state.get(row)])]
    assert not wrong, f"{len(wrong)} rows, as {wrong[0]!r}: {table.get(wrong[0])}, by the feed {state.get(wrong[0])}"


def check_consumed(storm: Storm, expected: set[str]) -> None:
    """
    Each change was delivered; in order in each shard, and again only if the worker that had it before was killed.

    Args:
        expected: the sequences of all changes.
    """
    seen: dict[str, list[Path]] = {}
    for out in storm.outputs:
        records = [json.loads(line) for line in out.read_text().splitlines(keepends=True) if line.endswith("\n")]
        for shard in {record["shard"] for record in records}:
            sequences = [record["seq"] for record in records if record["shard"] == shard]
            assert sequences == sorted(set(sequences)), out
        for record in records:
            seen.setdefault(record["seq"], []).append(out)
    assert seen.keys() == expected
    for sequence, outs in seen.items():
        kept = [out for out in outs if storm.outputs[out].returncode != -signal.SIGKILL]
        assert len(kept) <= 1, (sequence, kept)


@pytest.mark.slow
@pytest.mark.one_protocol("kills at the same places with both")
@pytest.mark.parametrize("kind", ["rocksdb", "hbase"])
def test_no_change_is_lost_or_doubled(
    kafka: Kafka, tmp_path: Path, ledger_seed: int, kind: str, request: pytest.FixtureRequest
) -> None:
    chance = random.Random(ledger_seed)
    table = unique("orders")
    store: dict[str, Any] = {"rocksdb": {"path": str(tmp_path / "db")}}
    if kind == "hbase":
        hbase: HBase = request.getfixturevalue("hbase")
        store = {"hbase": hbase.store_options("rpc", thrift2=True)}
    events = OrderEvents(kafka, rows=ROWS, rate=RATE, seed=ledger_seed)
    turns = list(itertools.islice(itertools.cycle(VICTIMS), TURNS))
    chance.shuffle(turns)
    with Service(tmp_path / "service", content(store, kafka, events.topic, table)) as service:
        made = service.ingest("table apply")
        assert made.returncode == 0, made.stderr
        storm = Storm(service, table, chance, store)
        events.all_rows()
        service.start()
        service.wait_for_batches(1, "orders")
        for _ in range(WORKERS):
            storm.start_worker()
        with events.in_background():
            for turn in turns:
                time.sleep(chance.uniform(0, 3))
                storm.kill(turn)
        service.wait_for_offsets(events.ends, "orders", events.topic, RECOVERY_S)
        storm.free_root()
        storm.dump()
        verify = Folder(service.folder)
        with DumpReader(str(storm.dumps)) as reader:
            for dump in reader.dumps():
                verify("dump", "verify", str(storm.dumps), "--at", dump.name)
        assert storm.kills.keys() == set(VICTIMS)
        assert min(storm.kills.values()) > 0, storm.kills
        parents = [len(shard["parents"]) for shard in storm.shards()]
        assert {1, 2} <= set(parents), "no split or no merge took effect"
        assert service.stop() == 0, service.last_lines()
        check_visible(storm)
        storm.start_worker()  # the others may have died at their failpoints
        assert reached(storm.is_consumed, 120, 2), "the group is behind"
        storm.end_workers()
        with closing(storm.opened()) as opened:
            rows = content_of(list(opened.scan(table, Scan())))
            sequences = {FeedKey.decoded(row.key).sequence.to_text() for row in opened.scan(feed_table(table), Scan())}
        assert {row: value for row, (_, value) in rows.items()} == events.newest()
        check_consumed(storm, sequences)
        with DumpReader(str(storm.dumps)) as reader, reader.scan(table) as dumped:
            assert content_of([row.to_row() for row in dumped]) == rows
