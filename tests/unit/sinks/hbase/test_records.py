"""Table records: what their cells may be, and how they are written."""

import pytest

from ingest.api import (
    BucketsDifferError,
    IntegrityError,
    Put,
    StoreRefusedError,
)
from sinks.hbase.records import TableRecords, buckets_of
from sinks.writing.buffer import Chunk
from sinks.writing.retry import store_retry
from sinks.writing.sending import DirectSender
from tests.support.records_table import RecordsTable


@pytest.mark.parametrize(("value", "buckets"), [(b"", None), (b"16", 16), (b"256", 256)])
def test_cell_is_a_number_of_buckets(value, buckets):
    assert buckets_of("t", value) == buckets


@pytest.mark.parametrize("value", [b"v2:16", b"-1", b"\xff"])
def test_record_of_another_version_is_refused(value):
    with pytest.raises(IntegrityError) as caught:
        buckets_of("t", value)
    assert caught.value.message.startswith('the record of table "t" in table "attr2hbase" is ')
    assert caught.value.hint == "use the version that wrote it, or a later one"


@pytest.fixture
def cluster() -> RecordsTable:
    return RecordsTable()


@pytest.fixture
def records(cluster: RecordsTable) -> TableRecords:
    return TableRecords(cluster)


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
    def test_property_is_a_cell_beside_the_buckets(self, cluster, records):
        cluster.cells = {b"t": {b"t:buckets": b"16"}}
        assert records.set_property("default:t", "committed", None, "é")
        assert records.set_property("t", "committed", "é", "2")
        assert records.set_property("t", "owner", None, "logs")
        assert cluster.cells == {b"t": {b"t:buckets": b"16", b"t:committed": b"2", b"t:owner": b"logs"}}
        cluster.reads.clear()
        assert records.record("t") == (16, {"committed": "2", "owner": "logs"})
        assert cluster.reads == [(b"t", b"t")]
        assert records.buckets("t") == 16

    def test_first_property_creates_the_table_of_records(self, cluster, records):
        assert records.record("t")[1] == {}
        assert not records.set_property("t", "committed", "1", "2")
        assert cluster.cells is None
        assert records.set_property("t", "committed", None, "1")
        assert records.set_property("u", "committed", None, "1")
        assert cluster.cells == {b"t": {b"t:committed": b"1"}, b"u": {b"t:committed": b"1"}}
        # creating tables is a right of its own
        assert cluster.created == 1

    def test_another_client_creates_the_table_of_records_meanwhile(self, cluster, records):
        cluster.created_meanwhile = {b"t": {b"t:committed": b"0"}}
        assert not records.set_property("t", "committed", None, "1")
        assert records.record("t")[1] == {"committed": "0"}

    def test_removed_property_is_an_empty_cell(self, cluster, records):
        cluster.cells = {b"t": {b"t:committed": b"1"}}
        assert records.set_property("t", "committed", "1", None)
        assert (cluster.cells, records.record("t")[1]) == ({b"t": {b"t:committed": b""}}, {})
        assert records.set_property("t", "committed", None, "2")
        assert cluster.writes[-1] == (b"t", b"t:committed", b"", b"2")

    @pytest.mark.parametrize(("before", "value"), [(None, "2"), ("1", "2"), ("1", None)])
    def test_attempt_whose_answer_was_lost_has_set_the_property(self, cluster, records, before, value):
        cluster.cells = {} if before is None else {b"t": {b"t:committed": before.encode()}}
        cluster.lost_answers = 1
        assert records.set_property("t", "committed", before, value)
        assert records.set_property("t", "committed", before, value)
        assert len(cluster.writes) == 1
        assert records.record("t")[1].get("committed") == value

    def test_value_that_is_replaced_takes_one_call(self, cluster, records):
        cluster.cells = {b"t": {b"t:committed": b"1"}}
        assert records.set_property("t", "committed", "1", "2")
        assert cluster.reads == []
        assert not records.set_property("t", "committed", "1", "3")
        assert records.record("t")[1] == {"committed": "2"}

    def test_another_client_sets_the_property_meanwhile(self, cluster, records):
        cluster.cells = {}
        for meanwhile, has_value in ((b"other", False), (b"mine", True)):
            cluster.cells.clear()
            cluster.meanwhile = meanwhile
            assert records.set_property("t", "owner", None, "mine") is has_value
            assert records.record("t")[1] == {"owner": meanwhile.decode()}
        assert cluster.writes == []

    @pytest.mark.parametrize("cell", [(b"t:committed", b"\xff"), (b"t:\xff", b"1")])
    def test_property_of_another_version_is_refused(self, cluster, records, cell):
        cluster.cells = {b"t": dict([cell])}
        with pytest.raises(IntegrityError, match='" of the record of table "t" in table "attr2hbase" is '):
            records.record("t")[1]
        assert records.buckets("t") is None


class TestOtherTableWithTheNameOfTheRecords:
    @pytest.fixture(autouse=True)
    def _other_table(self, cluster):
        cluster.cells, cluster.family = {}, b"f"

    def test_it_is_named(self, records):
        with pytest.raises(StoreRefusedError, match='table "attr2hbase" has no family "t"'):
            records.buckets("events")
        for before, value in ((None, "1"), ("1", "2")):
            with pytest.raises(StoreRefusedError, match='table "attr2hbase" has no family "t"'):
                records.set_property("events", "committed", before, value)

    def test_no_row_is_refused(self, cluster):
        sender = DirectSender(cluster, retry=store_retry(sleep=lambda _seconds: None))
        sender.begin(10.0)
        with pytest.raises(StoreRefusedError, match='"attr2hbase"'):
            sender.submit(Chunk("events", [Put(b"a", {b"f:q": b"1"}, 1), Put(b"b", {b"f:q": b"2"}, 1)]))
        [result] = sender.take_results()
        assert (result.stored, list(result.refused)) == (False, [])
        assert cluster.applied == 0
        sender.close()
