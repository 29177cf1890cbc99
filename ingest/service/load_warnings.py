"""Warnings in the log of rows that went as calls, although their table was to have files."""

import time
from collections import Counter
from collections.abc import Callable

from ingest.observe.activity import REASONS_OF_CALLS, loads_in
from ingest.observe.logs import logger
from ingest.receipt import Counts

EVERY_S = 600.0
"""Between two warnings of a table for one reason."""

_log = logger(__name__)


class LoadWarnings:
    """
    Warns of the bulk loads of a pipeline that went as calls, for each table and reason once in ten minutes.

    Not thread-safe.

    Args:
        pipeline: its name.
        clock: monotonic seconds.
    """

    def __init__(self, pipeline: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._pipeline = pipeline
        self._clock = clock
        self._chunks: Counter[tuple[str, str]] = Counter()  # since the newest warning
        self._warned_s: dict[tuple[str, str], float] = {}

    def durable(self, counts: Counts) -> None:
        """A micro-batch is durable; a warning has the chunks of it, and of those since the warning before."""
        now_s = self._clock()
        for table, load in loads_in(counts).items():
            for name, why in REASONS_OF_CALLS.items():
                key = table, name
                if not load[name]:
                    continue
                self._chunks[key] += load[name]
                warned_s = self._warned_s.get(key)
                if warned_s is None or now_s - warned_s >= EVERY_S:
                    self._warned_s[key] = now_s
                    chunks = self._chunks.pop(key)
                    _log.warning(
                        "rows went as calls in place of files",
                        pipeline=self._pipeline,
                        table=table,
                        chunks=chunks,
                        reason=why,
                    )
