"""What lines of logs write of times, and what events keep of them."""

from datetime import UTC, datetime, timedelta

MONTHS = {name: number for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds_of(moment: datetime) -> int:
    """Milliseconds since 1970 of a moment with a zone, what is less than one left out."""
    return (moment - EPOCH) // _MILLISECOND


def iso_moment(text: bytes) -> datetime:
    """
    A moment as ISO 8601 and RFC 3339 write it.

    Raises:
        ValueError: it is none, or names no zone.
    """
    moment = datetime.fromisoformat(text.decode("ascii"))
    if moment.tzinfo is None:
        raise ValueError("it names no zone")
    return moment
