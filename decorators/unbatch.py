"""Unpack the events of a Flume batch."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from struct import Struct

from ingest.api import DecorateError, Event, Example, FanOut, Settings
from ingest.api.event import MAX_EVENTS_OF_A_RECORD
from ingest.decorating.errors import TooManyPartsError
from ingest.formats.flume_record import records_in

_SIZE, _DATA = "batchSize", "batchData"
_INT = Struct(">i")


class BadBatchError(DecorateError):
    """The attributes batchSize and batchData do not contain a batch of Flume events."""

    code = "bad_batch"


def _record(body: str) -> bytes:
    """For the examples: an event with a body only, as Flume writes it."""
    return _INT.pack(len(body)) + body.encode() + Struct(">qiqHi").pack(0, 3, 0, 0, 0)


class UnbatchSettings(Settings):
    """Options of the unbatch decorator: those of every decorator."""

    def reads(self) -> frozenset[str]:
        """The attributes of the batch."""
        return frozenset([f"attribute:{_SIZE}", f"attribute:{_DATA}"])

    def sets_core(self) -> frozenset[str]:
        """All fields that the batch has for each event."""
        return frozenset(["body", "timestamp", "nanos", "host", "priority"])


class Unbatch(FanOut[UnbatchSettings]):
    """
    Emit the events that Flume's batch decorator packed into one, in their order.

    Events without the attributes batchSize and batchData pass unchanged. Each inner event gets its own body, time,
    priority, nanos, host and attributes; the origin and the key stay those of the record. For arrays, lines and other
    sequences, use `explode`.

    Source: Flume decorator `unbatch`, the inverse of `batch`.
    """

    kind = "unbatch"
    examples = (
        Example(
            "a batch of two",
            attributes={"batchSize": "\0\0\0\2", "batchData": _record("first") + _record("second")},
            made=(("first", {}), ("second", {})),
        ),
        Example("an event that is not a batch", body="plain", attributes={"a": "1"}),
        Example(
            "an empty batch",
            attributes={"batchSize": "\0\0\0\0", "batchData": ""},
            dropped=True,
        ),
        Example(
            "a truncated batch",
            attributes={"batchSize": "\0\0\0\1", "batchData": "\0\0\0\5ab"},
            error="bad_batch",
        ),
    )

    def decorate(self, event: Event) -> Iterable[Event]:
        """Emit the inner events."""
        size, data = event.attributes.get(_SIZE), event.attributes.get(_DATA)
        if size is None or data is None:
            return [event]
        try:
            records = list(islice(records_in(data), MAX_EVENTS_OF_A_RECORD + 1))
        except ValueError as error:
            raise BadBatchError(f"the attribute {_DATA} does not contain events: {error}") from error
        if len(records) > MAX_EVENTS_OF_A_RECORD:
            message = f"the attribute {_DATA} contains more than {MAX_EVENTS_OF_A_RECORD:,} events"
            raise TooManyPartsError(message)
        if len(size) != _INT.size or _INT.unpack(size) != (len(records),):
            raise BadBatchError(f"the attribute {_DATA} contains {len(records)} events, but {_SIZE} is 0x{size.hex()}")
        return (
            replace(
                event,
                body=record.body,
                attributes=record.attributes,
                timestamp_ms=record.timestamp_ms,
                nanos=record.nanos,
                host=record.host,
                priority=record.priority,
            )
            for record in records
        )
