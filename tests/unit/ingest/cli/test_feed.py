"""`attr2hbase feed`, on an embedded store whose service is stopped or runs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ingest.api import FamilySpec, TableSpec
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config import load
from ingest.plan.open_feeds import leases_folder
from sinks.feed.balance import LEASE_S
from sinks.feed.client import FeedClient
from sinks.feed.group import GroupMember, GroupOptions
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.feeds import HOUR_MS, FeedFixture
from tests.support.group_leases import file_leases

FILE = """
version: 1
service: {http: {listen: "127.0.0.1:1"}}  # no service answers there
stores: {local: {rocksdb: {path: ./store}}}
tables: {orders: {families: {d: {}}, feed: {shards: 1, heartbeat: 1h}}, plain: {families: {d: {}}}}
pipelines:
  hits:
    source: {files: {path: "*.jsonl"}}
    decorators: [json]
    sinks:
      - hbase: {table: orders, row_key: {template: "%{host}"}, cells: [{family: d, qualifier: a, value: "1"}]}
"""


@contextmanager
def opened() -> Iterator[RocksDBStore]:
    """The store in the working directory, open for writing."""
    store = RocksDBStore(RocksDBSettings(path="./store"))
    store.open()
    try:
        yield store
    finally:
        store.close()


@contextmanager
def writing() -> Iterator[FeedFixture]:
    """The feed that exists."""
    with opened() as store:
        yield FeedFixture.of(store, "orders")


@pytest.fixture
def file(folder: Path) -> str:
    (folder / "p.yaml").write_text(FILE)
    with opened() as store:
        writer = FeedFixture(store, time_ms=now_ms() - 1000)
        writer.put(b"a", b"\xff")
        writer.put(b"b")
    return "p.yaml"


def oldest(ingest, file: str, shard: int = 1) -> str:
    return ingest("feed", "iterator", "-f", file, "orders", "--shard", shard).out.strip()


def test_list_and_describe(ingest, file: str):
    (listed,) = ingest("feed", "list", "-f", file, "--output", "json").lines
    described = ingest("feed", "describe", "-f", file, "orders", "--output", "json").json
    assert {**listed, "retention_horizon_ms": 0} == {**described, "retention_horizon_ms": 0}
    assert (described["table"], described["feed"], described["requested"]) == ("orders", "s1", [])
    (shard,) = described["shards"]
    assert (shard["shard"], shard["start"], shard["stop"], shard["until_ms"]) == (1, "", None, None)
    text = ingest("feed", "describe", "-f", file, "orders")
    assert "feed s1 since" in text.out
    assert "changes expire after 24 h" in text.out
    assert "orders" in ingest("feed", "list", "-f", file).out


def test_records_page_by_page(ingest, file: str):
    first = ("feed", "records", "-f", file, "orders", "--iterator", oldest(ingest, file), "--limit", 2)
    page = ingest(*first, "--output", "json").json
    assert [record["row"] for record in page["records"]] == ["a", {"b64": "/w=="}]
    assert page["records"][0]["columns"][0] | {"ts": 0} == {"type": "PUT", "ts": 0, "column": "d:a", "value": "v"}
    assert (page["behind_ms"] > 0, page["child_shards"]) == (True, [])
    assert f"2 changes, 0.{page['behind_ms']:03} s behind" in ingest(*first).err
    text = ingest("feed", "records", "-f", file, "orders", "--iterator", page["next_iterator"])
    assert "b  PUT" in text.out
    assert "1 change, 0.000 s behind" in text.err
    sequence = page["records"][1]["seq"]
    after = ingest(
        *("feed", "iterator", "-f", file, "orders", "--shard", 1, "--type", "after_sequence"), "--sequence", sequence
    ).out.strip()
    assert "b  PUT" in ingest("feed", "records", "-f", file, "orders", "--iterator", after).out
    arguments = ("--type", "AT_TIMESTAMP", "--time", "2026-01-01")
    since = ingest("feed", "iterator", "-f", file, "orders", "--shard", 1, *arguments)
    assert since.code == 0, since.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["describe", "-f", "p.yaml", "ordres"], 3, 'did you mean "orders"?'),
        (["describe", "-f", "p.yaml", "plain"], 3, 'there is no table "plain"'),
        (["records", "-f", "p.yaml", "orders", "--iterator", "x"], 2, '"x" is not an iterator'),
        (["iterator", "-f", "p.yaml", "orders", "--shard", "7"], 3, "has no shard 7"),
        (["iterator", "-f", "p.yaml", "orders", "--shard", "1", "--type", "NEWEST"], 2, "is not a type of iterators"),
        (
            ["iterator", "-f", "p.yaml", "orders", "--shard", "1", "--sequence", "00"],
            2,
            "AT_TIMESTAMP needs a time (--time)",
        ),
        (["merge", "-f", "p.yaml", "orders", "--shards", "1"], 2, "does not name two shards"),
        (["merge", "-f", "p.yaml", "orders", "--shards", "1,2"], 3, "has no shard 2"),
        (["split", "-f", "p.yaml", "orders", "--shard", "1", "--at", ""], 2, "no row keys on both sides"),
        (["consume", "-f", "p.yaml", "orders", "--group", "A"], 2, "cannot be the name of a group"),
        (["consume", "-f", "p.yaml", "orders", "--group", "g", "--to", "x"], 2, '"x" is no destination'),
        (["consume", "-f", "p.yaml", "orders", "--group", "g", "--to", "kafka:t"], 2, "no pipeline reads Kafka"),
        (
            ["consume", "-f", "p.yaml", "orders", "--group", "g", "--to", "kafka:t", "--pipeline", "q"],
            3,
            'no pipeline "q"',
        ),
        (["consume", "-f", "p.yaml", "orders", "--group", "g", "--heartbeat", "1"], 2, "--heartbeat: "),
        (["consume", "-f", "p.yaml", "orders", "--group", "g", "--dump", "x"], 2, "leave --dump out"),
        (["consume", "-f", "p.yaml", "orders", "--group", "g", "--schemas"], 2, "the own envelope has no schemas"),
        (["groups", "-f", "p.yaml", "orders", "--remove", "g"], 3, 'has no group "g"\n  hint: there is none'),
    ],
)
def test_refused(ingest, file: str, arguments: list[str], code: int, message: str):
    is_of_admin = arguments[0] in {"groups", "merge", "split"}
    result = ingest(*["admin"] * is_of_admin, "feed", *arguments)
    assert (result.code, message in result.err) == (code, True), result.err


@pytest.mark.parametrize("tables", [(), ("orders",)])
def test_declared_feed_begins_with_the_first_micro_batch(ingest, folder: Path, tables: tuple[str, ...]):
    (folder / "p.yaml").write_text(FILE)
    with opened() as store:
        for table in tables:
            store.ensure_table(TableSpec(table, (FamilySpec(b"d"),)))
    result = ingest("feed", "describe", "-f", "p.yaml", "orders")
    begins = (
        'the change feed of table "orders" has not begun: it begins with the first micro-batch that the service stores'
    )
    assert (result.code, begins in result.err, "declare" in result.err) == (3, True, False), result.err
    listed = ingest("feed", "list", "-f", "p.yaml")
    assert (listed.code, 'the change feed of table "orders" begins with the first' in listed.err) == (0, True)
    assert ingest("feed", "list", "-f", "p.yaml", "--output", "json").lines == []


def test_undeclared_feed(ingest, folder: Path):
    (folder / "p.yaml").write_text(FILE)
    with opened() as store:
        store.ensure_table(TableSpec("plain", (FamilySpec(b"d"),)))
    result = ingest("feed", "describe", "-f", "p.yaml", "plain")
    assert (result.code, "hint: declare it, as in tables: {plain: {feed: " in result.err) == (3, True), result.err


@pytest.mark.parametrize("limit", [0, -1, 5001])
def test_4c14_limit_is_refused(ingest, file: str, limit: int):
    result = ingest("feed", "records", "-f", file, "orders", "--iterator", oldest(ingest, file), f"--limit={limit}")
    assert (result.code, "1 to 5000 are allowed" in result.err) == (2, True)


def test_split_and_merge_without_a_service(ingest, file: str):
    requested = ingest(
        "admin", "feed", "split", "-f", file, "orders", "--shard", 1, "--at", r"\x80", "--output", "json"
    )
    assert requested.json["requested"] == [{"split": 1, "at": {"b64": "gA=="}}]
    assert "no service has started" in requested.err
    again = ingest("admin", "feed", "split", "-f", file, "orders", "--shard", 1, "--at", "m")
    assert (again.code, "shard 1 is split or merged with the next micro-batch already" in again.err) == (2, True)
    described = ingest("feed", "describe", "-f", file, "orders")
    assert r"shard 1 is split at \x80 with the next micro-batch" in described.err
    with writing() as writer:
        writer.put(b"c", b"\xfe")
    page = ingest("feed", "records", "-f", file, "orders", "--iterator", oldest(ingest, file), "--output", "json").json
    assert (page["next_iterator"], page["child_shards"]) == (None, [2, 3])
    assert ingest("admin", "feed", "merge", "-f", file, "orders", "--shards", "2,3").code == 0
    assert "shards 2 and 3 are merged with the next micro-batch" in ingest("feed", "describe", "-f", file, "orders").err
    with writing() as writer:
        writer.put(b"d")
    shards = ingest("feed", "describe", "-f", file, "orders", "--output", "json").json["shards"]
    assert [(shard["shard"], shard["parents"], shard["children"]) for shard in shards] == [
        (1, [], [2, 3]),
        (2, [1], [4]),
        (3, [1], [4]),
        (4, [2, 3], []),
    ]
    closed = ingest("feed", "records", "-f", file, "orders", "--iterator", oldest(ingest, file, 2))
    assert "the shard is closed, shards that continue it: 4" in closed.err


def test_request_while_another_process_has_the_store(ingest, file: str):
    with opened():
        refused = ingest("admin", "feed", "split", "-f", file, "orders", "--shard", 1, "--at", "m")
        assert (refused.code, "is held by process" in refused.err) == (4, True)
        assert ingest("feed", "describe", "-f", file, "orders").code == 0


def test_consume_once(ingest, file: str):
    first = ingest("feed", "consume", "-f", file, "orders", "--group", "g", "--once", "--worker", "w1")
    assert first.code == 0, first.err
    assert [record["row"] for record in first.lines] == ["a", {"b64": "/w=="}, "b"]
    assert "3 changes copied" in first.err
    assert ingest("feed", "consume", "-f", file, "orders", "--group", "g", "--once").lines == []
    with writing() as writer:
        writer.delete(b"a")
        writer.put(b"a")
    again = ingest("feed", "consume", "-f", file, "orders", "--group", "g", "--once", "--envelope", "debezium").lines
    assert [(record["op"], record["after"]) for record in again] == [("d", None), ("u", {"~id": "a", "d:a": "v"})]
    with_schema = ("--envelope", "debezium", "--schemas")
    *_, last = ingest("feed", "consume", "-f", file, "orders", "--group", "s", "--once", *with_schema).lines
    assert (last["schema"]["name"], last["payload"]["after"]) == ("attr2hbase.orders.Envelope", again[-1]["after"])
    latest = ingest("feed", "consume", "-f", file, "orders", "--group", "h", "--once", "--start", "latest")
    assert latest.lines == []


def test_groups_and_their_lag(ingest, file: str, folder: Path):
    assert "has no groups" in ingest("admin", "feed", "groups", "-f", file, "orders").err
    ingest("feed", "consume", "-f", file, "orders", "--group", "g", "--once")
    with writing() as writer:
        time_ms = writer.put(b"c")
        last_ms = writer.put(b"c", time_ms=time_ms + 500)
    found = ingest("admin", "feed", "groups", "-f", file, "orders", "--output", "json").json
    (lag,) = found["g"]
    assert (lag["shard"], lag["owner"], lag["is_ended"]) == (1, "", False)
    assert lag["behind_ms"] >= last_ms - time_ms
    assert 0.9 < lag["margin"] <= 1
    assert "100%" in ingest("admin", "feed", "groups", "-f", file, "orders").out
    folder = leases_folder(load("p.yaml", env={}, lookup=Catalog()).local_dir, "local", "orders") / "group.g.1"
    assert [path.stat().st_mode & 0o77 for path in (folder, *folder.iterdir())] == [0, 0]
    removed = ingest("admin", "feed", "groups", "-f", file, "orders", "--remove", "g")
    assert 'group "g" removed' in removed.err
    assert len(ingest("feed", "consume", "-f", file, "orders", "--group", "g", "--once").lines) == 5


def test_missing_lease_is_told_by_the_exit_code_after_the_other_shards(ingest, file: str):
    assert ingest("feed", "consume", "-f", file, "orders", "--group", "g", "--once").code == 0
    leases = file_leases(leases_folder(load(file, env={}, lookup=Catalog()).local_dir, "local", "orders"))
    (shard,) = leases.read("g").keys() - {0}
    leases.replace("g", shard, leases.read("g")[shard], None)
    lost = ingest("feed", "consume", "-f", file, "orders", "--group", "g", "--once")
    assert lost.code == 3
    assert "0 changes copied" in lost.err
    assert f'group "g" has no lease of shard {shard}' in lost.err
    assert "none: its lease is missing" in ingest("admin", "feed", "groups", "-f", file, "orders").out


def test_gap_is_refused_or_skipped(ingest, folder: Path):
    (folder / "p.yaml").write_text(FILE)
    with opened() as store:
        writer = FeedFixture(store, expiration_ms=HOUR_MS, time_ms=now_ms() - 3 * HOUR_MS // 2)
        client = FeedClient(store, "orders", lambda: writer.time_ms)
        options = GroupOptions("g", "w")
        leases = file_leases(leases_folder(load("p.yaml", env={}, lookup=Catalog()).local_dir, "local", "orders"))
        writer.put(b"a")
        member = GroupMember(client, leases, options, lambda: LEASE_S, lambda: writer.time_ms)
        delivery = member.poll()
        assert delivery is not None
        delivery.checkpoint()
        member.close()
        writer.put(b"b")
        writer.put(b"c", time_ms=now_ms())
    refused = ingest("feed", "consume", "-f", "p.yaml", "orders", "--group", "g", "--once")
    assert (refused.code, "have expired" in refused.err) == (3, True)
    assert "0%" in ingest("admin", "feed", "groups", "-f", "p.yaml", "orders").out
    skipped = ingest("feed", "consume", "-f", "p.yaml", "orders", "--group", "g", "--once", "--on-trimmed", "skip")
    assert [(record["op"], record.get("row")) for record in skipped.lines] == [("GAP", None), ("PUT", "c")]
    assert "have expired" in skipped.err


def test_iterator_as_json(ingest, file: str):
    done = ingest("feed", "iterator", "-f", file, "orders", "--shard", 1, "--output", "json")
    assert json.loads(done.out) == {"iterator": oldest(ingest, file)}


@pytest.mark.parametrize(("options", "text", "plain"), [((), "true", True), (("--raw",), "v", "v")])
def test_values_have_the_types_of_their_columns(ingest, file: str, folder: Path, options: tuple[str, ...], text, plain):
    (folder / file).write_text(FILE.replace("feed: {", 'columns: {"d:a": bool8}, feed: {'))
    first = ("feed", "records", "-f", file, "orders", "--iterator", oldest(ingest, file), *options)
    assert ingest(*first).out.splitlines()[1].endswith(f"  {text}")
    assert ingest(*first, "--output", "json").json["records"][0]["columns"][0]["value"] == plain
    for envelope in ("own", "debezium"):
        group = ("--group", envelope, "--once", "--envelope", envelope)
        shown = ingest("feed", "consume", "-f", file, "orders", *group, *options).lines[0]
        assert (shown["columns"][0]["value"] if envelope == "own" else shown["after"]["d:a"]) == plain


def test_value_of_another_type_is_shown_as_bytes_with_a_word(ingest, file: str, folder: Path):
    (folder / file).write_text(FILE.replace("families: {d: {}}, feed", "families: {d: {}}, columns: {d: int64}, feed"))
    shown = ingest("feed", "records", "-f", file, "orders", "--iterator", oldest(ingest, file))
    assert shown.out.splitlines()[1].endswith("  v  (not int64, 1 byte)")
