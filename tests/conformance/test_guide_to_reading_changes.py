"""The guide to reading changes: its example runs, and it describes each field of the messages."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.api import Cell, Put, Row
from ingest.clock import now_ms
from sinks.feed.changes import Change, ColumnChange, Op, encoded_change, op_of
from sinks.feed.client import FeedRecord, IteratorType
from sinks.feed.envelope import DebeziumEnvelope, Envelope, OwnEnvelope
from sinks.feed.gaps import Gap
from sinks.feed.keys import FeedKey, FeedSequence
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.feeds import FeedFixture

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "reading-changes.md").read_text("utf-8")
OWN, _, REST = GUIDE.partition("## Messages: own JSON")[2].partition("## Messages: Debezium")
DEBEZIUM = REST.partition("## In Python")[0]
TIME_MS = 1_700_000_000_000
PIPELINE = """
version: 1
stores: {local: {rocksdb: {path: ./store}}}
tables: {orders: {families: {d: {}}, feed: {}}}
pipelines:
  p:
    source: {files: {path: "*.jsonl"}}
    sinks: [{hbase: {table: orders, row_key: {template: "%{host}"}, cells: [{family: d, qualifier: a, value: "1"}]}}]
"""


def records() -> Iterator[FeedRecord]:
    key = FeedKey(1, FeedSequence(TIME_MS, 2, b"row-7"))
    for before in (None, (Cell(b"d", b"status", 1, b"new"),)):
        mutations = [Put(b"row-7", {b"d:status": b"paid"}, TIME_MS)]
        change = Change.decoded(key, encoded_change(op_of(mutations, before), mutations, before))
        yield FeedRecord("9f2c51d0a3b84e67", 1, key.sequence.to_text(), change)


def messages(envelope: Envelope) -> list[dict[str, object]]:
    found = [message for record in records() for message in envelope.of(record)]
    found += envelope.of_row("s", 1, Row(b"r", (Cell(b"d", b"status", 1, b"new"),)))
    found += envelope.of_gap("s", 1, Gap(1, 2))
    found += envelope.of_heartbeat("s", 1, 1)
    return [json.loads(message.value or b"null") for message in found]


def test_record_of_the_guide_is_that_of_the_code() -> None:
    (text,) = re.findall(r"```json\n(.*?)```", OWN, re.DOTALL)
    assert json.loads(text) == messages(OwnEnvelope("orders"))[0]


def test_every_field_is_described() -> None:
    for content in messages(OwnEnvelope("orders")):
        assert [name for name in content if f"`{name}`" not in OWN] == []
    for content in messages(DebeziumEnvelope("orders")):
        source = content["source"]
        assert isinstance(source, dict)
        names = [*content, *(f"source.{name}" for name in source)]
        assert [name for name in names if name != "source" and f"`{name}`" not in DEBEZIUM] == []


@pytest.mark.parametrize("name", [*Op, "GAP", "HEARTBEAT", "READ", *ColumnChange])
def test_every_operation_is_named(name: str) -> None:
    assert f"`{name}`" in OWN


@pytest.mark.parametrize("kind", IteratorType)
def test_every_type_of_iterators_is_described(kind: IteratorType) -> None:
    assert f"`{kind}`" in GUIDE.partition("## Consumer groups")[0]


def test_example_in_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pipeline.yaml").write_text(PIPELINE)
    store = RocksDBStore(RocksDBSettings(path="./store"))
    store.open()
    FeedFixture(store, time_ms=now_ms() - 1000).put(b"a", b"b")
    store.close()
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    exec(code, {})  # noqa: S102 - the example of the guide
    assert capsys.readouterr().out == "b'a' PUT\nb'b' PUT\n"
    exec(code, {})  # noqa: S102 - the example of the guide
    assert capsys.readouterr().out == ""
