"""Record batches that are larger than a limit when they are decompressed; the limits here are small."""

import tracemalloc

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka import TopicPartition
from kafka.record.memory_records import MemoryRecords

from ingest.kafka.codecs import Codec
from ingest.kafka.large_batches import Examination, LargeBatch, decompressed_size, examine_batches
from ingest.kafka.record_batches import RecordBatch, _Batches
from tests.support.record_batches import AT_MS, batch_of

PART = ("t", 3)
COMPRESSING = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
KIB, MIB = 1 << 10, 1 << 20


def batches(*contents: bytes) -> list[RecordBatch]:
    return list(_Batches(0, TopicPartition(*PART), MemoryRecords(b"".join(contents))).record_iterator)


def zeros(size: int, codec: Codec, first: int = 0) -> bytes:
    return batch_of([(None, bytes(size), [])], codec, first=first)


@given(st.sampled_from(COMPRESSING), st.integers(0, 5 * KIB), st.integers(0, 5 * KIB))
def test_size_is_exact_up_to_the_limit(codec, size, limit):
    (batch,) = batches(zeros(size, codec))
    exact = len(zeros(size, Codec.NONE)) - 61
    found = decompressed_size(batch, limit)
    assert found == exact if exact <= limit else limit < found <= exact


def test_a_batch_is_not_decompressed_beyond_the_limit():
    (batch,) = batches(zeros(64 << 20, Codec.ZSTD))
    tracemalloc.start()
    held = pa.total_allocated_bytes()
    try:
        assert 2 << 20 < decompressed_size(batch, 2 << 20) <= 4 << 20
        assert tracemalloc.get_traced_memory()[1] <= 8 << 20
        assert pa.total_allocated_bytes() - held <= 8 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codec", COMPRESSING)
def test_large_batches_are_named_with_their_offsets(codec):
    large = batch_of([(None, bytes(50 * KIB), []), (None, bytes(50 * KIB), [])], codec, first=1)
    found = batches(zeros(KIB, codec), large, zeros(KIB, codec, first=3))
    name = codec.name.lower()
    expected = LargeBatch("t", 3, 1, 2, 2, AT_MS + 1, name, len(large), 60 * KIB)
    assert examine_batches(found, max_bytes=60 * KIB, fetch_bytes=1, max_fetched_bytes=MIB).large == [expected]
    assert examine_batches(found, max_bytes=200 * KIB, fetch_bytes=1, max_fetched_bytes=MIB).large == []


def test_what_is_not_compressed_is_never_large():
    found = batches(zeros(50 * KIB, Codec.NONE))
    assert examine_batches(found, max_bytes=60 * KIB, fetch_bytes=1, max_fetched_bytes=MIB).large == []


def test_damaged_records_are_for_the_client_that_reads_them():
    content = bytearray(zeros(50 * KIB, Codec.GZIP))
    content[70:] = b"x" * len(content[70:])
    assert examine_batches(batches(bytes(content)), max_bytes=KIB, fetch_bytes=1, max_fetched_bytes=MIB) == Examination(
        [], is_heavy=False
    )


@pytest.mark.parametrize(
    ("sizes", "fetched", "is_heavy"),
    [
        ([4, 4], 2, False),
        ([5, 11], 1, True),
        ([6, 6], 2, True),
        ([6, 1, 6], 2, False),
        ([6, 1, 6], 3, True),
    ],
)
def test_a_fetch_of_many_batches_is_heavy(sizes, fetched, is_heavy):
    contents = [zeros(size * KIB, Codec.ZSTD, first=number) for number, size in enumerate(sizes)]
    fetch_bytes = (fetched - 1) * max(map(len, contents)) + 1
    examined = examine_batches(
        batches(*contents), max_bytes=80 * KIB, fetch_bytes=fetch_bytes, max_fetched_bytes=10 * KIB
    )
    assert examined == Examination([], is_heavy)


def test_batches_of_different_partitions_are_not_in_one_fetch():
    first, second = batches(zeros(6 * KIB, Codec.ZSTD), zeros(6 * KIB, Codec.ZSTD, first=1))
    assert not examine_batches(
        [first, second._replace(partition=4)], max_bytes=80 * KIB, fetch_bytes=KIB, max_fetched_bytes=10 * KIB
    ).is_heavy
