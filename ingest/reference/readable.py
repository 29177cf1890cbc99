r"""
Readable forms of bytes and times, and the parser of times; that of bytes is `from_readable` of `ingest.api.notation`.

Bytes are shown as text, with `\xNN` for bytes that are not printable. The text can be passed back on the command line:
a backslash before an `x` is shown as `\x5c`, all other backslashes are literal.
"""

from datetime import UTC, datetime

from ingest.api.errors import ConfigError


def readable(value: bytes) -> str:
    """Bytes as text on one line."""
    text = value.decode("utf-8", "surrogateescape")
    if text.isprintable() and "\\x" not in text:
        return text
    return "".join(_shown(character, escape=text.startswith("\\x", place)) for place, character in enumerate(text))


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


def _shown(character: str, *, escape: bool) -> str:
    if character.isprintable() and not escape:
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
