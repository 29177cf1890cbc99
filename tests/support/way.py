"""One sink and its way into a store."""

from typing import Any

from sinks.mapping.mapper import Mapper
from sinks.writing.messages import RefusedRows
from sinks.writing.mutator import BufferedMutator
from sinks.writing.writer import Writer


class Way:
    """What a task does with a writer and the mutator below it, for tests of both."""

    def __init__(self, mapper: Mapper[Any], mutator: BufferedMutator) -> None:
        self.begin, self.flush, self.close = mutator.begin, mutator.flush, mutator.close
        self.split_end = mutator.split_end
        self.write = Writer(mapper, mutator).write
        self._mutator = mutator

    @property
    def needs_families(self) -> dict[str, set[bytes]]:
        """Those that the round met and that have to be made."""
        return self._mutator.families.needed

    @property
    def refused(self) -> RefusedRows:
        """Rows that the store can never write."""
        return self._mutator.refused
