"""The reader of a table with large values in a blob store."""

import pytest

from ingest.api import Cell, ConfigError, FamilySpec, Put, Row, Scan, ScanCounts, TableSpec
from ingest.api.table_reader import ReaderPlace, Recorded, ShownRow
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.declared import BlobsOfTable, BlobsToRead
from sinks.blobs.feature import Blobs
from sinks.blobs.resolving_reader import ResolvingReader
from sinks.scanning.plain_reader import PlainReader

POINTER = Row(b"r", (Cell(b"f", b"q", 1, b"pointer"),))
LARGE = Row(b"r", (Cell(b"f", b"q", 1, b"large"),))


def large(row: Row) -> Row:
    assert row == POINTER
    return LARGE


@pytest.fixture
def below(store) -> PlainReader:
    """A table with one row, which has a pointer."""
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    store.apply("t", [Put(b"r", {b"f:q": b"pointer"}, 1)])
    return PlainReader.of(store, "t")


def test_each_read_has_the_large_values(below: PlainReader):
    reader = ResolvingReader(below, large)
    assert reader.get(b"r") == LARGE
    assert reader.get(b"absent") is None
    assert list(reader.scan(Scan())) == [LARGE]
    assert list(reader.in_range(Scan())) == [(LARGE, ())]
    assert [ShownRow(LARGE)] == list(reader.shown(Scan(), ScanCounts()))
    assert [ShownRow(LARGE)] == list(reader.shown_one(b"r", Scan(), ScanCounts()))


def test_all_else_is_that_of_the_reader_below(below: PlainReader):
    reader = ResolvingReader(below, large)
    reader.check(Scan(versions=2))
    assert (reader.keys, reader.what, reader.is_several) == (below.keys, below.what, below.is_several)
    assert reader.counts_gets == below.counts_gets
    assert reader.next_command("r") == below.next_command("r")
    assert reader.stored_key(b"r") == below.stored_key(b"r")
    assert reader.stats() == below.stats()


def test_pointers_are_returned_unless_blobs_are_asked(store, below: PlainReader):
    planned = BlobsToRead(BlobsOfTable("t_blobs", BlobOptions()), None)
    place = ReaderPlace(store, "t", Recorded())
    assert Blobs().reader(below, planned, place) is None
    asked = ReaderPlace(store, "t", Recorded(), frozenset({"blobs"}))
    assert isinstance(Blobs().reader(below, planned, asked), ResolvingReader)


@pytest.mark.parametrize(
    ("planned", "said"),
    [
        (None, 'table "t" has no blob store'),
        (BlobsToRead(None, "events"), 'it belongs to the one of table "events"'),
    ],
)
def test_blobs_of_a_table_without_a_blob_store_are_refused(
    store, below: PlainReader, planned: BlobsToRead | None, said: str
):
    place = ReaderPlace(store, "t", Recorded(), frozenset({"blobs"}))
    with pytest.raises(ConfigError, match=said):
        Blobs().reader(below, planned, place)
