"""The slices of a background job: one after the other, until no range remains."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

from ingest.api import IngestError
from ingest.service.jobs.cancellation import Cancellation

UNAVAILABLE_S = 600.0
"""How long a store or a root may be unavailable before the job fails: longer than HBase takes to move regions."""
PAUSE_S = 3.0


class SliceResult(Protocol):
    """
    The result of a slice.

    Attributes:
        remaining: the ranges, or the rest of them, that are left.
        error: why some are left, if a store or a root is unavailable; None if there was no time left.
    """

    @property
    def remaining(self) -> Sequence[Any]: ...  # noqa: D102

    @property
    def error(self) -> IngestError | None: ...  # noqa: D102


_R = TypeVar("_R")
_U = TypeVar("_U", bound=SliceResult)


def slices(
    ranges: Sequence[_R],
    run: Callable[[Sequence[_R]], _U],
    *,
    activity: str,
    new_slice: Callable[[], AbstractContextManager[None]] = nullcontext,
    cancellation: Cancellation | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[_U]:
    """
    Run slices until no range remains; yields the result of each.

    A slice whose store is unavailable is repeated after a pause. The job fails when no range has advanced for
    `UNAVAILABLE_S`.

    Args:
        ranges: of the job.
        run: runs one slice on the ranges that remain.
        activity: for the message, as in `dump`.
        new_slice: surrounds each slice.
        cancellation: ends the job between two slices.
        clock: monotonic seconds.

    Raises:
        ConflictError: the job was cancelled.
        IngestError: of a slice; of an unavailable store after `UNAVAILABLE_S`.
    """
    cancellation = cancellation or Cancellation()
    remaining, blocked_since_s = ranges, None
    while remaining:
        cancellation.check(activity)
        with new_slice():
            ended = run(remaining)
        yield ended
        if ended.error is None or {*ended.remaining} != {*remaining}:
            blocked_since_s = None
        if ended.error is not None:
            blocked_since_s = clock() if blocked_since_s is None else blocked_since_s
            if clock() - blocked_since_s >= UNAVAILABLE_S:
                raise ended.error
            cancellation.wait(PAUSE_S)
        remaining = ended.remaining
