"""The tests that use HBase are those that the rule of their text finds; a worker runs whole files."""

from collections import deque
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.scheduling import HBASE, FilesByServer, uses_hbase

TESTS = Path(__file__).resolve().parents[2]


class Config:
    """Of a run with two workers."""

    rootpath = TESTS.parent
    option = SimpleNamespace(loadscopereorder=False)

    def getvalue(self, name: str) -> object:
        return {"tx": ["popen", "popen"]}[name]


class Worker:
    """Runs tests by their numbers; at the end it may have been told to shut down."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.waiting: deque[int] = deque()
        self.ran: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.waiting += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def test_files_with_hbase_are_one_unit_of_work_and_others_are_their_own(config: Config) -> None:
    scheduling = FilesByServer(config)
    units = {
        name: scheduling._split_scope(f"tests/{name}.py::TestIt::test_it[a::b]")
        for name in ("integration/test_hbase_store", "fault/test_poison", "integration/test_spark_source")
    }
    assert set(units.values()) == {HBASE}
    alone = "tests/integration/test_kafka_clients.py"
    assert scheduling._split_scope(f"{alone}::test_it") == alone


@pytest.fixture
def config() -> Config:
    return Config()


@pytest.mark.parametrize("folder", ["unit", "conformance"])
def test_no_test_without_servers_is_in_the_unit_of_hbase(folder: str) -> None:
    found = [path for path in (TESTS / folder).rglob("test_*.py") if uses_hbase(path)]
    assert found == []


def test_each_test_runs_once_beside_those_of_its_file_and_no_finished_file_is_counted_again(
    config: Config, tmp_path: Path
) -> None:
    config.rootpath = tmp_path
    files = [tmp_path / f"test_{name}.py" for name in "abcdef"]
    for file in files:
        file.touch()
    scheduling, workers = FilesByServer(config), [Worker("gw0"), Worker("gw1")]
    tests = [f"{file.name}::test_{number}" for file in files for number in range(3)]
    for worker in workers:
        scheduling.add_node(worker)
        scheduling.add_node_collection(worker, tests)
    scheduling.schedule()
    while any(worker.waiting for worker in workers):
        for worker in workers:
            if worker.waiting:
                worker.ran.append(worker.waiting.popleft())
                scheduling.mark_test_complete(worker, worker.ran[-1])
                assert len(scheduling.assigned_work[worker]) <= 2
    assert sorted(workers[0].ran + workers[1].ran) == list(range(len(tests)))
    ran = [{tests[number].partition("::")[0] for number in worker.ran} for worker in workers]
    assert not ran[0] & ran[1]
    assert scheduling.tests_finished
    assert not scheduling.has_pending
    assert all(worker.shutting_down for worker in workers)
