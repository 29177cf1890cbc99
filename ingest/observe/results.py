"""What metrics record of Spark."""

from typing import NamedTuple


class JvmMemory(NamedTuple):
    """
    The memory of Spark's driver JVM.

    Attributes:
        heap_used_bytes: of the heap.
        heap_max_bytes: that the heap may have.
        gc_seconds: time of garbage collections since the JVM started.
    """

    heap_used_bytes: int
    heap_max_bytes: int
    gc_seconds: float
