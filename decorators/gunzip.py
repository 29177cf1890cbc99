"""Restore an event that Flume's gzip decorator has packed."""

import zlib

from ingest.api import ByteSize, DecorateError, Decorator, Event, Example, Settings, option
from ingest.formats.flume_record import records_in

_PACKED = "compressGzip"
_GZIP = 31  # zlib's way to say: with a head of gzip


class GunzipSettings(Settings):
    """Options of the gunzip decorator."""

    max_bytes: ByteSize = option(
        "Largest event, unpacked; a larger one fails, for a few bytes can be made to unpack to any number.",
        default="16MiB",
        gt=0,
    )


class Gunzip(Decorator[GunzipSettings]):
    """
    Restore the event in the attribute compressGzip: body, time, priority, nanos, host and attributes.

    Events without that attribute pass as they are. Where the record came from, and its key, stay those of the record.

    Source: Flume decorator `gunzip`, the other half of `gzip`.
    """

    kind = "gunzip"
    examples = (
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
            raise DecorateError(f"the attribute {_PACKED} holds no packed event: {error}", code="bad_gzip") from error
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
    return content
