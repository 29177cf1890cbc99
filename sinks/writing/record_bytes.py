"""The bytes that the events of one record may write to a store or an archive, whatever a producer sends."""

from ingest.api import MappingError, Origin, RecordPlace
from ingest.api.event_errors import TooLargeError
from ingest.api.growth import max_grown

MAX_RECORD_BYTES = 256 << 20
"""Bytes that one record writes, if its source does not allow larger events."""
_PER_HELD_BYTE = 4


def max_record_bytes(max_event_bytes: int) -> int:
    """Four times what the events of a record may hold in memory (`max_grown`): they share what each of them writes."""
    return _PER_HELD_BYTE * max_grown(max_event_bytes)


class RecordBytes:
    """
    Counts what the events that a fan-out makes of one record write.

    Events of a fan-out share a value in memory, and each of them writes it: a few MiB may become many GB of cells. The
    first event of a record is not counted, since all others have a number above 0: an event without a fan-out costs one
    comparison.

    Args:
        max_bytes: that one record may write.
    """

    def __init__(self, max_bytes: int = MAX_RECORD_BYTES) -> None:
        self._max_bytes = max_bytes
        self._place: RecordPlace | None = None
        self._bytes = 0

    def begin(self) -> None:
        """Start a flush cycle, which may begin with the record that was counted last."""
        self._place = None

    def add(self, origin: Origin, size: int) -> None:
        """
        Count the bytes that an event of a fan-out writes.

        Raises:
            MappingError: they are too many, and so are those of each later event of the record.
        """
        place = origin[:3]
        if place != self._place:
            self._place, self._bytes = place, 0
        self._bytes += size
        if self._bytes > self._max_bytes:
            raise MappingError(
                f"the events made of this record would write more than {self._max_bytes >> 20} MiB",
                code=TooLargeError.code,
                hint="write a large value once, as with a condition `when`, and not with each event; or raise "
                "`max_event_bytes` of the source, of which events may write sixteen times as much",
            )
