"""
The committed position of a table: up to which batch time its update rows are complete.

The pipeline that owns the table moves the committed position as its last act before it acknowledges a micro-batch. What
is above the committed position belongs to a micro-batch that may run again; compaction, rollback and reads of changes
stop at the committed position.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ingest.durable.record import Record

OWNER, COMMITTED, FORMER = "owner", "committed", "former_owners"
"""
Names of the properties of a table: the pipeline that writes it, its committed position, and its former owners.
"""


@dataclass(frozen=True, slots=True)
class CommittedPosition(Record, kind="committed position of table", format=2):
    """
    The newest complete micro-batch of a table.

    Attributes:
        time_ms: its batch time.
        offsets: the end of the micro-batch, as its source writes it to the checkpoint.
        topic_ids: of Kafka's topics, by name, as far as they are known: a recreated topic has the same name, another id
            and other records.
        after_ms: batch time of the committed position before; -1 for none. A table that is still there has all of the
            micro-batch as well: it is durable before the first committed position moves.
    """

    time_ms: int
    offsets: Mapping[str, object]
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    after_ms: int = -1

    @classmethod
    def upgraded(cls, content: dict[str, Any], number: int) -> dict[str, Any]:  # noqa: ARG003 - there is one
        """The committed position of 0.2.0, without the one before."""
        return {**content, "after_ms": -1}


@dataclass(frozen=True, slots=True)
class FormerOwners(Record, kind="record of former owners of table", format=2):
    """
    The pipelines that had the table before.

    Attributes:
        positions: pipeline -> its committed position when another one took the table over, with the time -1 if it had
            none.
    """

    positions: Mapping[str, CommittedPosition]


def former_owners(text: str | None, table: str) -> dict[str, CommittedPosition]:
    """
    The value of the property `FORMER`: pipeline -> its committed position, with the time -1 if it had none.

    Raises:
        IntegrityError: it is none; the message names the table.
    """
    return {} if text is None else {**FormerOwners.of(text, table).positions}


def later_offsets(one: Mapping[str, object], other: Mapping[str, object]) -> dict[str, object]:
    """The later of two offsets of a source, place by place; a place that only one of them has is kept."""
    common = {name: _later(one[name], other[name]) for name in one.keys() & other.keys()}
    return {**one, **other, **common}


def _later(one: object, other: object) -> object:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return later_offsets(one, other)
    return max(one, other) if isinstance(one, int) and isinstance(other, int) else other
