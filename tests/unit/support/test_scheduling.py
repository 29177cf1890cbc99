"""One worker has the tests that use HBase, which the rule of their text finds, and one begins with the last files."""

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


def test_files_with_hbase_are_one_unit_of_work_and_others_are_their_own(config: Config) -> None:
    scheduling = FilesByServer(config)
    units = {
        name: scheduling._split_scope(f"tests/{name}.py::TestIt::test_it[a::b]")
        for name in ("integration/test_hbase_store", "fault/test_poison", "integration/test_spark_source")
    }
    assert set(units.values()) == {HBASE}
    alone = "tests/integration/test_kafka_clients.py"
    assert scheduling._split_scope(f"{alone}::test_it") == alone


class Worker:
    """
    A worker that collects the same tests as the others.

    Attributes:
        ran: the tests that it was given.
    """

    gateway = SimpleNamespace(id="gw", spec=None)
    shutting_down = False

    def __init__(self, collected: list[str]) -> None:
        self._collected = collected
        self.ran: list[str] = []

    def send_runtest_some(self, indexes: list[int]) -> None:
        self.ran += [self._collected[index] for index in indexes]


def test_last_worker_begins_with_the_last_files(config: Config) -> None:
    files = sorted((TESTS / "unit" / "decorators").glob("test_*.py"))[:8]
    tests = [f"{file.relative_to(TESTS.parent)}::test_it" for file in files]
    scheduling = FilesByServer(config)
    workers = [Worker(tests), Worker(tests)]
    for worker in workers:
        scheduling.add_node(worker)
        scheduling.add_node_collection(worker, tests)
    scheduling.schedule()
    first, last = (worker.ran for worker in workers)
    assert (first, last) == (tests[: len(first)], tests[: -len(last) - 1 : -1])
    assert min(len(first), len(last)) >= 2


@pytest.fixture
def config() -> Config:
    return Config()


@pytest.mark.parametrize("folder", ["unit", "conformance"])
def test_no_test_without_servers_is_in_the_unit_of_hbase(folder: str) -> None:
    found = [path for path in (TESTS / folder).rglob("test_*.py") if uses_hbase(path)]
    assert found == []
