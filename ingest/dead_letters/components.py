"""The components of a pipeline, and what the dead letters of earlier ones tell about them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.dead_letters.envelope import DeadLetter


@dataclass(frozen=True, slots=True)
class Components:
    """
    The present names of a pipeline's components; a dead letter names the component in which it failed.

    Attributes:
        tables: sink -> the table that it names, as in `DeadLetter.table`.
        numbered: the sinks without a label whose names have their positions, so other sinks may have had these names.
        decorator_kinds: kinds of which components have been decorators, whatever their position.
        fingerprint: of the pipeline's configuration.
    """

    sinks: frozenset[str]
    decorators: frozenset[str]
    tables: Mapping[str, str] = field(default_factory=dict)
    numbered: frozenset[str] = frozenset()
    decorator_kinds: frozenset[str] = frozenset()
    fingerprint: str = ""

    @property
    def alone(self) -> frozenset[str]:
        """Sinks whose dead letters can be replayed into them alone: no component before the sinks has their name."""
        return self.sinks - self._before

    def lacks(self, component: str) -> bool:
        """Whether no component has this name, so that the sinks which have stored the event are unknown."""
        return component not in self.sinks | self._before

    def is_unsure(self, letter: DeadLetter) -> bool:
        """
        Whether it is unknown which of the present sinks have not stored the event of a dead letter.

        A dead letter of an earlier version does not say whether its component was a sink, and of which table.
        """
        name, table = letter.component, letter.table
        may_have_moved = name in self.numbered and letter.fingerprint != self.fingerprint
        if table is None:
            return may_have_moved or (self.lacks(name) and name.partition("#")[0] not in self.decorator_kinds)
        if table == "":
            return False
        if name not in self.sinks:
            return True
        written = list(self.tables.values())
        if self.tables.get(name) == table:
            return may_have_moved and written.count(table) > 1
        return name in self.numbered or table in written

    @property
    def _before(self) -> frozenset[str]:
        return self.decorators | {"source"}
