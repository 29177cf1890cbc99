"""Restore an event that Flume's gzip decorator compressed."""

import zlib
from base64 import b64decode

from ingest.api import ByteSize, DecorateError, Decorator, Event, Example, Settings, option
from ingest.api.event_errors import TooLargeError
from ingest.formats.flume_record import records_in

_ATTRIBUTE = "compressGzip"
_GZIP = 31  # zlib's window bits for data with a gzip header

# for the examples: an event as Flume compresses it, with a line of an access log and an attribute
_LINE = (
    '203.0.113.9 - alice [26/Jul/2010:11:48:05 +0000] "GET /shop/item/42?page=7&sort=price HTTP/1.1" 200 5120 '
    '"https://shop.example/start" "Mozilla/5.0 (X11; Linux x86_64; rv:2.0) Gecko/20100101 Firefox/4.0"'
)
_COMPRESSED_LINE = b64decode(
    "H4sIAAAAAAACA02OzUoDMRSFU+rClc9wyUL8wdx705mxphRXWhEFF7MQRCSUaIOpCZlUBp/DV3LjUzntyo+zOJvzI4T41TRRpJgn6gLOwAa/dP"
    "CkG7zdBNTEZJhNNTVUwykNPINcXLWA3Som9MWtsdKXyb65+flhF3OZp7xtuGnbB2TFEjQR1KwJ5KqU1BncRZXr7ToFh12xuUiQ9/HLh2CxVgRH"
    "j8wzuPMfmx76afPSVDPIn0YrOoaFW77H3bFBDNc+u9fYY6VICjE6Ofj+2RdCjMV/RmJsUxrM3nb6D+cnmsf1AAAA"
)


class BadGzipError(DecorateError):
    """The attribute compressGzip does not contain a gzipped Flume event."""

    code = "bad_gzip"


class GunzipSettings(Settings):
    """Options of the gunzip decorator."""

    max_bytes: ByteSize = option(
        "Maximum size of the decompressed event; a larger one fails, since a few bytes can decompress to any size.",
        default="16MiB",
        gt=0,
    )

    def reads(self) -> frozenset[str]:
        """The attribute with the compressed event."""
        return frozenset([f"attribute:{_ATTRIBUTE}"])

    def sets_core(self) -> frozenset[str]:
        """All fields of the compressed event."""
        return frozenset(["body", "timestamp", "nanos", "host", "priority"])


class Gunzip(Decorator[GunzipSettings]):
    """
    Restore the event in the attribute compressGzip: body, time, priority, nanos, host and attributes.

    Events without that attribute pass unchanged. The origin and the key stay those of the record.

    Source: Flume decorator `gunzip`, the inverse of `gzip`.
    """

    kind = "gunzip"
    inflates = True
    examples = (
        Example(
            "a compressed event",
            attributes={_ATTRIBUTE: _COMPRESSED_LINE},
            body_after=_LINE,
            timestamp_ms_after=1280144885000,
            after={_ATTRIBUTE: None, "app": "shop"},
        ),
        Example("an event without the attribute", body="plain", attributes={"a": "1"}),
        Example("an attribute that is not gzip", attributes={"compressGzip": "no gzip"}, error="bad_gzip"),
    )

    def decorate(self, event: Event) -> bool:
        """Restore the event."""
        compressed = event.attributes.get(_ATTRIBUTE)
        if compressed is None:
            return True
        try:
            (record,) = records_in(_decompressed(compressed, self.settings.max_bytes))
        except (zlib.error, ValueError) as error:
            raise BadGzipError(f"the attribute {_ATTRIBUTE} does not contain a compressed event: {error}") from error
        event.body, event.attributes = record.body, record.attributes
        event.timestamp_ms, event.nanos = record.timestamp_ms, record.nanos
        event.host, event.priority = record.host, record.priority
        return True


def _decompressed(compressed: bytes, max_bytes: int) -> bytes:
    decompressor = zlib.decompressobj(_GZIP)
    content = decompressor.decompress(compressed, max_bytes + 1)
    if len(content) > max_bytes:
        raise TooLargeError(f"the decompressed event has more than {max_bytes} bytes")
    if not decompressor.eof:
        raise ValueError(f"the data is truncated after {len(compressed)} bytes")
    if decompressor.unused_data:
        raise ValueError(f"{len(decompressor.unused_data)} bytes follow the compressed data")
    return content
