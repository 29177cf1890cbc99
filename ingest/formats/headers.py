"""Headers that set core fields of an event: `host`, `priority` and `nanos`; all others become attributes."""

from typing import NamedTuple

from ingest.api.errors import DecodeError
from ingest.api.event import Event, Priority
from ingest.api.notation import name_from_bytes, shown_start

CORE_NAMES = frozenset({"host", "priority", "nanos"})
_PRIORITIES = {priority.value.encode(): priority for priority in Priority}
_INT64 = range(-(2**63), 2**63)
_MAX_INT64_CHARS = 20  # digits and sign; longer text is rejected without parsing


class BadCoreHeaderError(DecodeError):
    """The header priority or nanos has an invalid value."""

    code = "bad_header"
    remedy = "Correct the producer; `attr2hbase dead-letters show` prints the header."


class CoreFields(NamedTuple):
    """Core fields from headers; None for a header that is missing."""

    host: str | None
    priority: Priority | None
    nanos: int | None

    def apply_to(self, event: Event) -> None:
        """Set the event's fields, except missing ones."""
        if self.host is not None:
            event.host = self.host
        if self.priority is not None:
            event.priority = self.priority
        if self.nanos is not None:
            event.nanos = self.nanos


def take_core_fields(headers: dict[str, bytes]) -> CoreFields:
    """
    Remove the core fields from the headers and return them.

    Raises:
        DecodeError: the priority is unknown, or the nanos are not a 64-bit number.
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
        raise BadCoreHeaderError(
            f"the header priority is {shown_start(text)}",
            hint=f"it must be one of {', '.join(Priority)}",
        )
    return priority


def _nanos(text: bytes) -> int:
    digits = text[1:] if text[:1] == b"-" else text
    if digits.isdigit() and len(text) <= _MAX_INT64_CHARS and (nanos := int(text)) in _INT64:
        return nanos
    raise BadCoreHeaderError(
        f"the header nanos is {shown_start(text)}",
        hint="it must be a 64-bit whole number",
    )
