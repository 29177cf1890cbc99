"""Reject, drop or cut events that are too large."""

from enum import StrEnum
from typing import ClassVar

from ingest.api import ByteSize, Decorator, Event, Example, Settings, option
from ingest.api.event_errors import TooLargeError
from ingest.api.notation import name_to_bytes
from ingest.decorating.in_place import cut


class OnLarger(StrEnum):
    """The action for an event that is too large."""

    ERROR = "error"
    DROP = "drop"
    CUT = "cut"


class MaxSizeSettings(Settings):
    """Options of the max_size decorator."""

    other_names: ClassVar[None] = None

    max_bytes: ByteSize = option("Maximum size of an event.", example="256KiB", gt=0)
    on_larger: OnLarger = option(
        "A larger event fails (`error`), is dropped (`drop`), or its body is `cut` to fit; an event that is too large "
        "even without its body fails.",
        default="error",
        strict=False,
    )

    def sets_core(self) -> frozenset[str]:
        """The body, if it may be cut."""
        return frozenset(["body"]) if self.on_larger is OnLarger.CUT else frozenset()


class MaxSize(Decorator[MaxSizeSettings]):
    """
    Reject, drop or cut events that are larger than a number of bytes.

    The size of an event is the size of its body and of the names and values of its attributes. `max_event_bytes` of the
    source limits the record, before any decorator; this limits the event as previous decorators left it. A body is cut
    as by `truncate`.

    Source: own design; Flume rejected events above `flume.event.max.size.bytes`.
    """

    kind = "max_size"
    examples = (
        Example("small enough", settings="{max_bytes: 6B}", body="1234", attributes={"a": "1"}),
        Example("too large", settings="{max_bytes: 6B}", body="12345", attributes={"a": "1"}, error="too_large"),
        Example(
            "too large, with `on_larger: drop`",
            settings="{max_bytes: 6B, on_larger: drop}",
            body="1234567",
            dropped=True,
        ),
        Example(
            "too large, with `on_larger: cut`",
            settings="{max_bytes: 6B, on_larger: cut}",
            body="12345",
            attributes={"a": "1"},
            body_after="1234",
        ),
    )

    def __init__(self, settings: MaxSizeSettings) -> None:
        super().__init__(settings)
        self._max_bytes = settings.max_bytes
        self._on_larger = settings.on_larger

    def decorate(self, event: Event) -> bool:
        """Check the size of the event."""
        others = sum(map(len, event.attributes.values())) + sum(map(_length, event.attributes))
        size = others + len(event.body)
        if size <= self._max_bytes:
            return True
        if self._on_larger is OnLarger.DROP:
            return False
        if self._on_larger is OnLarger.CUT and others <= self._max_bytes:
            event.body = cut(event.body, self._max_bytes - others)
            return True
        raise TooLargeError(f"the event has {size} bytes, more than {self._max_bytes}")


def _length(name: str) -> int:
    return len(name) if name.isascii() else len(name_to_bytes(name))
