"""Consumer groups of feeds: on HBase, into topics of Kafka, and killed."""

import json
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from ingest import failpoint
from ingest.api import FamilySpec, Put, TableSpec
from ingest.api.feeds import FEED_FAMILY, feed_table
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config import load
from ingest.plan.open_feeds import open_feed
from sinks.feed.balance import LEASE_S, RENEW_S
from sinks.feed.client import FeedClient, IteratorType
from sinks.feed.errors import ParentUnknownError, ShardLeaseLostError
from sinks.feed.group import GroupMember, GroupOptions
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.clock import Clock
from tests.support.commands import INGEST, Folder
from tests.support.feeds import FeedFixture
from tests.support.group_leases import property_leases
from tests.support.names import unique
from tests.support.servers import HBase, Kafka, Protocol
from tests.support.service import Service, environment
from tests.support.waiting import reached

WORKERS, KILLS = 2, 20


def content(brokers: str = "localhost:1") -> dict[str, Any]:
    return {
        "version": 1,
        "service": {"http": {"listen": "127.0.0.1:1"}},
        "stores": {"local": {"rocksdb": {"path": "./store"}}},
        "tables": {"orders": {"families": {"d": {}}, "feed": {"shards": 2}}},
        "pipelines": {
            "p": {
                "source": {"kafka": {"brokers": brokers, "topics": ["t"]}},
                "sinks": [
                    {
                        "hbase": {
                            "table": "orders",
                            "row_key": {"template": "%{host}"},
                            "cells": [{"family": "d", "qualifier": "a", "value": "1"}],
                        }
                    }
                ],
            }
        },
    }


@contextmanager
def embedded(folder: Path) -> Iterator[RocksDBStore]:
    store = RocksDBStore(RocksDBSettings(path=str(folder / "store")))
    with closing(store):
        store.open()
        yield store


def test_feed_in_hbase(hbase: HBase, protocol: Protocol, tmp_path: Path) -> None:
    """Pages, splits and groups with leases in HBase; the numbers of the statements are in the unit tests."""
    table, clock = unique("orders"), Clock(0.0)
    options = hbase.store_options(protocol, thrift2=True)
    with closing(HBaseStore.of(HBaseSettings.model_validate(options))) as store:
        store.open()
        store.ensure_table(TableSpec(table, (FamilySpec(b"d"),)))
        store.ensure_table(TableSpec(feed_table(table), (FamilySpec(FEED_FAMILY, ttl_s=90_000),)))
        writer = FeedFixture(store, table, shards=2, time_ms=now_ms() - 1000)
        client, leases = FeedClient(store, table), property_leases(store, feed_table(table))
        writer.put(b"a", b"b", b"\xfe")
        writer.put(b"c", b"\xff")
        first = client.records(client.iterator(1, IteratorType.TRIM_HORIZON), 2)
        assert [record.change.row for record in first.records] == [b"a", b"b"]
        client.split(1, b"b")
        writer.put(b"a", b"d")

        def member(name: str) -> GroupMember:
            return GroupMember(client, leases, GroupOptions("g", name, limit=2), clock)

        one, two = member("w1"), member("w2")
        found: list[bytes] = []
        for _ in range(30):
            clock.now += RENEW_S
            for worker in (one, two):
                delivery = worker.poll()
                if delivery is not None:
                    found += [record.change.row for record in delivery.records]
                    delivery.checkpoint()
        assert sorted(found) == [b"a", b"a", b"b", b"c", b"d", b"\xfe", b"\xff"]
        assert sorted([*one.shards, *two.shards]) == [2, 3, 4]
        assert leases.groups() == ("g",)

        writer.put(b"a", b"d", b"\xff")
        holder, other = (one, two) if 2 in one.shards else (two, one)
        deliveries = [holder.poll() for _ in holder.shards]
        for _ in range(5):
            clock.now += RENEW_S
            other.poll()
        for delivery in deliveries:
            assert delivery is not None
            with pytest.raises(ShardLeaseLostError):
                delivery.checkpoint()
        leases.replace("g", 2, leases.read("g")[2], None)
        with pytest.raises(ParentUnknownError):
            member("w3").poll()
        leases.remove("g")
        assert leases.read("g") == {}

        declared = {"families": {"d": {}}, "feed": {}}
        described = content() | {"stores": {"cluster": {"hbase": options}}, "tables": {table: declared}}
        described["pipelines"]["p"]["sinks"][0]["hbase"]["table"] = table
        (tmp_path / "pipeline.yaml").write_text(json.dumps(described))
        ingest = Folder(tmp_path)
        copied = ingest("feed", "consume", table, "--group", "h", "--once").stdout.splitlines()
        assert len(copied) == 10
        assert leases.groups() == ("h",)
        ingest("admin", "feed", "split", table, "--shard", "4", "--at", "x")
        assert len(client.state().feed.requested) == 1


def test_changes_are_copied_to_a_topic(kafka: Kafka, tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(json.dumps(content(kafka.brokers)))
    ingest = Folder(tmp_path)
    topics = {"own": kafka.create_topic(partitions=3), "debezium": unique("created-by-the-command")}
    with embedded(tmp_path) as store:
        writer = FeedFixture(store, shards=2, time_ms=now_ms() - 1000)
        writer.put(*(b"row-%d" % number for number in range(20)))
        writer.delete(b"row-7")
        writer.put(b"row-7", value=b"\xff")
        for envelope, topic in topics.items():
            arguments = ("--group", envelope, "--to", f"kafka:{topic}", "--envelope", envelope, "--once")
            ingest("feed", "consume", "orders", *arguments)
    own = [json.loads(record.value) for record in kafka.records(topics["own"])]
    assert Counter(record["op"] for record in own) == {"PUT": 21, "DELETE": 1}
    assert [record["op"] for record in own if record["row"] == "row-7"] == ["PUT", "DELETE", "PUT"]
    debezium = [(json.loads(record.key), record.value) for record in kafka.records(topics["debezium"])]
    of_row = [None if value is None else json.loads(value) for key, value in debezium if key == {"~id": "row-7"}]
    assert [None if each is None else each["op"] for each in of_row] == ["u", "d", None, "u"]
    assert of_row[-1]["after"] == {"~id": "row-7", "d:a": {"b64": "/w=="}}
    assert len(debezium) == 23


def test_next_worker_goes_on_at_the_checkpoint_of_a_killed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last page, written and without a checkpoint, is read again; `test_4c11_…` kills many."""
    monkeypatch.chdir(tmp_path)
    rows = [f"row-{number:02d}" for number in range(20)]
    (tmp_path / "pipeline.yaml").write_text(json.dumps(content()))
    variables = {failpoint.VARIABLE: "changes_delivered:2:die", failpoint.FOLDER_VARIABLE: str(tmp_path / "points")}
    command = [INGEST, "feed", "consume", "orders", "--group", "g", "--limit", "7"]
    with embedded(tmp_path) as store:
        FeedFixture(store, shards=1, time_ms=now_ms() - 1000).put(*(row.encode() for row in rows))
        killed = subprocess.run(
            command, cwd=tmp_path, env=environment() | variables, stdout=subprocess.PIPE, timeout=60, check=False
        )
        assert killed.returncode == -signal.SIGKILL
        assert [json.loads(line)["row"] for line in killed.stdout.splitlines()] == rows[:14]

        clock = Clock(0.0)
        catalog = Catalog()
        with open_feed(load(tmp_path / "pipeline.yaml", env={}, lookup=catalog), catalog, "orders") as feed:
            member = GroupMember(feed.client, feed.leases, GroupOptions("g", "next", limit=7), clock)
            found: list[str] = []
            while clock.now < 2 * LEASE_S:
                delivery = member.poll()
                if delivery is None:
                    clock.now += RENEW_S
                else:
                    assert clock.now >= LEASE_S, "the lease of the killed worker had not ended"
                    found += [record.change.row.decode() for record in delivery.records]
                    delivery.checkpoint()
    assert found == rows[7:]


@pytest.mark.slow
def test_shards_are_split_while_the_service_runs(tmp_path: Path) -> None:
    """The service alone may write the store: it records the request, and its next micro-batch executes it."""
    (tmp_path / "in").mkdir()
    options = content()
    del options["service"]
    options["tables"]["orders"]["feed"] = {"shards": 1, "before": True}
    options["pipelines"]["p"] |= {
        "source": {"files": {"path": str(tmp_path / "in")}},
        "decorators": [{"json": {"prefix": "2hb_"}}],
        "sinks": [{"attr2hbase": {"table": "orders"}}],
    }

    def add(number: int) -> None:
        lines = [json.dumps({"": f"row-{row}", "d:a": str(number)}) for row in range(10)]
        (tmp_path / "in" / f"{number}").write_text("\n".join(lines) + "\n")

    with Service(tmp_path, options) as service:
        ingest = Folder(service.folder)

        def feed(command: str, *arguments: str) -> Any:
            return json.loads(
                ingest(*command.split(), "-f", str(service.file), "orders", *arguments, "--output", "json").stdout
            )

        def changes(count: int) -> bool:
            found = ingest("feed", "consume", "-f", str(service.file), "orders", "--group", "g", "--once").stdout
            read.extend(map(json.loads, found.splitlines()))
            return len(read) >= count

        read: list[dict[str, Any]] = []
        add(1)
        service.start()
        service.wait_for_batches(1, "p")
        service.wait_for(lambda: changes(10), "the changes of the first file")
        requested = feed("admin feed split", "--shard", "1", "--at", "row-5")
        assert requested["requested"] == [{"split": 1, "at": "row-5"}]
        add(2)
        service.wait_for(lambda: changes(20), "the changes of the second file")
        assert service.stop() == 0, service.last_lines()
        shards = feed("feed describe")["shards"]
    assert [(shard["shard"], shard["parents"]) for shard in shards] == [(1, []), (2, [1]), (3, [1])]
    assert Counter((record["shard"], record["op"]) for record in read) == {
        (1, "PUT_ROW"): 10,
        (2, "UPDATE_ROW"): 5,
        (3, "UPDATE_ROW"): 5,
    }
    assert [len(record["before"]) for record in read] == [0] * 10 + [1] * 10


@pytest.mark.slow
def test_4c11_killed_workers_lose_no_change(tmp_path: Path, ledger_seed: int) -> None:
    """Workers are killed at random moments and at failpoints, while changes are written and shards are split."""
    (tmp_path / "pipeline.yaml").write_text(json.dumps(content()))
    chance = random.Random(ledger_seed)
    number = 0

    def started(*points: str) -> subprocess.Popen[bytes]:
        nonlocal number
        number += 1
        folder = tmp_path / f"points-{number}"
        variables = {failpoint.VARIABLE: ",".join(points), failpoint.FOLDER_VARIABLE: str(folder)} if points else {}
        command = [INGEST, "feed", "consume", "orders", "--group", "g", "--limit", "7"]
        with (tmp_path / f"out-{number}").open("wb") as out, (tmp_path / f"err-{number}").open("wb") as err:
            return subprocess.Popen(command, cwd=tmp_path, env=environment() | variables, stdout=out, stderr=err)

    written: Counter[tuple[str, int]] = Counter()
    with embedded(tmp_path) as store:
        writer = FeedFixture(store, shards=2, time_ms=now_ms() - 1000)
        client = FeedClient(store, "orders")
        workers = [started() for _ in range(WORKERS)]
        for turn in range(KILLS):
            for _ in range(5):
                rows = {f"row-{chance.randrange(100)}".encode() for _ in range(10)}
                time_ms = max(writer.time_ms, now_ms())
                writer.batch({row: [Put(row, {b"d:a": b"v"}, time_ms)] for row in rows}, time_ms)
                written.update((row.decode(), time_ms) for row in rows)
                time.sleep(0.05)
            if turn in (5, 10):
                shard = next(shard for shard in client.state().feed.shards if shard.has(b"row-5") and shard.is_open)
                client.split(shard.number, b"row-5" if turn == 5 else b"row-7")
            victim = workers.pop(chance.randrange(WORKERS))
            if victim.poll() is None:
                victim.kill()
            victim.wait()
            points = chance.choice([(), ("changes_delivered:1:die",), ("changes_checkpointed:2:die",)])
            workers.append(started(*points))
            time.sleep(chance.random())
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        # the newest one may have had no handler yet
        assert {worker.wait(60) for worker in workers} <= {0, -signal.SIGKILL, -signal.SIGTERM}
        last = started()

        def is_behind() -> bool:
            lags = Folder(tmp_path)("admin", "feed", "groups", "orders", "--output", "json")
            groups = json.loads(lags.stdout)  # without the group if all workers were killed before they began it
            return "g" not in groups or any(lag["behind_ms"] for lag in groups["g"])

        assert reached(lambda: not is_behind(), 300, 1), "leases of killed workers end after 20 s"
        last.send_signal(signal.SIGTERM)
        assert last.wait(60) == 0, (tmp_path / f"err-{number}").read_text()
    read: Counter[tuple[str, int]] = Counter()
    for each in range(1, number + 1):
        for line in (tmp_path / f"out-{each}").read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                record = json.loads(line)
                read[record["row"], record["time"]] += 1
    assert read.keys() == written.keys()
    assert max(read.values()) <= KILLS
