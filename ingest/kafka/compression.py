"""Gives kafka-python's producers the codec zstd, which it does not have without further packages."""

import kafka
import kafka.record.default_records

from ingest.kafka.codecs import Codec, zstd_compressed
from ingest.kafka.decompression import read_all_codecs
from ingest.kafka.settings import Compression


def codec_of_client(compression: Compression) -> str | None:
    """The option `compression_type` of kafka-python, whose producers in this process can then use it."""
    if compression is Compression.NONE:
        return None
    if compression is Compression.ZSTD:
        read_all_codecs()  # a producer reads a batch that is too large for the topic, to divide it
        kafka.record.default_records.zstd_encode = zstd_compressed
        kafka.KafkaProducer._COMPRESSORS["zstd"] = (_is_there, int(Codec.ZSTD))  # noqa: SLF001 - no public way
    return compression.value


def _is_there() -> bool:
    return True
