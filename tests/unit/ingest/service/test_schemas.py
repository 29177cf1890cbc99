"""A pipeline whose values have the schemas of a registry, from records to rows, without Spark."""

import io
import json
from contextlib import ExitStack, closing
from pathlib import Path

import fastavro
import pytest
import yaml
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from ingest.api import Cell, Record, Scan
from ingest.api.notation import to_notation
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.dead_letters.envelope import dead_letters_of
from ingest.dry_run.pipeline import DryRun
from ingest.pipeline.in_process import InProcessHost
from ingest.pipeline.loop import MicroBatch, run_until_durable
from ingest.plan.assemble import live_task, plan_of
from ingest.registry.client import RegistryUnavailableError
from ingest.registry.protobuf import descriptors
from ingest.service.committers import committers_of
from ingest.service.stores import SharedStores
from tests.support.registry import Registry, serving_registry, with_id

V1 = {"type": "record", "name": "User", "fields": [{"name": "id", "type": "int"}]}
V2 = {**V1, "fields": [*V1["fields"], {"name": "name", "type": "string"}]}
V3 = {**V1, "fields": [{"name": "name", "type": ["null", "string"]}, {"name": "id", "type": "long"}]}
KEY = {"type": "record", "name": "Key", "fields": [{"name": "tenant", "type": "string"}]}


def avro(schema, schema_id, content):
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), content)
    return with_id(schema_id, stream.getvalue())


def configuration_of(folder: Path, registry: dict, *decorators: dict) -> Configuration:
    content = {
        "version": 1,
        "registry": registry,
        "stores": {"s": {"rocksdb": {"path": str(folder / "store")}}},
        "tables": {"t": {"families": {"f": {}}}},
        "state_dir": str(folder / "state"),
        "pipelines": {
            "p": {
                "source": {"files": {"path": "./in"}},
                "decorators": [*decorators, {"value": {"attribute": "2hb_", "value": "%{offset}"}}],
                "sinks": [{"attr2hbase": {"table": "t"}}],
            }
        },
    }
    file = folder / "p.yaml"
    file.write_text(yaml.safe_dump(content))
    return load(file, env={}, lookup=Catalog())


AVRO = {"avro": {"header": "confluent", "prefix": "2hb_f:"}}


def join(cell: Cell) -> str:
    return f"{cell.family.decode()}:{cell.qualifier.decode()}"


class Run:
    """A start of the pipeline: its worker and its driver, whose memory ends with it."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._plan = plan_of(configuration, configuration.pipelines["p"], Catalog())
        self._task = live_task(self._plan)
        self.attempts = 0

    def batch(self, time_ms: int, *values: bytes | tuple[bytes, bytes]) -> tuple[dict[bytes, dict[str, bytes]], list]:
        """Run a micro-batch; returns the rows of the table, and code and offset of each dead letter."""
        pairs = [value if isinstance(value, tuple) else (None, value) for value in values]
        records = [Record("in/a", 0, offset, key, value, 500) for offset, (key, value) in enumerate(pairs)]

        def attempted(_counts: object) -> None:
            self.attempts += 1

        with ExitStack() as opened:
            stores = SharedStores(self._configuration, [self._plan]).used_by(self._plan, opened)
            committers = committers_of(self._configuration, self._plan, stores, check_owner=lambda: None)
            for committer in committers.values():
                committer.recover()
            _, letters = run_until_durable(
                MicroBatch(str(time_ms), time_ms, "1"),
                committers,
                InProcessHost(self._task, records),
                on_attempt=attempted,
            )
        with closing(Catalog().load("stores", "rocksdb")(self._configuration.stores["s"].settings)) as store:
            store.open()
            rows = {row.key: {join(cell): cell.value for cell in row.cells} for row in store.scan("t", Scan())}
        return rows, [(each.code, each.record.offset) for each in dead_letters_of(letters)]


@pytest.fixture
def registry():
    with serving_registry(Registry()) as served:
        yield served


def test_versions_of_a_schema_in_one_micro_batch(registry, tmp_path):
    ids = [registry.register(version) for version in (V1, V2, V3)]
    run = Run(configuration_of(tmp_path, {"url": registry.url}, AVRO))
    values = [
        avro(V2, ids[1], {"id": 1, "name": "ann"}),
        avro(V1, ids[0], {"id": 2}),
        avro(V3, ids[2], {"id": 2**40, "name": None}),
        avro(V1, ids[0], {"id": 3}),
    ]
    rows = {
        b"0": {"f:id": b"1", "f:name": b"ann"},
        b"1": {"f:id": b"2"},
        b"2": {"f:id": b"1099511627776"},
        b"3": {"f:id": b"3"},
    }
    assert run.batch(1_000, *values) == (rows, [])
    assert run.attempts == 2  # one finds all that it lacks
    assert run.batch(2_000, *values) == (rows, [])
    assert sorted(registry.requests) == [f"/schemas/ids/{each}" for each in ids]


def test_registry_that_is_away_blocks_and_is_not_needed_later(registry, tmp_path):
    schema_id = registry.register(V1)
    configuration = configuration_of(tmp_path, {"url": registry.url}, AVRO)
    value = avro(V1, schema_id, {"id": 7})
    registry.broken = 503, b""
    with pytest.raises(RegistryUnavailableError):  # a service waits, a user sees the reason
        Run(configuration).batch(1_000, value)
    registry.broken = None
    expected = {b"0": {"f:id": b"7"}}, []
    assert Run(configuration).batch(1_000, value) == expected
    registry.broken = 503, b""
    assert Run(configuration).batch(1_000, value) == expected  # a restart, or a replay


def test_unknown_schemas_are_dead_letters(registry, tmp_path):
    registry.register(V1)
    registry.register("{}", type="JSON")
    registry.register({"type": "record", "name": "R", "fields": [{"name": "x", "type": "absent"}]})
    run = Run(configuration_of(tmp_path, {"url": registry.url}, AVRO))
    values = [avro(V1, schema_id, {"id": 7}) for schema_id in (1, 2, 3, 4, 2**31)]
    rows, letters = run.batch(1_000, *values, b"{}")
    assert rows == {b"0": {"f:id": b"7"}}
    assert letters == [
        ("bad_schema", 1),
        ("bad_schema", 2),
        ("unknown_schema", 3),
        ("unknown_schema", 4),
        ("bad_avro", 5),
    ]
    assert "/schemas/ids/2147483648" not in registry.requests


def test_random_ids_end_after_one_more_attempt(registry, tmp_path):
    registry.register(V1)
    run = Run(configuration_of(tmp_path, {"url": registry.url}, AVRO))
    values = [avro(V1, 1_000 + number, {"id": 7}) for number in range(1_200)]
    rows, letters = run.batch(1_000, *values, avro(V1, 1, {"id": 7}))
    assert run.attempts == 2
    assert len(registry.requests) == 100
    assert {code for code, _ in letters} == {"unknown_schema", "schema_not_looked_up"}
    assert (rows, len(letters)) == ({}, 1_201)
    rows, letters = run.batch(2_000, avro(V1, 1, {"id": 7}))
    assert (rows, letters) == ({b"0": {"f:id": b"7"}}, [])


def test_keys_and_values(registry, tmp_path):
    registry.register(KEY, subject="t-key")
    registry.register(V1)
    key = {"value": {"attribute": "k", "value": "%{key}"}}
    of_key = {"avro": {"header": "confluent", "source": "k", "prefix": "2hb_f:"}}
    drop = {"remove": {"attributes": ["k"]}}
    run = Run(configuration_of(tmp_path, {"url": registry.url}, key, of_key, AVRO, drop))
    pair = (avro(KEY, 1, {"tenant": "acme"}), avro(V1, 2, {"id": 7}))
    assert run.batch(1_000, pair) == ({b"0": {"f:tenant": b"acme", "f:id": b"7"}}, [])


def test_types_of_references(registry, tmp_path):
    address = {"type": "record", "name": "a.Address", "fields": [{"name": "city", "type": "string"}]}
    user = {
        "type": "record",
        "name": "User",
        "fields": [{"name": "home", "type": "a.Address"}, {"name": "work", "type": ["null", "a.Address"]}],
    }
    registry.register(address, subject="address")
    schema_id = registry.register(user, references=[("a.Address", "address", 1)])
    whole = {**user, "fields": [{"name": "home", "type": address}, user["fields"][1]]}
    value = avro(whole, schema_id, {"home": {"city": "Rome"}, "work": {"city": "Oslo"}})
    run = Run(configuration_of(tmp_path, {"url": registry.url}, AVRO))
    assert run.batch(1_000, value) == ({b"0": {"f:home.city": b"Rome", "f:work.city": b"Oslo"}}, [])


MONEY = 'syntax = "proto3"; package common; message Money { int64 cents = 1; }'
SHOP = """syntax = "proto3"; package shop; import "common/money.proto";
message Order { common.Money price = 1; message Line { string item = 1; } }
message Refund { int32 code = 1; }
"""


def test_protobuf_with_references(registry, tmp_path):
    registry.register(MONEY, subject="money", type="PROTOBUF")
    schema_id = registry.register(SHOP, type="PROTOBUF", references=[("common/money.proto", "money", 1)])
    files = descriptor_pb2.FileDescriptorSet.FromString(
        descriptors("shop.proto", SHOP.encode(), {"common/money.proto": MONEY.encode()})
    ).file
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(file)

    def message(name, **fields):
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))(**fields).SerializeToString()

    values = [
        with_id(schema_id, b"\0" + message("shop.Order", price={"cents": 250})),
        with_id(schema_id, b"\4\0\0" + message("shop.Order.Line", item="tea")),
        with_id(schema_id, b"\2\2" + message("shop.Refund", code=9)),
        with_id(schema_id, b"\2\4"),
        with_id(schema_id, b"\4\0\1"),
    ]
    run = Run(
        configuration_of(tmp_path, {"url": registry.url}, {"protobuf": {"header": "confluent", "prefix": "2hb_f:"}})
    )
    rows, letters = run.batch(1_000, *values)
    assert rows == {b"0": {"f:price.cents": b"250"}, b"1": {"f:item": b"tea"}, b"2": {"f:code": b"9"}}
    assert letters == [("bad_protobuf", 3), ("bad_protobuf", 4)]


def outputs_of(configuration: Configuration, value: bytes) -> list[str]:
    """What a dry run shows of an event."""
    plan = plan_of(configuration, configuration.pipelines["p"], Catalog())
    outputs = DryRun(plan, configuration.tables.values()).run([{"body": to_notation(value)}])
    return [output.to_json().decode() for output in outputs]


def test_dry_run_uses_the_cache_and_the_schemas_of_the_file(registry, tmp_path):
    schema_id = registry.register(V1)
    configuration = configuration_of(tmp_path, {"url": registry.url}, AVRO)
    value = avro(V1, schema_id, {"id": 7})
    (before,) = outputs_of(configuration, value)
    assert "schema_not_cached" in before
    assert registry.requests == []
    Run(configuration).batch(1_000, value)
    registry.requests.clear()
    (after,) = outputs_of(configuration, value)
    assert '["f","id","7"]' in after
    (tmp_path / "user.avsc").write_text(json.dumps(V1))
    declared = {"schemas": {"5": {"avro": str(tmp_path / "user.avsc")}}}
    (tmp_path / "other").mkdir()
    (shown,) = outputs_of(configuration_of(tmp_path / "other", declared, AVRO), with_id(5, value[5:]))
    assert '["f","id","7"]' in shown
    assert registry.requests == []


def test_schemas_of_the_file_need_no_registry(tmp_path):
    (tmp_path / "user.avsc").write_text(json.dumps(V1))
    declared = {"schemas": {"5": {"avro": str(tmp_path / "user.avsc")}}}
    run = Run(configuration_of(tmp_path, declared, AVRO))
    rows, letters = run.batch(1_000, avro(V1, 5, {"id": 7}), avro(V1, 6, {"id": 7}))
    assert (rows, letters) == ({b"0": {"f:id": b"7"}}, [("unknown_schema", 1)])
