"""Gives kafka-python's consumers all codecs of Kafka, with a limit for the decompressed size."""

from functools import partial

import kafka.codec
import kafka.record.default_records
import kafka.record.legacy_records

from ingest.kafka.codecs import Codec, decompressed

_CODECS = {"gzip": Codec.GZIP, "snappy": Codec.SNAPPY, "lz4": Codec.LZ4, "zstd": Codec.ZSTD}


def read_all_codecs() -> None:
    """
    Decompress by `ingest.kafka.codecs` in every consumer of this process; may be called again.

    By itself kafka-python reads only gzip without further packages, and decompresses a batch whatever its size.
    """
    for name, codec in _CODECS.items():
        decode = partial(decompressed, codec)
        for module in (kafka.record.default_records, kafka.record.legacy_records):
            if hasattr(module, f"{name}_decode"):  # batches of the older formats cannot have zstd
                setattr(module, f"{name}_decode", decode)
        setattr(kafka.codec, f"has_{name}", _is_there)


def _is_there() -> bool:
    return True
