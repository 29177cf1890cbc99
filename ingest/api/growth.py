"""How large a value, and all events of a record, may become: the one limit of everything that makes bytes of bytes."""

from ingest.api.event import Event
from ingest.api.event_errors import TooLargeError

EVENT_BYTES, ENTRY_BYTES, OBJECT_BYTES = 500, 40, 40
"""Memory in CPython 3.11, besides the bytes themselves: of an event; of an attribute; of a name or a value."""
MAX_GROWN_BYTES = 64 << 20
_MAX_GROWTH = 4


def max_grown(size: int) -> int:
    """Bytes that may be made of `size` bytes: 64 MiB, or four times as many if that is more."""
    return max(MAX_GROWN_BYTES, _MAX_GROWTH * size)


def held_by(event: Event) -> int:
    """Bytes of memory that an event takes, if it shares nothing with others."""
    attributes = event.attributes
    in_attributes = len("".join(attributes)) + len(b"".join(attributes.values()))
    return EVENT_BYTES + (ENTRY_BYTES + 2 * OBJECT_BYTES) * len(attributes) + len(event.body) + in_attributes


def check_grown(made: int, size: int) -> None:
    """
    Check how many bytes a replacement makes of a text.

    Args:
        made: bytes of the result, or of its parts so far.
        size: bytes of the text.

    Raises:
        DecorateError: these are too many.
    """
    if made > max_grown(size):
        raise TooLargeError(
            f"a text of {size} bytes would become one of more than {max_grown(size) >> 20} MiB",
            hint="shorten the replacement, or replace fewer places",
        )
