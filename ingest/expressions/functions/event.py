"""Functions that identify an event by its origin; the same on every replay."""

import uuid
from collections.abc import Callable
from hashlib import sha1

from ingest.api.event import Event, Origin
from ingest.api.notation import name_to_bytes
from ingest.expressions.functions.function import Function, FunctionExample, Kind, Parameter

_IDENTITY = frozenset({"topic", "partition", "offset", "fan_out"})
_VARIANTS = {f"{digit:x}": "89ab"[digit % 4] for digit in range(16)}  # the upper two bits are 10
EVENTS = uuid.uuid5(uuid.NAMESPACE_URL, "urn:attr2hbase:event")
"""Namespace of the UUIDs derived from origins."""


def identity(event: Event) -> bytes:
    """Topic, partition, offset, and the fan-out index if it is not 0."""
    topic, partition, offset, fan_out = event.origin
    place = b"%b:%d:%d" % (name_to_bytes(topic), partition, offset)
    return b"%b:%d" % (place, fan_out) if fan_out else place


def _origin() -> Callable[[Event], bytes]:
    return identity


def _fan_out() -> Callable[[Event], int]:
    return lambda event: event.origin.fan_out


def uuid5(namespace: bytes, name: bytes) -> bytes:
    """
    The text of `uuid.uuid5` for a namespace of 16 bytes and any bytes as a name, in a third of its time.

    Source: RFC 9562, 5.5.
    """
    text = sha1(namespace + name, usedforsecurity=False).hexdigest()
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{_VARIANTS[text[16]]}{text[17:20]}-{text[20:32]}".encode("ascii")


def _uuid(salt: bytes) -> Callable[[Event], bytes]:
    namespace = uuid.uuid5(EVENTS, salt.hex()).bytes if salt else EVENTS.bytes
    return lambda event: uuid5(namespace, identity(event))


def _seventh() -> Event:
    return Event(b"", origin=Origin("ticks", 0, 7))


FUNCTIONS = (
    Function(
        "origin",
        "The identity of the event: topic, partition, offset and, if it is not 0, the fan-out index, separated by "
        "colons.",
        _origin,
        (),
        (
            FunctionExample("%{origin()}", "ticks:0:7", event=_seventh),
            FunctionExample("%{origin()}", "ticks:0:7:2", event=lambda: Event(b"", origin=Origin("ticks", 0, 7, 2))),
        ),
        of_event=True,
        reads=_IDENTITY,
    ),
    Function(
        "fan_out",
        "The index of the event among those produced from one record; 0 without a fan-out.",
        _fan_out,
        (),
        (
            FunctionExample("%{fan_out()}", "0", event=_seventh),
            FunctionExample("%{fan_out()}", "2", event=lambda: Event(b"", origin=Origin("ticks", 0, 7, 2))),
        ),
        of_event=True,
        reads=frozenset({"fan_out"}),
        gives_number=True,
    ),
    Function(
        "uuid",
        "A version 5 UUID derived from the event's origin: a replay produces the same one.",
        _uuid,
        (Parameter("salt", Kind.TEXT, "selects another series of ids", required=False, default=b""),),
        (
            FunctionExample("%{uuid()}", "b6ba09f2-a1a0-5e62-8516-14fe603aa893", event=_seventh),
            FunctionExample("%{uuid('orders')}", "53835c4d-af6e-5f54-9aac-ecd90adab1ec", event=_seventh),
        ),
        of_event=True,
        reads=_IDENTITY,
    ),
)
