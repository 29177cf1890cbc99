"""F12: events that can never be written, among many that can. F32: a batch of which HBase refuses every row."""

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import thriftpy2
from thriftpy2.rpc import client_context

from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.files import FileDeadLetters
from tests.support.names import unique
from tests.support.protocols import SLOW_WITH_RPC
from tests.support.proxy import Proxy
from tests.support.servers import Given, HBase, Kafka, Protocol
from tests.support.service import Service

pytestmark = SLOW_WITH_RPC

COUNT = 1_000
POISON, REFUSED = "poison", "refused"
SERVER_LIMIT = 2_000
OUR_LIMIT = 5_000
OLD, NEW = b"old", b"new"

TABLES_WITH_VALUES = """
struct TTableName { 1: optional binary ns, 2: required binary qualifier }
struct TColumnFamilyDescriptor { 1: required binary name }
struct TTableDescriptor {
  1: required TTableName tableName,
  2: optional list<TColumnFamilyDescriptor> columns,
  3: optional map<binary, binary> attributes
}
service TableService { void createTable(1: required TTableDescriptor desc, 2: list<binary> splitKeys) }
"""

BAD = {
    100: ("no_row_key", [("2hb_cf:v", b"1")]),
    200: ("empty_row_key", [("2hb_", b""), ("2hb_cf:v", b"1")]),
    300: ("row_key_too_long", [("2hb_", b"k" * 32_768), ("2hb_cf:v", b"1")]),
    400: ("unknown_family", [("2hb_", b"r400"), ("2hb_cf:v", OLD), ("2hb_web:path", b"/")]),
    500: ("family_not_allowed", [("2hb_", b"r501"), ("2hb_cf:v", OLD), ("2hb_raw:line", b"whole")]),
    600: ("value_too_large", [("2hb_", b"r600"), ("2hb_cf:v", b"x" * (OUR_LIMIT + 1))]),
    700: ("write_rejected", [("2hb_", b"r700"), ("2hb_cf:v", b"x" * (SERVER_LIMIT + 1))]),
}
STRICT = {"families": {"deny": ["raw"], "on_unknown": "error"}, "columns": {"max_value_bytes": f"{OUR_LIMIT}B"}}

BATCH, KEYLESS = 400, 40
"""Records of a micro-batch of rejected rows; of the batch before it, these have no row key and are dropped."""
SMALL_CALLS = {"write_buffer_size": "32KiB"}  # 15 of its rows


class Streams:
    """
    The two topics, their tables, and the service that reads them.

    Attributes:
        proxy: between HBase and the pipeline whose rows are refused; it counts the calls.
    """

    def __init__(self, kafka: Kafka, hbase: HBase, protocol: Protocol, proxy: Proxy, folder: Path) -> None:
        self.kafka = kafka
        self.hbase = hbase
        self.protocol = protocol
        self.proxy = proxy
        self.topics = {name: kafka.create_topic(name) for name in (POISON, REFUSED)}
        self.tables = {name: unique(name) for name in (POISON, REFUSED)}
        for table in self.tables.values():
            create_table_with_limit(hbase, table, ["cf", "raw"], SERVER_LIMIT)
        self.service = Service(folder, {})

    def write(self, *, allowed: str, **sink: Any) -> None:
        """
        Write the pipeline file.

        Args:
            allowed: share of records that may fail where rows are refused.
            sink: options where a few events are bad.
        """
        ports = {POISON: None, REFUSED: self.proxy.port}
        stores = {
            name: {"hbase": self.hbase.store_options(self.protocol, thrift2=True, port=port)}
            for name, port in ports.items()
        }
        refused = self._pipeline(REFUSED, {"max_events_per_batch": BATCH}, on_missing_key="drop", **SMALL_CALLS)
        refused["error_budget"] = {"share": allowed, "min_events": BATCH}
        pipelines = {POISON: self._pipeline(POISON, {}, on_missing_key="error", **sink), REFUSED: refused}
        self.service.write({"stores": stores, "pipelines": pipelines})

    def _pipeline(self, name: str, source: dict[str, Any], **sink: Any) -> dict[str, Any]:
        topic = self.topics[name]
        return {
            "source": {"kafka": {"brokers": self.kafka.brokers, "topics": [topic], "group": topic, **source}},
            "sinks": [{"attr2hbase": {"store": name, "table": self.tables[name], **sink}}],
        }

    def rows(self, pipeline: str) -> dict[bytes, dict[bytes, tuple[bytes, int]]]:
        """Row key -> column -> value and time."""
        return self.hbase.rows(self.tables[pipeline])

    def letters(self, pipeline: str) -> dict[int, DeadLetter]:
        """Offset -> dead letter; a record has one at most."""
        entries = list(FileDeadLetters(self.service.folder / "data" / "state", pipeline).entries())
        letters = {entry.dead_letter.record.offset: entry.dead_letter for entry in entries}
        assert len(letters) == len(entries)
        return letters

    def acknowledged(self, pipeline: str) -> int:
        """Offset before which everything is acknowledged."""
        return self.service.checkpoint(pipeline).acknowledged(self.topics[pipeline]).get(0, 0)


@pytest.fixture(scope="module")
def streams(
    kafka: Kafka, hbase: HBase, protocol: Protocol, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Streams]:
    """A service that has run to the end of one topic, and into the first refused batch of the other."""
    with hbase.proxy(protocol) as proxy:
        made = Streams(kafka, hbase, protocol, proxy, tmp_path_factory.mktemp("poison"))
        kafka.produce(made.topics[POISON], [Given("", headers=headers_of(number)) for number in range(COUNT)])
        kafka.produce(made.topics[REFUSED], [Given("", headers=soon_refused(number)) for number in range(2 * BATCH)])
        made.write(allowed="5%", **STRICT)
        with made.service as service:
            assert service.run_once() == 1, service.last_lines()
            yield made


@pytest.fixture(scope="module")
def calls_of_first_run(streams: Streams) -> int:
    """Calls of the pipeline whose rows are refused; counted before anything runs again."""
    return streams.proxy.counts.exchanges


@pytest.fixture(scope="module")
def corrected(streams: Streams, calls_of_first_run: int) -> Streams:
    """The service after it ran again: families may be created, and every row may be refused."""
    # a newer value of a row that failed, in a later batch; row r501 has one in the batch that failed
    streams.kafka.produce(streams.topics[POISON], [Given("", headers=[("2hb_", b"r400"), ("2hb_cf:v", NEW)])])
    streams.write(allowed="100%", families={"on_unknown": "create"})
    # of the events of "refused" none is stored
    assert streams.service.run_once() == 1, streams.service.last_lines()
    return streams


def test_seven_bad_events_of_a_thousand(streams: Streams) -> None:
    """Seven kinds of bad: six meet our own checks, the last one only HBase knows, and says not which row it is."""
    assert streams.service.checkpoint(POISON).commits() == [0], "all in one batch"
    found = streams.rows(POISON)
    assert len(found) == COUNT - len(BAD)
    assert found.keys() == {b"r%d" % number for number in range(COUNT) if number not in BAD}
    letters = streams.letters(POISON)
    assert {offset: letter.code for offset, letter in letters.items()} == {
        offset: code for offset, (code, _) in BAD.items()
    }
    assert f"exceeds limit of {SERVER_LIMIT} bytes" in letters[700].message


def test_error_budget_stops_a_batch_of_rejected_rows_before_each_has_cost_a_call(
    streams: Streams, calls_of_first_run: int
) -> None:
    assert calls_of_first_run < BATCH / 2
    failed = {
        line["pipeline"]: line["reason"] for line in streams.service.lines() if line.get("message") == "pipeline failed"
    }
    assert failed.keys() == {REFUSED}
    assert f"exceeds limit of {SERVER_LIMIT} bytes" in failed[REFUSED]
    assert streams.acknowledged(REFUSED) == BATCH
    assert len(streams.rows(REFUSED)) == BATCH - KEYLESS
    assert streams.letters(REFUSED) == {}


def test_corrected_events_are_stored_by_a_replay(corrected: Streams) -> None:
    service = corrected.service
    replayed = service.ingest("dead-letters replay", "--pipeline", POISON, "--output", "json")
    assert replayed.returncode == 1, replayed.stderr
    report = json.loads(replayed.stdout)
    assert (report["selected"], report["replayed"]) == (7, 2)
    assert report["failed_again"] == {
        "no_row_key": 1,
        "empty_row_key": 1,
        "row_key_too_long": 1,
        "write_rejected": 2,
    }

    batch_ms, later_ms = (service.checkpoint(POISON).time_ms(number) for number in (0, 1))
    found = corrected.rows(POISON)
    assert len(found) == COUNT - len(BAD) + 1
    assert found[b"r400"] == {b"cf:v": (NEW, later_ms), b"web:path": (b"/", batch_ms - 1)}
    assert found[b"r501"] == {b"cf:v": (b"501", batch_ms), b"raw:line": (b"whole", batch_ms - 1)}


def test_rejected_rows_are_dead_letters_where_the_error_budget_allows_it(
    corrected: Streams, calls_of_first_run: int
) -> None:
    """Without a budget that stops it, a rejected row costs three calls: two to find it, one to know its event."""
    assert corrected.proxy.counts.exchanges - calls_of_first_run > 2.5 * BATCH
    assert corrected.acknowledged(REFUSED) == 2 * BATCH
    durable = [
        line
        for line in corrected.service.lines()
        if line.get("message") == "batch is durable" and line["pipeline"] == REFUSED
    ]
    counts = {name: sum(line[name] for line in durable) for name in ("read", "stored", "dropped", "dead_lettered")}
    assert counts == {"read": 2 * BATCH, "stored": BATCH - KEYLESS, "dropped": KEYLESS, "dead_lettered": BATCH}
    assert corrected.rows(REFUSED).keys() == {b"r%d" % number for number in range(KEYLESS, BATCH)}
    letters = corrected.letters(REFUSED)
    assert letters.keys() == set(range(BATCH, 2 * BATCH))
    assert {letter.code for letter in letters.values()} == {"write_rejected"}


def headers_of(number: int) -> Sequence[tuple[str, bytes]]:
    if number in BAD:
        return BAD[number][1]
    return [("2hb_", b"r%d" % number), ("2hb_cf:v", b"%d" % number)]


def soon_refused(number: int) -> Sequence[tuple[str, bytes]]:
    """A batch of rows that HBase accepts, some without a key; then one of which it refuses every row."""
    value = b"v" if number < BATCH else b"x" * (SERVER_LIMIT + 1)
    key = [] if number < KEYLESS else [("2hb_", b"r%d" % number)]
    return [*key, ("2hb_cf:v", value)]


def create_table_with_limit(hbase: HBase, table: str, families: Sequence[str], limit: int) -> None:
    """Create a table with its own limit of the cell size."""
    interface = thriftpy2.load_fp(io.StringIO(TABLES_WITH_VALUES), module_name="tables_with_values_thrift")
    descriptor = interface.TTableDescriptor(
        tableName=interface.TTableName(qualifier=table.encode()),
        columns=[interface.TColumnFamilyDescriptor(name=family.encode()) for family in families],
        attributes={b"hbase.server.keyvalue.maxsize": str(limit).encode()},
    )
    with client_context(interface.TableService, hbase.host, hbase.thrift2_port, socket_timeout=60_000) as client:
        client.createTable(descriptor, [])
