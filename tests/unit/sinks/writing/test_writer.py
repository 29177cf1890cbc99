"""Mappers that return several mutations for an event: a data row and an index row."""

from collections.abc import Sequence

import pytest

from ingest.api import (
    Capabilities,
    Event,
    FamilySpec,
    MappingError,
    Mutation,
    Put,
    Scan,
    TableSpec,
    WriteCounts,
    WriteRejectedError,
)
from sinks.mapping.mapper import Mapped, Mapper, MapperSettings
from sinks.memory import MemoryStore
from sinks.writing.messages import Prepared
from sinks.writing.sending import DirectSender
from tests.support.way import Way, sink_of
from tests.support.without_spark import spec_of

BATCH_MS = 1_000
HBASE_LIKE = Capabilities(written_by_driver=False, creates_families=False, creates_tables=False)


class Indexed(Mapper[MapperSettings]):
    """Writes a row of `data`, and a row of `index` whose key is the value."""

    kind = "indexed"

    def map(self, event: Event, batch_time_ms: int) -> Sequence[Mapped]:
        value = event.attributes["value"]
        if not value:
            return []
        family = event.host.encode() or b"f"
        return [
            ("data", Put(event.body, {b"f:value": value}, batch_time_ms)),
            ("index", Put(value, {family + b":row": event.body}, batch_time_ms)),
        ]


class Refusing(MemoryStore):
    """Refuses rows of the index that begin with `bad`."""

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        bad = [number for number, each in enumerate(mutations) if each.row.startswith(b"bad")]
        if bad and table == "index":
            raise WriteRejectedError("too bad", indexes=bad)
        super().apply(table, mutations)


@pytest.fixture
def store() -> MemoryStore:
    made = Refusing()
    made.open()
    for table in ("data", "index"):
        made.ensure_table(TableSpec(table, (FamilySpec(b"f"),)))
    return made


@pytest.fixture
def make(store):
    def way(prepared: Prepared | None = None, **options: object) -> Way:
        settings = MapperSettings.model_validate(options)
        sink = sink_of([DirectSender(store)], "logs", capabilities=HBASE_LIKE, buffer_bytes=1000, deletes=False)
        made = Way(Indexed(settings), sink)
        made.begin(spec_of(BATCH_MS), prepared or Prepared(), WriteCounts())
        return made

    return way


def event(row: bytes, value: bytes, family: str = "") -> Event:
    return Event(row, {"value": value}, host=family)


def keys(store: MemoryStore) -> dict[str, list[bytes]]:
    return {table: [row.key for row in store.scan(table, Scan())] for table in ("data", "index")}


def test_event_writes_rows_of_two_tables(make, store):
    writer = make()
    assert writer.write(event(b"r1", b"red")) is None
    writer.flush()
    assert keys(store) == {"data": [b"r1"], "index": [b"red"]}


def test_event_without_a_mutation_or_a_reason_is_a_bug_of_the_sink(make, store):
    writer = make()
    with pytest.raises(TypeError, match=r"^map returned \[\]; to drop an event, return Skipped"):
        writer.write(event(b"r1", b""))
    writer.write(event(b"r2", b"blue"))
    writer.flush()
    assert keys(store) == {"data": [b"r2"], "index": [b"blue"]}


def test_event_with_a_failed_mutation_writes_none(make, store):
    writer = make()
    with pytest.raises(MappingError) as caught:
        writer.write(event(b"r1", b"red", "other"))
    assert caught.value.code == "unknown_family"
    writer.write(event(b"r2", b"blue"))
    writer.flush()
    assert keys(store) == {"data": [b"r2"], "index": [b"blue"]}


def test_event_with_a_dropped_mutation_writes_none(make, store):
    writer = make(families={"on_unknown": "drop"})
    assert writer.write(event(b"r1", b"red", "other")) == "unknown_family"
    writer.flush()
    assert keys(store) == {"data": [], "index": []}


def test_event_with_a_rejected_row_writes_none(make, store):
    writer = make()
    writer.write(event(b"r1", b"bad"))
    writer.flush()
    assert list(writer.refused) == [("index", b"bad")]
    again = make(Prepared(refused=writer.refused))
    with pytest.raises(MappingError, match="too bad"):
        again.write(event(b"r3", b"bad"))
    again.write(event(b"r2", b"blue"))
    again.flush()
    assert keys(store) == {"data": [b"r1", b"r2"], "index": [b"blue"]}
