"""Table records: what their cell may be, and how it is written."""

from collections.abc import Callable
from unittest.mock import MagicMock, create_autospec

import pytest

from ingest.api import BucketsDifferError, IntegrityError, Put, StoreRefusedError
from sinks.hbase import store
from sinks.hbase.client import HBaseClient, NoFamilyError, TableExistsError
from sinks.hbase.records import TableRecords, buckets_of
from sinks.hbase.settings import HBaseSettings
from sinks.writing.buffer import Chunk
from sinks.writing.retry import Retry
from sinks.writing.sending import DirectSender


@pytest.mark.parametrize(("value", "buckets"), [(None, None), (b"", None), (b"16", 16), (b"256", 256)])
def test_cell_is_a_number_of_buckets(value, buckets):
    assert buckets_of("t", value) == buckets


@pytest.mark.parametrize("value", [b"v2:16", b"-1", b"\xff"])
def test_record_of_another_version_is_refused(value):
    with pytest.raises(IntegrityError) as caught:
        buckets_of("t", value)
    assert caught.value.message.startswith('the record of table "t" in table "attr2hbase" is ')
    assert caught.value.hint == "use the version that wrote it, or a later one"


@pytest.fixture
def client() -> MagicMock:
    """A client of a cluster with a table of records, which has none yet."""
    made: MagicMock = create_autospec(HBaseClient, instance=True)
    made.create_table.side_effect = TableExistsError("it exists")
    made.value.return_value = None
    return made


def replacing(client: MagicMock, value: bytes, *, was_written: bool) -> Callable[..., bool]:
    """A check-and-put after which the cell has a value, whoever wrote it."""

    def replace(*_cell: object, **_values: object) -> bool:
        client.value.return_value = value
        return was_written

    return replace


class TestSetBuckets:
    def test_first_record_of_a_table(self, client):
        client.replace.side_effect = replacing(client, b"16", was_written=True)
        TableRecords(client).set_buckets("default:t", 16)
        client.replace.assert_called_once_with("attr2hbase", b"t", b"t:buckets", before=None, value=b"16")
        assert TableRecords(client).buckets("t") == 16

    def test_record_that_is_there_is_not_written(self, client):
        client.value.return_value = b"16"
        TableRecords(client).set_buckets("t", 16)
        client.replace.assert_not_called()

    def test_attempt_whose_answer_was_lost_has_written_the_record(self, client):
        client.replace.side_effect = replacing(client, b"16", was_written=False)
        TableRecords(client).set_buckets("t", 16)

    def test_record_of_another_client(self, client):
        client.replace.side_effect = replacing(client, b"8", was_written=False)
        with pytest.raises(BucketsDifferError):
            TableRecords(client).set_buckets("t", 16)


class TestOtherTableWithTheNameOfTheRecords:
    @pytest.fixture(autouse=True)
    def _other_table(self, client):
        client.value.side_effect = NoFamilyError("no family t")

    def test_it_is_named(self, client):
        with pytest.raises(StoreRefusedError, match='table "attr2hbase" has no family "t"'):
            TableRecords(client).buckets("events")

    def test_no_row_is_refused(self, client, monkeypatch):
        monkeypatch.setattr(store, "_client", lambda _settings: client)
        hbase = store.HBaseStore(HBaseSettings(host="127.0.0.1", port=9090))
        sender = DirectSender(hbase, retry=Retry(sleep=lambda _seconds: None))
        sender.begin(10.0)
        with pytest.raises(StoreRefusedError, match='"attr2hbase"'):
            sender.submit(Chunk("events", [Put(b"a", {b"f:q": b"1"}, 1), Put(b"b", {b"f:q": b"2"}, 1)]))
        [result] = sender.take_results()
        assert (result.stored, list(result.refused)) == (False, [])
        client.apply.assert_not_called()
        sender.close()
