"""The tests that use HBase are those that the rule of their text finds."""

from pathlib import Path

import pytest

from tests.support.scheduling import HBASE, FilesByServer, uses_hbase

TESTS = Path(__file__).resolve().parents[2]


class Config:
    """Of a run with two workers."""

    rootpath = TESTS.parent

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


@pytest.fixture
def config() -> Config:
    return Config()


@pytest.mark.parametrize("folder", ["unit", "conformance"])
def test_no_test_without_servers_is_in_the_unit_of_hbase(folder: str) -> None:
    found = [path for path in (TESTS / folder).rglob("test_*.py") if uses_hbase(path)]
    assert found == []
