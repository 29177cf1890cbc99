"""What the events of one record may write."""

import pytest

from ingest.api import Capabilities, Event, FamilySpec, MappingError, Origin, Put, Scan, TableSpec, WriteCounts
from sinks.folding.sizes import CELL_COST_BYTES, ROW_COST_BYTES
from sinks.mapping.mapper import Mapper, MapperSettings
from sinks.memory import MemoryStore
from sinks.writing.messages import Prepared
from sinks.writing.record_bytes import MAX_RECORD_BYTES, max_record_bytes
from sinks.writing.sending import DirectSender
from tests.support.way import Way, sink_of
from tests.support.without_spark import spec_of

BATCH_MS = 1_000
VALUE = b"v" * 1_000
PUT_BYTES = ROW_COST_BYTES + CELL_COST_BYTES + len("r00f:v") + len(VALUE)


class Twice(Mapper[MapperSettings]):
    """Writes two rows of an event: one here, one there."""

    kind = "twice"

    def map(self, event, batch_time_ms):
        return [(table, Put(event.body, {b"f:v": VALUE}, batch_time_ms)) for table in ("here", "there")]


@pytest.fixture
def store():
    made = MemoryStore()
    made.open()
    for table in ("here", "there"):
        made.ensure_table(TableSpec(table, (FamilySpec(b"f"),)))
    return made


@pytest.fixture
def way(store):
    sink = sink_of(
        [DirectSender(store)],
        "logs",
        capabilities=Capabilities(written_by_driver=False, creates_families=False, creates_tables=False),
        buffer_bytes=1_000,
        deletes=False,
        max_record_bytes=6 * PUT_BYTES,
    )
    return Way(Twice(MapperSettings()), sink)


def write(way, offset, fan_outs):
    """The codes of the events of a record."""
    codes = []
    for fan_out in fan_outs:
        try:
            way.write(Event(b"r%d%d" % (offset, fan_out), {}, origin=Origin("t", 0, offset, fan_out)))
        except MappingError as error:
            codes.append(error.code)
        else:
            codes.append("")
    return codes


def begin(way):
    way.begin(spec_of(BATCH_MS), Prepared(), WriteCounts())


def test_events_beyond_the_limit_fail_and_write_nothing(way, store):
    begin(way)
    assert write(way, 1, range(6)) == ["", "", "", "", "too_large", "too_large"]
    assert write(way, 2, range(4)) == [""] * 4
    way.flush()
    expected = [b"r%d%d" % (offset, number) for offset in (1, 2) for number in range(4)]
    assert [row.key for row in store.scan("there", Scan())] == expected
    assert [row.key for row in store.scan("here", Scan())] == expected


def test_a_batch_that_runs_again_starts_from_zero(way):
    for _ in range(2):
        begin(way)
        assert write(way, 1, range(1, 4)) == [""] * 3


def test_events_without_a_fan_out_are_not_counted(way):
    begin(way)
    assert write(way, 1, [0] * 10) == [""] * 10


def test_limit_follows_the_source():
    assert max_record_bytes(1) == max_record_bytes(16 << 20) == MAX_RECORD_BYTES
    assert max_record_bytes(32 << 20) == 512 << 20
