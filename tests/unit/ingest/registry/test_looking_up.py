"""The driver's half of the schemas: what is looked up, and what is kept."""

import pytest

from ingest.api import Batch
from ingest.api.schemas import SchemaType, UnknownSchemaError, WriterSchema
from ingest.durable.record import UnreadableRecordError
from ingest.registry import looking_up
from ingest.registry.cache import SchemaCache
from ingest.registry.client import RegistryClient, RegistryUnavailableError
from ingest.registry.looking_up import CacheAlone, CachedSource, SchemaLookup
from ingest.registry.message import KnownSchemas, ids_of, packed_ids
from ingest.registry.options import RegistryOptions


class Clock:
    """A clock that the test moves."""

    now_s = 0.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def lookup(registry, tmp_path, clock):
    return lookup_of(registry, tmp_path, clock)


def lookup_of(registry, folder, clock=None):
    client = RegistryClient(RegistryOptions(url=registry.url))
    return SchemaLookup({}, CachedSource(SchemaCache(folder, registry.url), client), clock or Clock())


def prepared(lookup, *ids, batch="1"):
    """What is known after a request for schemas."""
    return KnownSchemas.unpacked(lookup.prepare(Batch(batch, 1, f"{batch}-0"), [packed_ids(ids)] if ids else []))


def avro(schema_id, text):
    return WriterSchema(schema_id, SchemaType.AVRO, text.encode())


def test_request_is_the_sorted_set_of_ids():
    assert ids_of([packed_ids({3, 1}), packed_ids({2, 1})]) == [1, 2, 3]


def test_message_is_read_as_it_was_written():
    known = KnownSchemas(
        {7: WriterSchema(7, SchemaType.PROTOBUF, b"\xff", (b"a", b"\xfe"))}, {8: ("unknown_schema", "none")}, True
    )
    assert KnownSchemas.unpacked(known.packed()) == known
    assert KnownSchemas.unpacked(b"") == KnownSchemas()
    assert isinstance(known.refusal(8), UnknownSchemaError)


def test_nothing_is_looked_up_without_a_request(lookup, registry):
    registry.register("A")
    assert prepared(lookup) == KnownSchemas()
    assert registry.requests == []


def test_schema_is_looked_up_once(lookup, registry, tmp_path):
    registry.register("A")
    assert prepared(lookup, 1).schemas == {1: avro(1, "A")}
    assert prepared(lookup, 1).schemas == prepared(lookup, batch="2").schemas == {1: avro(1, "A")}
    assert registry.requests == ["/schemas/ids/1"]
    registry.broken = 500, b""
    assert prepared(lookup_of(registry, tmp_path), 1).schemas == {1: avro(1, "A")}


def test_schema_is_new_once(registry, tmp_path):
    registry.register("A")
    new = []
    for _ in range(2):
        source = CachedSource(
            SchemaCache(tmp_path, registry.url), RegistryClient(RegistryOptions(url=registry.url)), new.append
        )
        assert prepared(SchemaLookup({}, source), 1).schemas == {1: avro(1, "A")}
    assert new == [avro(1, "A")]


def test_cache_of_another_registry_is_not_used(lookup, registry, tmp_path):
    registry.register("A")
    prepared(lookup, 1)
    assert SchemaCache(tmp_path, registry.url).get(1) == avro(1, "A")
    assert SchemaCache(tmp_path, f"{registry.url}/other").get(1) is None


def test_damaged_file_of_the_cache_is_named(lookup, registry, tmp_path):
    registry.register("A")
    prepared(lookup, 1)
    (file,) = tmp_path.rglob("1.json")
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(UnreadableRecordError, match=r'schema of the registry ".*/1.json".*else remove it'):
        prepared(lookup_of(registry, tmp_path), 1)


def test_registry_that_is_away_keeps_what_was_found(lookup, registry):
    registry.register("A")
    registry.register("B")
    prepared(lookup, 1)
    registry.broken = 503, b""
    with pytest.raises(RegistryUnavailableError):
        prepared(lookup, 1, 2)
    registry.broken = None
    assert set(prepared(lookup, 1, 2).schemas) == {1, 2}
    assert registry.requests == ["/schemas/ids/1", "/schemas/ids/2", "/schemas/ids/2"]


def test_unknown_id_is_looked_up_again_after_a_minute(lookup, registry, clock):
    assert prepared(lookup, 1).refused == {1: ("unknown_schema", "the registry has no schema with the ID 1")}
    registry.register("A")
    clock.now_s = 59.0
    assert prepared(lookup, 1, batch="2").schemas == {}
    clock.now_s = 61.0
    assert prepared(lookup, 1, batch="2").schemas == {}  # the attempts of a micro-batch decide alike
    assert prepared(lookup, batch="3").refused == {}
    assert prepared(lookup, 1, batch="3").schemas == {1: avro(1, "A")}
    assert registry.requests == ["/schemas/ids/1"] * 2


def test_schema_that_cannot_be_used_is_refused(lookup, registry):
    registry.register("<x>", type="XML")
    (code, message) = prepared(lookup, 1).refused[1]
    assert code == "bad_schema"
    assert message == 'the schema with the ID 1 cannot be used: its type "XML" is none of AVRO, PROTOBUF, JSON'


def test_random_ids_are_bounded(lookup, registry):
    registry.register("A", id=2)
    found = prepared(lookup, 2, *range(1_000_000, 1_000_500))
    assert found.is_full
    assert set(found.schemas) == {2}
    assert len(found.refused) == looking_up.MAX_UNKNOWN
    assert len(registry.requests) == 1 + looking_up.MAX_UNKNOWN
    assert found.refusal(5).code == "schema_not_looked_up"
    assert not prepared(lookup, batch="2").is_full


def test_what_is_kept_in_memory_is_bounded(lookup, registry, monkeypatch):
    monkeypatch.setattr(looking_up, "MAX_SCHEMAS", 3)
    for number in range(1, 6):
        registry.register("A", id=number)
        assert set(prepared(lookup, number, batch=str(number)).schemas) == set(
            range(1 if number < 5 else 5, number + 1)
        )
    for number in range(11, 16):
        prepared(lookup, number, batch=str(number))
    assert len(prepared(lookup, batch="16").refused) <= 3


def test_bytes_that_are_sent_are_bounded(lookup, registry, monkeypatch):
    monkeypatch.setattr(looking_up, "_MAX_KEPT_BYTES", 100)
    for number in (1, 2):
        registry.register("A" * 60, id=number)
    assert set(prepared(lookup, 1, batch="1").schemas) == {1}
    assert set(prepared(lookup, 2, batch="2").schemas) == {1, 2}
    assert set(prepared(lookup, batch="3").schemas) == set()


def test_declared_schema_replaces_that_of_the_registry(registry, tmp_path):
    registry.register("A")
    source = CachedSource(SchemaCache(tmp_path, registry.url), RegistryClient(RegistryOptions(url=registry.url)))
    lookup = SchemaLookup({1: avro(1, "B")}, source)
    assert prepared(lookup).schemas == prepared(lookup, 1).schemas == {1: avro(1, "B")}
    assert registry.requests == []


def test_dry_run_uses_the_cache_alone(lookup, registry, tmp_path):
    registry.register("A")
    prepared(lookup, 1)
    dry = SchemaLookup({}, CacheAlone(SchemaCache(tmp_path, registry.url)))
    found = prepared(dry, 1, 2)
    assert found.schemas == {1: avro(1, "A")}
    assert found.refusal(2).code == "schema_not_cached"
    assert prepared(SchemaLookup({}, CacheAlone(None)), 1).refusal(1).code == "schema_not_cached"
