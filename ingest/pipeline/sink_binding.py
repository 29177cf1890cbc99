"""A sink as a task calls it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from ingest.api import Event, OnError
from ingest.expressions import Condition

_SINKS = "sinks"  # the package of their code


@dataclass(frozen=True, slots=True)
class SinkBinding:
    """
    A sink of a pipeline: its name in errors, its write call, its failure action, and the condition of its events.

    Attributes:
        write: as `ingest.api.SinkWriter.write`.
        count_excluded: called for each event that does not meet the condition; returns the number of earlier calls.
        module: of the sink's class, and provider as in `ingest.config.model.Component`, for messages about its bugs.
    """

    name: str
    write: Callable[[Event], str | None]
    on_error: OnError
    condition: Condition | None = None
    module: str = _SINKS
    provider: str = ""
    count_excluded: Callable[[], int] = field(default_factory=lambda: count().__next__, compare=False)
