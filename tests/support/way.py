"""A sink with its mutator, for tests of both."""

from typing import Any

from sinks.mapping.mapper import Mapper
from sinks.writing.messages import RejectedRows
from sinks.writing.mutator import BufferedMutator
from sinks.writing.writer import Writer


class Way:
    """The calls of a task to a writer and its mutator."""

    def __init__(self, mapper: Mapper[Any], mutator: BufferedMutator) -> None:
        self.begin, self.flush, self.close = mutator.begin, mutator.flush, mutator.close
        self.split_end = mutator.split_end
        self.write = Writer(mapper, mutator).write
        self._mutator = mutator

    @property
    def needs_families(self) -> dict[str, set[bytes]]:
        """Missing families that the flush cycle needs."""
        return self._mutator.families.needed

    @property
    def refused(self) -> RejectedRows:
        """Rows that the store refused permanently."""
        return self._mutator.refused
