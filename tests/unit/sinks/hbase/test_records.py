"""Table records: what their cells may be, and how they are written."""

from unittest.mock import MagicMock, create_autospec

import pytest

from ingest.api import (
    BucketsDifferError,
    FamilySpec,
    IntegrityError,
    NoTableError,
    Put,
    StoreRefusedError,
    TableSpec,
)
from sinks.hbase import store
from sinks.hbase.client import HBaseClient, NoFamilyError, TableExistsError
from sinks.hbase.records import TableRecords, buckets_of
from sinks.hbase.settings import HBaseSettings
from sinks.writing.buffer import Chunk
from sinks.writing.retry import store_retry
from sinks.writing.sending import DirectSender


@pytest.mark.parametrize(("value", "buckets"), [(b"", None), (b"16", 16), (b"256", 256)])
def test_cell_is_a_number_of_buckets(value, buckets):
    assert buckets_of("t", value) == buckets


@pytest.mark.parametrize("value", [b"v2:16", b"-1", b"\xff"])
def test_record_of_another_version_is_refused(value):
    with pytest.raises(IntegrityError) as caught:
        buckets_of("t", value)
    assert caught.value.message.startswith('the record of table "t" in table "attr2hbase" is ')
    assert caught.value.hint == "use the version that wrote it, or a later one"


class RecordsTable:
    """
    The table of records of a cluster.

    Attributes:
        cells: of all rows, column -> value; None if there is no such table.
        writes: arguments of the check-and-puts that have changed a cell.
        lost_answers: number of the next check-and-puts that are attempted twice, since the first answer is lost.
        meanwhile: what another client writes to the cell just before the next check-and-put.
    """

    def __init__(self) -> None:
        self.cells: dict[bytes, dict[bytes, bytes]] | None = None
        self.writes: list[tuple[bytes, bytes, bytes | None, bytes]] = []
        self.lost_answers = 0
        self.meanwhile: bytes | None = None

    def values(self, table: str, row: bytes, column: bytes) -> dict[bytes, bytes]:
        assert table == "attr2hbase"
        cells = (self.cells or {}).get(row, {})
        return {name: value for name, value in cells.items() if column in {name, name.partition(b":")[0]}}

    def create_table(self, spec: TableSpec) -> None:
        assert spec == TableSpec("attr2hbase", (FamilySpec(b"t"),))
        if self.cells is not None:
            raise TableExistsError("it exists")
        self.cells = {}

    def replace(self, table: str, row: bytes, column: bytes, *, before: bytes | None, value: bytes) -> bool:
        if self.cells is None:
            raise NoTableError(f'there is no table "{table}"')
        cells = self.cells.setdefault(row, {})
        if self.meanwhile is not None:
            cells[column], self.meanwhile = self.meanwhile, None
        if cells.get(column) != before:
            return False
        cells[column] = value
        self.writes.append((row, column, before, value))
        if self.lost_answers:
            self.lost_answers -= 1
            return self.replace(table, row, column, before=before, value=value)
        return True


@pytest.fixture
def cluster() -> RecordsTable:
    return RecordsTable()


@pytest.fixture
def client(cluster: RecordsTable) -> MagicMock:
    """A client of the cluster."""
    made: MagicMock = create_autospec(HBaseClient, instance=True)
    for method in ("values", "create_table", "replace"):
        getattr(made, method).side_effect = getattr(cluster, method)
    return made


@pytest.fixture
def records(client: MagicMock) -> TableRecords:
    return TableRecords(client)


class TestSetBuckets:
    def test_first_record_of_a_table(self, cluster, records):
        assert records.buckets("t") is None
        records.set_buckets("default:t", 16)
        assert cluster.writes == [(b"t", b"t:buckets", None, b"16")]
        assert records.buckets("t") == 16

    def test_record_that_is_there_is_not_written(self, cluster, records):
        cluster.cells = {b"t": {b"t:buckets": b"16"}}
        records.set_buckets("t", 16)
        assert cluster.writes == []

    def test_removed_record_is_an_empty_cell(self, cluster, records):
        cluster.cells = {b"t": {b"t:buckets": b"16"}}
        records.set_buckets("t", None)
        assert (cluster.cells, records.buckets("t")) == ({b"t": {b"t:buckets": b""}}, None)
        records.set_buckets("t", None)
        records.set_buckets("t", 8)
        assert [before for *_, before, _ in cluster.writes] == [b"16", b""]

    def test_attempt_whose_answer_was_lost_has_written_the_record(self, cluster, records):
        cluster.lost_answers = 1
        records.set_buckets("t", 16)
        assert records.buckets("t") == 16

    def test_record_of_another_client(self, cluster, records):
        cluster.meanwhile = b"8"
        with pytest.raises(BucketsDifferError):
            records.set_buckets("t", 16)


class TestProperties:
    def test_property_is_a_cell_beside_the_buckets(self, cluster, client, records):
        cluster.cells = {b"t": {b"t:buckets": b"16"}}
        assert records.set_property("default:t", "committed", None, "é")
        assert records.set_property("t", "committed", "é", "2")
        assert records.set_property("t", "owner", None, "logs")
        assert cluster.cells == {b"t": {b"t:buckets": b"16", b"t:committed": b"2", b"t:owner": b"logs"}}
        client.values.reset_mock()
        assert records.properties("t") == {"committed": "2", "owner": "logs"}
        client.values.assert_called_once_with("attr2hbase", b"t", b"t")
        assert records.buckets("t") == 16

    def test_first_property_creates_the_table_of_records(self, cluster, client, records):
        assert records.properties("t") == {}
        assert not records.set_property("t", "committed", "1", "2")
        assert cluster.cells is None
        assert records.set_property("t", "committed", None, "1")
        assert records.set_property("u", "committed", None, "1")
        assert cluster.cells == {b"t": {b"t:committed": b"1"}, b"u": {b"t:committed": b"1"}}
        # creating tables is a right of its own
        client.create_table.assert_called_once()

    def test_another_client_creates_the_table_of_records_meanwhile(self, cluster, client, records):
        def created_before(spec: TableSpec) -> None:
            cluster.cells = {b"t": {b"t:committed": b"0"}}
            cluster.create_table(spec)

        client.create_table.side_effect = created_before
        assert not records.set_property("t", "committed", None, "1")
        assert records.properties("t") == {"committed": "0"}

    def test_removed_property_is_an_empty_cell(self, cluster, records):
        cluster.cells = {b"t": {b"t:committed": b"1"}}
        assert records.set_property("t", "committed", "1", None)
        assert (cluster.cells, records.properties("t")) == ({b"t": {b"t:committed": b""}}, {})
        assert records.set_property("t", "committed", None, "2")
        assert cluster.writes[-1] == (b"t", b"t:committed", b"", b"2")

    @pytest.mark.parametrize(("before", "value"), [(None, "2"), ("1", "2"), ("1", None)])
    def test_attempt_whose_answer_was_lost_has_set_the_property(self, cluster, records, before, value):
        cluster.cells = {} if before is None else {b"t": {b"t:committed": before.encode()}}
        cluster.lost_answers = 1
        assert records.set_property("t", "committed", before, value)
        assert records.set_property("t", "committed", before, value)
        assert len(cluster.writes) == 1
        assert records.properties("t").get("committed") == value

    def test_value_that_is_replaced_takes_one_call(self, cluster, client, records):
        cluster.cells = {b"t": {b"t:committed": b"1"}}
        assert records.set_property("t", "committed", "1", "2")
        client.values.assert_not_called()
        assert not records.set_property("t", "committed", "1", "3")
        assert records.properties("t") == {"committed": "2"}

    def test_another_client_sets_the_property_meanwhile(self, cluster, records):
        cluster.cells = {}
        for meanwhile, has_value in ((b"other", False), (b"mine", True)):
            cluster.cells.clear()
            cluster.meanwhile = meanwhile
            assert records.set_property("t", "owner", None, "mine") is has_value
            assert records.properties("t") == {"owner": meanwhile.decode()}
        assert cluster.writes == []

    @pytest.mark.parametrize("cell", [(b"t:committed", b"\xff"), (b"t:\xff", b"1")])
    def test_property_of_another_version_is_refused(self, cluster, records, cell):
        cluster.cells = {b"t": dict([cell])}
        with pytest.raises(IntegrityError, match='" of the record of table "t" in table "attr2hbase" is '):
            records.properties("t")
        assert records.buckets("t") is None


class TestOtherTableWithTheNameOfTheRecords:
    @pytest.fixture(autouse=True)
    def _other_table(self, client):
        client.values.side_effect = NoFamilyError("no family t")

    def test_it_is_named(self, client):
        with pytest.raises(StoreRefusedError, match='table "attr2hbase" has no family "t"'):
            TableRecords(client).buckets("events")
        with pytest.raises(StoreRefusedError, match='table "attr2hbase" has no family "t"'):
            TableRecords(client).set_property("events", "committed", None, "1")
        client.replace.side_effect = NoFamilyError("no family t")
        with pytest.raises(StoreRefusedError, match='table "attr2hbase" has no family "t"'):
            TableRecords(client).set_property("events", "committed", "1", "2")

    def test_no_row_is_refused(self, client, monkeypatch):
        monkeypatch.setattr(store, "_client", lambda _settings: client)
        hbase = store.HBaseStore(HBaseSettings(host="127.0.0.1", port=9090))
        sender = DirectSender(hbase, retry=store_retry(sleep=lambda _seconds: None))
        sender.begin(10.0)
        with pytest.raises(StoreRefusedError, match='"attr2hbase"'):
            sender.submit(Chunk("events", [Put(b"a", {b"f:q": b"1"}, 1), Put(b"b", {b"f:q": b"2"}, 1)]))
        [result] = sender.take_results()
        assert (result.stored, list(result.refused)) == (False, [])
        client.apply.assert_not_called()
        sender.close()
