"""The request for a compaction: of the command, over HTTP, and of a table's options."""

from typing import Self

from pydantic import ConfigDict

from ingest.api import ConfigError, Model, option
from ingest.config.tables import DEFAULT_SPAN
from ingest.formats.durations import milliseconds
from ingest.service.request import request_of

_DEFAULT_MS = milliseconds("older_than", DEFAULT_SPAN)


class CompactionRequest(Model):
    """
    Which updates of a table are merged. In JSON: `{"older_than_ms": 3600000, "window_ms": 3600000}`.

    Attributes:
        older_than_ms: `--older-than`: updates that are younger, before the table's mark, stay as they are.
        window_ms: `--window`: updates are merged within windows of this length, since 1970.
    """

    model_config = ConfigDict(extra="forbid")

    older_than_ms: int = option("As `older_than`.", default=_DEFAULT_MS, ge=0)
    window_ms: int = option("As `window`.", default=_DEFAULT_MS, ge=1)

    @classmethod
    def of(cls, content: bytes) -> Self:
        """
        A request from its JSON.

        Raises:
            ConfigError: it is none.
        """
        return request_of(cls, content, 'send JSON as {"older_than_ms": 3600000}')

    @classmethod
    def from_durations(cls, older_than: str | None, window: str | None) -> Self:
        """
        A request from durations as `--older-than 10m` has them; the default for None.

        Raises:
            ConfigError: one is no duration, or the window is shorter than a millisecond.
        """
        found = {
            "--older-than": milliseconds("--older-than", older_than or DEFAULT_SPAN),
            "--window": milliseconds("--window", window or DEFAULT_SPAN),
        }
        if not found["--window"]:
            raise ConfigError("--window is shorter than a millisecond")
        return cls(older_than_ms=found["--older-than"], window_ms=found["--window"])
