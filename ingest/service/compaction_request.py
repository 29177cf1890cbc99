"""The request for a compaction: of the command, over HTTP, and of a table's options."""

from typing import Self

from pydantic import ConfigDict, TypeAdapter, ValidationError

from ingest.api import ConfigError, Duration, Model, option

_DURATION: TypeAdapter[float] = TypeAdapter(Duration)
HOUR_MS = 3_600_000


class CompactionRequest(Model):
    """
    Which updates of a table are merged. In JSON: `{"older_than_ms": 3600000, "window_ms": 3600000}`.

    Attributes:
        older_than_ms: `--older-than`: updates that are younger, before the table's mark, stay as they are.
        window_ms: `--window`: updates are merged within windows of this length, since 1970.
    """

    model_config = ConfigDict(extra="forbid")

    older_than_ms: int = option("As `older_than`.", default=HOUR_MS, ge=0)
    window_ms: int = option("As `window`.", default=HOUR_MS, ge=1)

    @classmethod
    def of(cls, content: bytes) -> Self:
        """
        A request from its JSON.

        Raises:
            ConfigError: it is none.
        """
        try:
            return cls.model_validate_json(content or b"{}")
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the request"
            raise ConfigError(f"{place}: {first['msg']}", hint='send JSON as {"older_than_ms": 3600000}') from error

    @classmethod
    def from_durations(cls, older_than: str, window: str) -> Self:
        """
        A request from durations as `--older-than 10m` has them.

        Raises:
            ConfigError: one is no duration, or the window is shorter than a millisecond.
        """
        found = {
            "--older-than": _milliseconds("--older-than", older_than),
            "--window": _milliseconds("--window", window),
        }
        if not found["--window"]:
            raise ConfigError("--window is shorter than a millisecond")
        return cls(older_than_ms=found["--older-than"], window_ms=found["--window"])


def _milliseconds(name: str, text: str) -> int:
    try:
        return round(_DURATION.validate_python(text) * 1000)
    except ValidationError as error:
        raise ConfigError(f"{name}: {error.errors()[0]['msg']}") from error
