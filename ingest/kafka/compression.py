"""Gives kafka-python's producers the codec zstd, which it does not have without further packages."""

import kafka
import kafka.record.default_records

from ingest.api import LifecycleError
from ingest.kafka.codecs import Codec, zstd_compressed


def enable_zstd() -> None:
    """
    Let the producers of this process compress with zstd, whatever uses kafka-python in it.

    Raises:
        LifecycleError: this version of kafka-python has its codecs elsewhere.
    """
    codecs = getattr(kafka.KafkaProducer, "_COMPRESSORS", None)
    if codecs is None or not hasattr(kafka.record.default_records, "zstd_encode"):
        raise LifecycleError(f"kafka-python {kafka.__version__} has no table of codecs to which zstd can be added")
    kafka.record.default_records.zstd_encode = zstd_compressed
    codecs["zstd"] = (_is_there, int(Codec.ZSTD))


def _is_there() -> bool:
    return True
