"""Tables that a pipeline has taken over from another one, and has not written since."""

from collections.abc import Mapping
from typing import NamedTuple

from sinks.owning.committed_position import CommittedPosition


class Taken(NamedTuple):
    """
    A table that was taken over, and not written since.

    Attributes:
        ours_ms: batch time up to which this pipeline completed it, when it owned it; -1 if it did not.
        theirs_ms: batch time up to which others completed it after that.
        offsets: of this pipeline, at the first of these times.
    """

    ours_ms: int
    theirs_ms: int
    offsets: Mapping[str, object]


NOT_TAKEN = Taken(-1, -1, {})


def taken_over(former: Mapping[str, CommittedPosition], pipeline: str, committed_ms: int) -> Taken | None:
    """
    What is known of a table if others have completed it after this pipeline; None if it has written it since.

    Args:
        former: former owner -> the committed position at which it lost the table.
        pipeline: the owner.
        committed_ms: time of the present committed position; -1 without one.
    """
    theirs = [committed.time_ms for name, committed in former.items() if name != pipeline]
    if not theirs or committed_ms > max(theirs):
        return None
    ours = former.get(pipeline, CommittedPosition(-1, {}))
    return Taken(ours.time_ms, max(theirs), ours.offsets)
