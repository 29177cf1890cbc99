"""What the stores of both protocols share."""

import subprocess
import sys

import pytest

from sinks.hbase.records import RECORDS
from tests.support.records_table import RecordsTable


@pytest.mark.parametrize(
    ("options", "packages"),
    [("bootstrap_servers='localhost:16000'", "sinks.hbase.rpc"), ("", "happybase sinks.hbase.thrift thriftpy2")],
)
def test_store_of_one_protocol_does_not_import_the_other(options: str, packages: str) -> None:
    script = (
        "import sys\n"
        "from sinks.hbase.settings import HBaseSettings\n"
        "from sinks.hbase.store import HBaseStore\n"
        f"HBaseStore.of(HBaseSettings({options}))\n"
        "of_protocols = {'happybase', 'sinks.hbase.rpc', 'sinks.hbase.thrift', 'thriftpy2'}\n"
        "print(*sorted(of_protocols & sys.modules.keys()))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == packages


class TestReplaceCell:
    @pytest.fixture
    def store(self) -> RecordsTable:
        store = RecordsTable()
        store.cells = {b"r": {b"t:q": b"1"}}
        return store

    def test_one_call_if_nothing_competes(self, store: RecordsTable) -> None:
        assert store.replace_cell(RECORDS, b"r", b"t:q", b"1", b"2")
        assert store.writes == [(b"r", b"t:q", b"1", b"2")]
        assert store.reads == []

    @pytest.mark.parametrize(("meanwhile", "is_replaced"), [(b"2", True), (b"3", False)])
    def test_cell_is_read_if_an_earlier_attempt_may_have_written_it(
        self, store: RecordsTable, meanwhile: bytes, is_replaced: bool
    ) -> None:
        store.meanwhile = meanwhile
        assert store.replace_cell(RECORDS, b"r", b"t:q", b"1", b"2") is is_replaced

    def test_missing_cell_is_not_replaced(self, store: RecordsTable) -> None:
        assert not store.replace_cell(RECORDS, b"s", b"t:q", b"1", b"2")
