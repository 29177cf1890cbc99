"""The record of an event."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from ingest.api import Event, Model, option
from ingest.api.notation import to_notation
from ingest.decorating.choices import OnMissing
from ingest.expressions import Template
from ingest.kafka.stored import NO_TIME


class RecordTime(StrEnum):
    """The timestamp of a record."""

    EVENT = "event"
    NONE = "none"


class PartOptions(Model):
    """The key, the value or a header of a record."""

    template: Template = option("Template of the bytes.", example="%{user}")
    on_missing: OnMissing | None = option(
        "If the event lacks an attribute of the template, or the key: it is `empty` text, the record has no such part "
        "(`unset`), so that without a value it is a tombstone, or the event fails (`error`). Default: `error` for the "
        "value, else `unset`.",
        default=None,
        strict=False,
    )


class SinkRecord(NamedTuple):
    """
    A record to send.

    Attributes:
        key: None for none.
        value: None for a tombstone.
        timestamp_ms: `NO_TIME` for none.
    """

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]
    timestamp_ms: int

    @property
    def size(self) -> int:
        """Bytes of key, value and headers."""
        headers = sum(len(name) + len(value) for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers

    def shown(self) -> dict[str, object]:
        """The parts by name, as data for JSON; a header is `headers.NAME`."""
        return {
            "key": None if self.key is None else to_notation(self.key),
            "value": None if self.value is None else to_notation(self.value),
            **{f"headers.{name}": to_notation(value) for name, value in self.headers},
            "timestamp_ms": None if self.timestamp_ms == NO_TIME else self.timestamp_ms,
        }


def record_maker(
    key: PartOptions, value: PartOptions, headers: Mapping[str, PartOptions], time: RecordTime
) -> Callable[[Event], SinkRecord]:
    """
    The function that makes the record of an event; it raises EventError as its templates.

    An event that is a tombstone, of a record without a value, makes a tombstone.
    """
    key_of = key.template.renderer(key.on_missing or OnMissing.UNSET)
    value_of = value.template.renderer(value.on_missing or OnMissing.ERROR)
    header_of = [(name, each.template.renderer(each.on_missing or OnMissing.UNSET)) for name, each in headers.items()]
    has_time = time is RecordTime.EVENT

    def record_of(event: Event) -> SinkRecord:
        found = [(name, content) for name, of in header_of if (content := of(event)) is not None] if header_of else ()
        return SinkRecord(
            key_of(event),
            None if event.tombstone else value_of(event),
            found,
            event.timestamp_ms if has_time and event.timestamp_ms >= 0 else NO_TIME,
        )

    return record_of
