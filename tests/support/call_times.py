"""Times of calls for tests."""

from ingest.call_times import CallTimes


def timed(calls: int, total_ns: int) -> CallTimes:
    """So many calls of the same time."""
    return CallTimes([((total_ns // calls).bit_length(), calls, total_ns)])
