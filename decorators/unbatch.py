"""Take the events out of one of Flume's batches."""

from dataclasses import replace
from struct import Struct

from ingest.api import DecorateError, Event, Example, FanOut, Settings
from ingest.formats.flume_record import records_in

_SIZE, _DATA = "batchSize", "batchData"
_INT = Struct(">i")


def _record(body: str) -> bytes:
    """An event as Flume writes it, with a body alone, for the examples."""
    return _INT.pack(len(body)) + body.encode() + Struct(">qiqHi").pack(0, 3, 0, 0, 0)


class UnbatchSettings(Settings):
    """Options of the unbatch decorator: those that every decorator has."""

    def reads(self) -> frozenset[str]:
        """The batch."""
        return frozenset([f"attribute:{_SIZE}", f"attribute:{_DATA}"])

    def sets_core(self) -> frozenset[str]:
        """All that the batch holds of each event."""
        return frozenset(["body", "timestamp", "nanos", "host", "priority"])


class Unbatch(FanOut[UnbatchSettings]):
    """
    Give the events that Flume's batch decorator has put into one, in their order.

    Events without the attributes batchSize and batchData pass as they are. Each inner event has the body, time,
    priority, nanos, host and attributes it had; where the record came from, and its key, are those of the record. For
    arrays, lines and other sequences there is `explode`.

    Source: Flume decorator `unbatch`, the other half of `batch`.
    """

    kind = "unbatch"
    examples = (
        Example(
            "a batch of two",
            attributes={"batchSize": "\0\0\0\2", "batchData": _record("first") + _record("second")},
            made=(("first", {}), ("second", {})),
        ),
        Example("an event that is no batch", body="plain", attributes={"a": "1"}),
        Example(
            "a batch of none",
            attributes={"batchSize": "\0\0\0\0", "batchData": ""},
            dropped=True,
        ),
        Example(
            "a batch that is cut off",
            attributes={"batchSize": "\0\0\0\1", "batchData": "\0\0\0\5ab"},
            error="bad_batch",
        ),
    )

    def decorate(self, event: Event) -> list[Event]:
        """Give the inner events."""
        size, data = event.attributes.get(_SIZE), event.attributes.get(_DATA)
        if size is None or data is None:
            return [event]
        try:
            records = list(records_in(data))
        except ValueError as error:
            raise DecorateError(f"the attribute {_DATA} does not hold events: {error}", code="bad_batch") from error
        if len(size) != _INT.size or _INT.unpack(size) != (len(records),):
            raise DecorateError(
                f"the attribute {_DATA} holds {len(records)} events, {_SIZE} says 0x{size.hex()}", code="bad_batch"
            )
        return [
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
        ]
