"""Records that the broker refuses, in messages between driver and tasks."""

from collections.abc import Iterable, Mapping

import msgpack

from ingest.api import Origin

Refused = Mapping[Origin, tuple[str, str]]
"""Origin of an event -> error code and message."""


def packed(refused: Refused) -> bytes:
    """As bytes for `unpacked`."""
    content: bytes = msgpack.packb([(*origin, *why) for origin, why in refused.items()])
    return content


def unpacked(messages: Iterable[bytes]) -> dict[Origin, tuple[str, str]]:
    """The records of several messages."""
    found: dict[Origin, tuple[str, str]] = {}
    for message in messages:
        for topic, partition, offset, fan_out, code, why in msgpack.unpackb(message):
            found[Origin(topic, partition, offset, fan_out)] = code, why
    return found
