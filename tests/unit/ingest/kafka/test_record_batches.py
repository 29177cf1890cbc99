"""Record batches as kafka-python's consumer gets them: their headers, their records, and which of them are left out."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka import IsolationLevel, TopicPartition
from kafka.record.legacy_records import LegacyRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from ingest.api import PositionLostError, Record, SourceError
from ingest.kafka.codecs import Codec
from ingest.kafka.decompression import read_all_codecs
from ingest.kafka.record_batches import RecordBatch, _Batches, _check_there
from tests.support.record_batches import AT_MS, batch_of, control_batch

PART = TopicPartition("t", 3)
read_all_codecs()
BODIES = st.one_of(st.none(), st.binary(max_size=50))
RECORDS = st.lists(
    st.tuples(BODIES, BODIES, st.lists(st.tuples(st.text(max_size=5), BODIES), max_size=3)), min_size=1, max_size=5
)


def batches(content: bytes, begin: int = 0, **options) -> list[RecordBatch]:
    return list(_Batches(begin, PART, MemoryRecords(content), **options).record_iterator)


@given(st.sampled_from(Codec), RECORDS, st.integers(0, 2**40))
def test_records_are_those_that_were_sent(codec, records, first):
    (found,) = batches(batch_of(records, codec, first=first), begin=first)
    last = first + len(records) - 1
    assert found[:7] == ("t", 3, first, last, len(records), AT_MS + len(records) - 1, codec)
    assert list(found.decompressed()) == [
        Record("t", 3, first + number, key, value, AT_MS + number, tuple(headers))
        for number, (key, value, headers) in enumerate(records)
    ]


def test_names_of_headers_that_are_not_text_are_replaced():
    content = batch_of([(None, b"v", [("name", b"w")])], damage=(b"name", b"n\xffm\xfe"))
    (found,) = batches(content)
    assert [record.headers for record in found.decompressed()] == [(("n\ufffdm\ufffd", b"w"),)]


def test_a_batch_that_does_not_match_its_checksum():
    content = bytearray(batch_of([(None, b"value", [])], Codec.NONE))
    content[-3] ^= 1
    (found,) = batches(bytes(content))
    with pytest.raises(SourceError, match="record batch t/3/0 failed: it does not match its checksum"):
        list(found.decompressed())


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_earlier_formats(magic, codec):
    builder = LegacyRecordBatchBuilder(magic, codec, 1 << 20)
    for number in range(3):  # offsets in a compressed batch of the format v1 are relative
        builder.append(number if codec and magic else 10 + number, AT_MS, b"k", b"%d" % number)
    content = bytes(builder.build())
    if codec:  # its offset is that of its last record
        content = (12).to_bytes(8, "big") + content[8:]
    found = batches(content, begin=10)
    assert (found[0].first, found[-1].last, found[0].codec) == (10, 12, Codec.NONE)
    records = [record for batch in found for record in batch.decompressed()]
    assert [(record.offset, record.value) for record in records] == [(10, b"0"), (11, b"1"), (12, b"2")]
    assert {record.timestamp_ms for record in records} == {-1 if magic == 0 else AT_MS}


def test_batches_before_the_position_and_those_of_no_records_are_left_out():
    content = batch_of([(None, b"a", [])] * 3, Codec.NONE, first=7)
    content += control_batch(first=10, producer=5, is_abort=False)
    content += batch_of([(None, b"b", [])], Codec.NONE, first=11)
    assert [(batch.first, batch.last) for batch in batches(content, begin=8)] == [(7, 9), (11, 11)]
    assert [(batch.first, batch.last) for batch in batches(content, begin=10)] == [(11, 11)]


def test_batches_of_an_aborted_transaction_are_left_out_and_those_after_it_are_not():
    content = batch_of([(None, b"a", [])], Codec.NONE, first=0, producer=5)
    content += batch_of([(None, b"b", [])], Codec.NONE, first=1, producer=6)
    content += control_batch(first=2, producer=5, is_abort=True)
    content += batch_of([(None, b"c", [])], Codec.NONE, first=3, producer=5)
    aborted = [SimpleNamespace(producer_id=5, first_offset=0)]
    options = {"isolation_level": IsolationLevel.READ_COMMITTED, "aborted_transactions": aborted}
    assert [batch.first for batch in batches(content, **options)] == [1, 3]


def test_the_next_fetch_begins_after_each_batch():
    content = batch_of([(None, b"a", [])] * 3, Codec.NONE, first=7) + control_batch(10, producer=5, is_abort=False)
    found = _Batches(7, PART, MemoryRecords(content))
    assert [len(found.take(1)), found.next_fetch_offset] == [1, 10]
    assert [len(found.take(1)), found.next_fetch_offset] == [0, 11]


@pytest.mark.parametrize(("begin", "end", "is_there"), [(5, 20, True), (4, 20, False), (5, 21, False), (19, 20, True)])
def test_a_range_that_is_gone_in_part_is_lost(begin, end, is_there):
    ranges, earliest, ends = {("t", 0): (begin, end)}, {("t", 0): 5, ("t", 1): 9}, {("t", 0): 20, ("t", 1): 9}
    if is_there:
        _check_there(ranges, earliest, ends)
    else:
        with pytest.raises(PositionLostError, match=f"some of t/0 offsets {begin} to {end - 1}"):
            _check_there(ranges, earliest, ends)


def test_a_partition_that_is_gone_is_lost():
    with pytest.raises(PositionLostError, match="some of t/1 offsets 0 to 2"):
        _check_there({("t", 1): (0, 3)}, {("t", 0): 5}, {("t", 0): 20})
