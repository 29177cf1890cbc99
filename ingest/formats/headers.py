"""Headers that are core fields of an event: `host`, `priority` and `nanos`; all others are attributes."""

from typing import NamedTuple

from ingest.api.errors import DecodeError
from ingest.api.event import Event, Priority
from ingest.api.notation import name_from_bytes, shown_start

_PRIORITIES = {priority.value.encode(): priority for priority in Priority}
_INT64 = range(-(2**63), 2**63)
_MAX_INT64_CHARS = 20  # digits and sign; longer text is refused before it is turned into a number


class CoreFields(NamedTuple):
    """What headers say of an event's core fields; None for what they do not say."""

    host: str | None
    priority: Priority | None
    nanos: int | None

    def give(self, event: Event) -> None:
        """Make them the event's."""
        if self.host is not None:
            event.host = self.host
        if self.priority is not None:
            event.priority = self.priority
        if self.nanos is not None:
            event.nanos = self.nanos


def take_core_fields(headers: dict[str, bytes]) -> CoreFields:
    """
    Take them out of the headers.

    Raises:
        DecodeError: the priority is none, or the nanos are no number of 64 bits.
    """
    host = headers.pop("host", None)
    priority = headers.pop("priority", None)
    nanos = headers.pop("nanos", None)
    return CoreFields(
        None if host is None else name_from_bytes(host),
        None if priority is None else _priority(priority),
        None if nanos is None else _nanos(nanos),
    )


def _priority(text: bytes) -> Priority:
    priority = _PRIORITIES.get(text) or _PRIORITIES.get(text.upper())
    if priority is None:
        raise DecodeError(
            f"the header priority holds {shown_start(text)}",
            code="bad_header",
            hint=f"it must be one of {', '.join(Priority)}",
        )
    return priority


def _nanos(text: bytes) -> int:
    digits = text[1:] if text[:1] == b"-" else text
    if digits.isdigit() and len(text) <= _MAX_INT64_CHARS and (nanos := int(text)) in _INT64:
        return nanos
    raise DecodeError(
        f"the header nanos holds {shown_start(text)}",
        code="bad_header",
        hint="it must be a whole number of 64 bits",
    )
