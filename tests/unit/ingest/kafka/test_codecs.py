"""Decompression of record batches: the codecs as Kafka's clients write them, damaged data, and the limit."""

import struct
import tracemalloc

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import SourceError
from ingest.kafka.codecs import Codec, decompressed, pieces

MIB = 1024 * 1024
COMPRESSING = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
CONTENT = st.builds(lambda part, times: part * times, st.binary(max_size=200), st.integers(0, 2000))


def compressed(codec: Codec, content: bytes) -> bytes:
    return pa.compress(content, codec=codec.name.lower(), asbytes=True)


def in_blocks(*contents: bytes) -> bytes:
    """As snappy-java writes it: a header with two versions, then blocks after their lengths."""
    blocks = [compressed(Codec.SNAPPY, content) for content in contents]
    return struct.pack(">8sii", b"\x82SNAPPY\x00", 1, 1) + b"".join(struct.pack(">i", len(b)) + b for b in blocks)


@given(st.sampled_from(COMPRESSING), CONTENT)
def test_content_is_that_before_the_compression(codec, content):
    assert decompressed(codec, memoryview(compressed(codec, content))) == content


@given(st.lists(CONTENT, max_size=5))
def test_snappy_in_blocks(contents):
    assert decompressed(Codec.SNAPPY, in_blocks(*contents)) == b"".join(contents)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_several_frames_are_one_content(codec):
    assert decompressed(codec, compressed(codec, b"one") + compressed(codec, b"two")) == b"onetwo"


def test_records_that_are_not_compressed_stay_as_they_are():
    assert decompressed(Codec.NONE, memoryview(b"plain")) == b"plain"


@pytest.mark.parametrize("codec", COMPRESSING)
def test_limit_is_that_of_the_content(codec):
    data = compressed(codec, bytes(3 * MIB))
    assert len(decompressed(codec, data, 3 * MIB)) == 3 * MIB
    with pytest.raises(SourceError) as caught:
        decompressed(codec, data, 3 * MIB - 1)
    assert caught.value.code == "record_batch_too_large"
    assert caught.value.message.startswith(f"record batch of {len(data)} bytes has more than {3 * MIB - 1} when")


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_pieces_are_small_and_made_one_after_the_other(codec):
    data = compressed(codec, bytes(32 * MIB))
    tracemalloc.start()
    held = pa.total_allocated_bytes()
    try:
        total = 0
        for piece in pieces(codec, data):
            assert len(piece) <= MIB
            assert pa.total_allocated_bytes() - held <= 4 * MIB
            total += len(piece)
        assert total == 32 * MIB
        assert tracemalloc.get_traced_memory()[1] <= 4 * MIB
    finally:
        tracemalloc.stop()


@given(st.sampled_from(COMPRESSING), st.binary(max_size=100))
def test_any_bytes_are_content_or_an_error(codec, data):
    try:
        decompressed(codec, data, MIB)
    except SourceError as error:
        assert error.code == "record_batch_damaged"  # noqa: PT017 - either is right


@pytest.mark.parametrize("codec", COMPRESSING)
def test_data_that_ends_too_early_is_damaged(codec):
    whole = compressed(codec, bytes(range(256)) * 10)
    with pytest.raises(SourceError) as caught:
        decompressed(codec, whole[:-6])
    assert (caught.value.code, codec.name.lower() in caught.value.message) == ("record_batch_damaged", True)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (in_blocks(b"abc")[:-1], "a block of 5 bytes"),
        (in_blocks(b"abc") + b"\x00\x00", "it ends within a length"),
        (in_blocks() + struct.pack(">i", 0) + b"abc", "a block of 0 bytes"),
        (in_blocks() + struct.pack(">i", -1) + b"abc", "a block of -1 bytes"),
        (b"", "it has no length"),
        (b"\xff\xff\xff\xff\xff\x01", "it has no length"),
        (b"\xff\xff\xff\xff\x0f", "5 bytes say that they are 4294967295"),
    ],
)
def test_snappy_that_is_damaged(data, reason):
    with pytest.raises(SourceError, match=f"it is no snappy: {reason}"):
        decompressed(Codec.SNAPPY, data)


def test_snappy_compresses_to_a_twenty_second_at_most():
    content = bytes(4 * MIB)
    assert decompressed(Codec.SNAPPY, compressed(Codec.SNAPPY, content)) == content


def test_a_codec_that_kafka_does_not_have():
    with pytest.raises(SourceError, match="its codec is 5, which Kafka does not have"):
        decompressed(5, b"")
