"""The scenarios through Spark, from Kafka into RocksDB and into HBase, in one service each."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.files import FileDeadLetters
from tests.support.audit import Table, hbase_table, rocksdb_table
from tests.support.names import unique
from tests.support.scenarios import AT_MS, SCENARIOS, Scenario
from tests.support.servers import HBase, Kafka, Protocol
from tests.support.service import Service

STORE = "target"


@dataclass(frozen=True)
class Run:
    """A service that has run all scenarios, with their topics, groups and tables."""

    service: Service
    topics: Mapping[str, str]
    groups: Mapping[str, str]
    table: Callable[[str], Table]

    def dead_letters(self, scenario: str) -> list[DeadLetter]:
        """Dead letters of a scenario."""
        queue = FileDeadLetters(self.service.folder / "data" / "state", scenario)
        return [entry.dead_letter for entry in queue.entries()]


@pytest.fixture(scope="module")
def rocksdb_run(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("scenarios")
    store = folder / "store"
    with _service(kafka, folder, {"rocksdb": {"path": str(store)}}) as (service, topics, groups):
        assert service.run_once() == 0, service.last_lines()
        yield Run(service, topics, groups, lambda name: rocksdb_table(store, name))


@pytest.fixture(scope="module")
def thrift_run(kafka: Kafka, hbase: HBase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with _hbase_run(kafka, hbase, "thrift", tmp_path_factory.mktemp("scenarios")) as run:
        yield run


@pytest.fixture(scope="module")
def rpc_run(kafka: Kafka, hbase: HBase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with _hbase_run(kafka, hbase, "rpc", tmp_path_factory.mktemp("scenarios")) as run:
        yield run


@contextmanager
def _hbase_run(kafka: Kafka, hbase: HBase, protocol: Protocol, folder: Path) -> Iterator[Run]:
    with _service(kafka, folder, {"hbase": hbase.store_options(protocol)}) as (service, topics, groups):
        applied = service.command("table apply")
        assert applied.returncode == 0, applied.stderr
        assert service.run_once() == 0, service.last_lines()
        yield Run(service, topics, groups, lambda name: hbase_table(hbase, name))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
@pytest.mark.parametrize(
    "store", [pytest.param("rocksdb", marks=pytest.mark.slow), "thrift", pytest.param("rpc", marks=pytest.mark.slow)]
)
def test_scenario_through_spark(store: str, scenario: Scenario, kafka: Kafka, request: pytest.FixtureRequest) -> None:
    run: Run = request.getfixturevalue(f"{store}_run")
    found = run.table(scenario.name)
    rows = {key: {b"%s:%s" % cell[:2]: cell.value for cell in cells} for key, cells in found.items()}
    assert rows == scenario.rows
    checkpoint = run.service.checkpoint(scenario.name)
    times = {cell.timestamp_ms for cells in found.values() for cell in cells}
    assert checkpoint.commits() == [0]
    assert times <= {checkpoint.time_ms(0)}

    dead_letters = run.dead_letters(scenario.name)
    assert {each.record.offset: each.code for each in dead_letters} == scenario.letters
    assert len(dead_letters) == len(scenario.letters)
    assert {each.record.offset: each.component for each in dead_letters}.items() >= scenario.refused_by.items()
    assert {each.batch_time_ms for each in dead_letters} <= {checkpoint.time_ms(0)}
    for each in dead_letters:
        given, record = scenario.records[each.record.offset], each.record
        assert (record.topic, record.timestamp_ms) == (run.topics[scenario.name], AT_MS)
        assert (_text(record.key), _text(record.value)) == (_text(given.key), _text(given.value))
        assert list(record.headers) == list(given.headers)

    topic = run.topics[scenario.name]
    assert kafka.committed(run.groups[scenario.name], topic) == kafka.ends(topic) == {0: len(scenario.records)}


@contextmanager
def _service(
    kafka: Kafka, folder: Path, store: Mapping[str, Any]
) -> Iterator[tuple[Service, Mapping[str, str], Mapping[str, str]]]:
    """A service with a pipeline for each scenario, whose records are in topics; its topics and groups."""
    topics = {scenario.name: kafka.create_topic("scenario") for scenario in SCENARIOS}
    groups = {scenario.name: unique("scenario") for scenario in SCENARIOS}
    pipelines = {}
    for scenario in SCENARIOS:
        topic = topics[scenario.name]
        kafka.produce(topic, scenario.records)
        source = {"brokers": kafka.brokers, "topics": [topic], "group": groups[scenario.name]}
        pipelines[scenario.name] = scenario.pipeline_of(source, STORE)
    content = {
        "stores": {STORE: store},
        "tables": {scenario.name: scenario.table(STORE) for scenario in SCENARIOS},
        "pipelines": pipelines,
    }
    with Service(folder, content) as service:
        yield service, topics, groups


def _text(content: bytes | str | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content
