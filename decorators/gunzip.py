"""Restore an event that Flume's gzip decorator has packed."""

import zlib
from base64 import b64decode

from ingest.api import ByteSize, DecorateError, Decorator, Event, Example, Settings, option
from ingest.formats.flume_record import records_in

_PACKED = "compressGzip"
_GZIP = 31  # zlib's way to say: with a head of gzip

# an event as Flume packs it, for the examples: a line of an access log, and where it came from
_LINE = (
    '203.0.113.9 - alice [26/Jul/2010:11:48:05 +0000] "GET /shop/item/42?page=7&sort=price HTTP/1.1" 200 5120 '
    '"https://shop.example/start" "Mozilla/5.0 (X11; Linux x86_64; rv:2.0) Gecko/20100101 Firefox/4.0"'
)
_PACKED_LINE = b64decode(
    "H4sIAAAAAAACA02OzUoDMRSFU+rClc9wyUL8wdx705mxphRXWhEFF7MQRCSUaIOpCZlUBp/DV3LjUzntyo+zOJvzI4T41TRRpJgn6gLOwAa/dP"
    "CkG7zdBNTEZJhNNTVUwykNPINcXLWA3Som9MWtsdKXyb65+flhF3OZp7xtuGnbB2TFEjQR1KwJ5KqU1BncRZXr7ToFh12xuUiQ9/HLh2CxVgRH"
    "j8wzuPMfmx76afPSVDPIn0YrOoaFW77H3bFBDNc+u9fYY6VICjE6Ofj+2RdCjMV/RmJsUxrM3nb6D+cnmsf1AAAA"
)


class GunzipSettings(Settings):
    """Options of the gunzip decorator."""

    max_bytes: ByteSize = option(
        "Largest event, unpacked; a larger one fails, since a few bytes can unpack to any number.",
        default="16MiB",
        gt=0,
    )

    def reads(self) -> frozenset[str]:
        """What was packed."""
        return frozenset([f"attribute:{_PACKED}"])

    def sets_core(self) -> frozenset[str]:
        """All that was packed."""
        return frozenset(["body", "timestamp", "nanos", "host", "priority"])


class Gunzip(Decorator[GunzipSettings]):
    """
    Restore the event in the attribute compressGzip: body, time, priority, nanos, host and attributes.

    Events without that attribute pass as they are. Where the record came from, and its key, stay those of the record.

    Source: Flume decorator `gunzip`, the other half of `gzip`.
    """

    kind = "gunzip"
    examples = (
        Example(
            "an event that was packed",
            attributes={_PACKED: _PACKED_LINE},
            body_after=_LINE,
            timestamp_ms_after=1280144885000,
            after={_PACKED: None, "app": "shop"},
        ),
        Example("an event that is not packed", body="plain", attributes={"a": "1"}),
        Example("an event that was packed badly", attributes={"compressGzip": "no gzip"}, error="bad_gzip"),
    )

    def decorate(self, event: Event) -> bool:
        """Restore the event."""
        packed = event.attributes.get(_PACKED)
        if packed is None:
            return True
        try:
            (record,) = records_in(_unpacked(packed, self.settings.max_bytes))
        except (zlib.error, ValueError) as error:
            raise DecorateError(
                f"the attribute {_PACKED} does not hold a packed event: {error}", code="bad_gzip"
            ) from error
        event.body, event.attributes = record.body, record.attributes
        event.timestamp_ms, event.nanos = record.timestamp_ms, record.nanos
        event.host, event.priority = record.host, record.priority
        return True


def _unpacked(packed: bytes, most: int) -> bytes:
    unpacker = zlib.decompressobj(_GZIP)
    content = unpacker.decompress(packed, most + 1)
    if len(content) > most:
        raise DecorateError(f"the packed event has more than {most} bytes", code="too_large")
    if not unpacker.eof:
        raise ValueError(f"it is cut off after {len(packed)} bytes")
    if unpacker.unused_data:
        raise ValueError(f"{len(unpacker.unused_data)} bytes follow the event")
    return content
