"""Which partitions of a pipeline have series of their own: their number is bounded."""

from ingest.api import TopicPartition

MAX_PARTITIONS = 1_000  # with series of their own, per pipeline and metric


class Partitions:
    """The first partitions of a pipeline, which have series of their own, and the sum of the values of the others."""

    def __init__(self) -> None:
        self._own: set[TopicPartition] = set()
        self._others: dict[TopicPartition, int] = {}
        self._sum = 0

    def is_own(self, partition: TopicPartition) -> bool:
        """Whether a partition has a series of its own; it gets one if there are not too many."""
        if partition not in self._own and len(self._own) < MAX_PARTITIONS:
            self._own.add(partition)
        return partition in self._own

    def sum_of_others(self, partition: TopicPartition, value: int) -> int:
        """Set the value of a partition without a series; returns the sum of all of them."""
        self._sum += value - self._others.get(partition, 0)
        self._others[partition] = value
        return self._sum
