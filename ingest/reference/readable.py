"""Readable forms of bytes and times, and the parser of times."""

from datetime import UTC, datetime

from ingest.api.errors import ConfigError
from ingest.api.notation import readable

__all__ = ["moment", "moment_of", "readable"]


def moment(timestamp_ms: int) -> str:
    """A time in ISO 8601 format, in UTC; the number itself if the year is outside 1 to 9999."""
    try:
        return (
            datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        )
    except (ValueError, OverflowError, OSError):
        return str(timestamp_ms)


def moment_of(text: str) -> int:
    """
    Milliseconds since 1970 of a time in ISO 8601 format; UTC if it has no zone.

    Raises:
        ConfigError: it is not a time.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(
            f'"{text}" is not a time', hint='write it as in "2026-01-31" or "2026-01-31T12:00:00Z"'
        ) from error
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
