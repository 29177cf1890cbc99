"""Types of the options of jobs, as their commands and requests have them: text that has a meaning."""

from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ingest.api import ConfigError
from ingest.formats.times import moment_of


def _moment(value: object) -> int:
    try:
        return moment_of(value if isinstance(value, str) else f"{value!r}")
    except ConfigError as error:
        raise PydanticCustomError(
            "bad_time", "{problem}; {hint}", {"problem": error.message, "hint": error.hint}
        ) from None


Moment = Annotated[int, BeforeValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})]
"""Milliseconds since the epoch; written as a time in ISO 8601, in UTC if it has no zone."""

Id = Annotated[str, WithJsonSchema({"type": "string", "format": "id"})]
"""An id; the help of a command names it ID."""

LocalPath = Annotated[str, WithJsonSchema({"type": "string", "format": "path"})]
"""A path, or a URL; a command makes a relative path absolute, since the service may run in another folder."""

Position = Annotated[str, WithJsonSchema({"type": "string", "format": "position"})]
"""A position in topics, or the path of a file of offsets, as `LocalPath`."""

Value = Annotated[str, WithJsonSchema({"type": "string", "format": "value"})]
"""Any other text; the help of a command names it VALUE."""
