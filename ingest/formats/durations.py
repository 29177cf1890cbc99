"""Durations as text, in options of commands."""

from pydantic import TypeAdapter, ValidationError

from ingest.api import ConfigError, Duration

_DURATION: TypeAdapter[float] = TypeAdapter(Duration)


def seconds(option: str, text: str) -> float:
    """
    The seconds of a duration as in `10m` or `7d`.

    Args:
        option: for the message, as in `--keep`.
        text: of the duration.

    Raises:
        ConfigError: it is no duration.
    """
    try:
        return _DURATION.validate_python(text)
    except ValidationError as error:
        raise ConfigError(f"{option}: {error.errors()[0]['msg']}") from error


def milliseconds(option: str, text: str) -> int:
    """The rounded milliseconds of a duration; as `seconds`."""
    return round(seconds(option, text) * 1000)
