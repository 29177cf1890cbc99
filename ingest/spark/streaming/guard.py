"""Replaces the frame of a micro-batch by one that reads only what the memory of Spark can hold."""

from collections.abc import Callable
from typing import NamedTuple

from pyspark.sql import DataFrame

from ingest.receipt import Counts


class Guarded(NamedTuple):
    """
    A micro-batch of which some records are not read.

    Attributes:
        frame: the records that are read.
        dead_letters: for those that are not.
        counts: of those that are not.
        must_renew: whether the micro-batch may have written updates of those that are not: it must end, and run again
            at another time.
    """

    frame: DataFrame
    dead_letters: tuple[bytes, ...]
    counts: Counts
    must_renew: bool = False


Guard = Callable[[int, bool], Guarded | None]
"""
Given the time of a micro-batch, and whether its Spark job has failed: what to run in its place, None to run it as it
is. It raises an IngestError if that cannot be found out now.
"""


def unguarded(_batch_time_ms: int, _has_failed: bool) -> Guarded | None:  # noqa: FBT001 - as `Guard`
    """Runs each micro-batch as it is."""
    return None
