"""HBase becomes unavailable under load: the pipeline is blocked, can be stopped, and loses nothing."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from tests.support import ticks
from tests.support.audit import assert_holds, assert_same_table, hbase_older_versions, hbase_table, table_of
from tests.support.names import unique
from tests.support.protocols import thrift_only
from tests.support.servers import PROTOCOLS, HBase, Kafka, Protocol
from tests.support.service import Service
from tests.support.ticks import Ticks
from tests.support.waiting import reached

PIPELINE = "ticks"
BLOCKED_WITHIN_S = 15.0
STOPS_WITHIN_S = 15.0


class Load:
    """A service that writes ticks into HBase."""

    def __init__(self, kafka: Kafka, hbase: HBase, topic: Ticks, folder: Path, protocol: Protocol) -> None:
        self._kafka = kafka
        self._hbase = hbase
        self._ticks = topic
        self._group = unique("stopped")
        self._table = unique("stopped")
        source = {"group": self._group, "max_events_per_batch": 5_000}
        content = {
            "stores": {"cluster": {"hbase": hbase.store_options(protocol)}},
            "tables": {self._table: ticks.table("cluster")},
            "pipelines": {PIPELINE: ticks.pipeline(kafka, topic.topic, "cluster", self._table, **source)},
        }
        self.service = Service(folder, content)
        self.checkpoint = self.service.checkpoint(PIPELINE)

    def begin(self) -> None:
        """Start and wait for the first batches."""
        made = self.service.ingest("table apply")
        assert made.returncode == 0, made.stderr
        self.service.start()
        self.service.wait_for_batches(3, PIPELINE)
        self.service.wait_for_state("running", PIPELINE)

    def assert_blocked_soon(self) -> None:
        """It reports `blocked` within 15 s, and stays alive."""
        self.service.wait_for_state("blocked", PIPELINE, BLOCKED_WITHIN_S)
        assert self.service.get("/readyz")[0] == 503
        assert self.service.get("/livez")[0] == 200
        assert self.service.metric("attr2hbase_pipeline_state", pipeline=PIPELINE, state="blocked") == 1

    def assert_stays_blocked(self, seconds: float) -> None:
        """It stays blocked and acknowledges nothing."""
        commits = self.checkpoint.commits()
        reached(lambda: not self.service.is_running, seconds)  # waits for the whole time
        assert self.service.is_running, self.service.last_lines()
        assert self.checkpoint.commits() == commits
        assert self.service.states() == {PIPELINE: "blocked"}

    def assert_ends_uncommitted(self) -> None:
        """SIGTERM stops it in time, and the batch stays unacknowledged."""
        commits = self.checkpoint.commits()
        assert self.service.stop(STOPS_WITHIN_S) == 0, self.service.last_lines()
        assert self.checkpoint.commits() == commits
        assert self.checkpoint.is_inside_a_batch()
        self.service.wait_until_gone()

    def assert_acknowledged_is_stored(self) -> None:
        """Everything that the checkpoint acknowledges is stored."""
        expected = table_of(self._ticks.expected(self.checkpoint, "t"), "t")
        assert_holds(expected, hbase_table(self._hbase, self._table))

    def assert_completes(self) -> None:
        """It processes all events without loss or duplicates, and the group has no lag."""
        self.service.wait_for_offsets(self._ticks.ends, PIPELINE, self._ticks.topic)
        self.service.wait_for_state("running", PIPELINE)
        assert self.service.stop() == 0, self.service.last_lines()
        assert self._kafka.committed(self._group, self._ticks.topic) == self._ticks.ends
        found = hbase_table(self._hbase, self._table)
        assert len(found) == self._ticks.count
        assert_same_table(table_of(self._ticks.expected(self.checkpoint, "t"), "t"), found)
        times = [self.checkpoint.time_ms(number) for number in self.checkpoint.commits()]
        assert hbase_older_versions(self._hbase, self._table, times, found) == {}


@pytest.fixture(scope="module")
def topic(kafka: Kafka) -> Ticks:
    return Ticks.produced(kafka, 75_000)


@pytest.fixture
def load(kafka: Kafka, hbase: HBase, topic: Ticks, tmp_path: Path, protocol: Protocol) -> Iterator[Load]:
    target = Load(kafka, hbase, topic, tmp_path, protocol)
    with target.service:
        yield target


@pytest.mark.slow
def test_blocked_service_can_be_stopped_and_resumes_at_the_next_start(load: Load, hbase: HBase) -> None:
    load.begin()
    hbase.stop("hbase")
    load.assert_blocked_soon()
    load.assert_ends_uncommitted()
    hbase.start()
    load.assert_acknowledged_is_stored()
    load.service.start()
    load.assert_completes()


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["rpc"])
@pytest.mark.one_protocol("a Thrift server waits for minutes")
def test_pipeline_resumes_after_a_frozen_region_server(load: Load, hbase: HBase) -> None:
    load.begin()
    hbase.pause("hbase")
    load.assert_blocked_soon()
    hbase.kill("hbase")  # it would exit by itself, as it has lost its session in ZooKeeper
    hbase.start()
    load.assert_completes()


@pytest.mark.slow
@thrift_only("a Thrift server is frozen")
def test_pipeline_resumes_after_a_frozen_thrift_server(load: Load, hbase: HBase) -> None:
    load.begin()
    hbase.pause("thrift")
    load.assert_blocked_soon()
    hbase.resume("thrift")
    load.assert_completes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "fault"),
    [*product(PROTOCOLS, ("stopped", "killed")), ("thrift", "thrift_killed"), ("thrift", "thrift_frozen")],
)
def test_pipeline_resumes_after_an_outage_of_hbase(load: Load, hbase: HBase, fault: str) -> None:
    load.begin()
    match fault:
        case "stopped":
            hbase.stop("hbase")
        case "killed":
            hbase.kill("hbase")
        case "thrift_killed":
            hbase.kill("thrift")
        case "thrift_frozen":
            # not HBase itself, which would lose its session in ZooKeeper and exit
            hbase.pause("thrift")
    load.assert_blocked_soon()
    load.assert_stays_blocked(45.0)
    hbase.start()
    load.assert_completes()
