"""
The mark of a table: up to which batch time its update rows are complete.

The pipeline that owns the table moves the mark as its last act before it acknowledges a micro-batch. What is above the
mark belongs to a micro-batch that may run again; compaction, rollback and reads of changes stop at the mark.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from ingest.api import IntegrityError

OWNER, MARK, FORMER = "owner", "mark", "former_owners"
"""
Names of the properties of a table: the pipeline that writes it, its mark, and the marks of former owners: a JSON
object, pipeline -> its mark when another pipeline took the table over.
"""


@dataclass(frozen=True, slots=True)
class TableMark:
    """
    The newest complete micro-batch of a table.

    Attributes:
        time_ms: its batch time.
        offsets: the end of the micro-batch, as its source writes it to the checkpoint.
        topic_ids: of Kafka's topics, by name, as far as they are known: a recreated topic has the same name, another id
            and other records.
    """

    time_ms: int
    offsets: Mapping[str, object]
    topic_ids: Mapping[str, str] = field(default_factory=dict)

    def to_text(self) -> str:
        """The mark as the value of a property."""
        return orjson.dumps(self.to_json(), option=orjson.OPT_SORT_KEYS).decode()

    def to_json(self) -> dict[str, object]:
        """The mark as plain data."""
        content: dict[str, object] = {"time": self.time_ms, "offsets": self.offsets}
        return content | ({"topic_ids": self.topic_ids} if self.topic_ids else {})

    @classmethod
    def from_text(cls, text: str, table: str) -> "TableMark":
        """
        The mark of a text that `to_text` wrote.

        Raises:
            IntegrityError: it is none; the message names the table.
        """
        try:
            content = orjson.loads(text)
        except ValueError as error:
            raise _unreadable("mark", table) from error
        return _mark_of(content, "mark", table)


def former_owners(text: str | None, table: str) -> dict[str, TableMark]:
    """
    The value of the property `FORMER`: pipeline -> its mark, with the time -1 if it had none.

    Raises:
        IntegrityError: it is none; the message names the table.
    """
    if text is None:
        return {}
    what = "record of former owners"
    try:
        marks = orjson.loads(text).items()
    except (ValueError, AttributeError) as error:
        raise _unreadable(what, table) from error
    return {name: _mark_of(content, what, table) for name, content in marks}


def later_offsets(one: Mapping[str, object], other: Mapping[str, object]) -> dict[str, object]:
    """The later of two offsets of a source, place by place; a place that only one of them has is kept."""
    common = {name: _later(one[name], other[name]) for name in one.keys() & other.keys()}
    return {**one, **other, **common}


def _later(one: object, other: object) -> object:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return later_offsets(one, other)
    return max(one, other) if isinstance(one, int) and isinstance(other, int) else other


def _mark_of(content: Any, what: str, table: str) -> TableMark:
    try:
        time_ms, offsets, topic_ids = content["time"], content["offsets"], content.get("topic_ids", {})
    except (TypeError, KeyError, AttributeError) as error:
        raise _unreadable(what, table) from error
    if type(time_ms) is not int or not isinstance(offsets, dict) or not isinstance(topic_ids, dict):
        raise _unreadable(what, table)
    return TableMark(time_ms, offsets, topic_ids)


def _unreadable(what: str, table: str) -> IntegrityError:
    return IntegrityError(
        f'the {what} of table "{table}" cannot be read', hint="use the version that wrote it, or a later one"
    )
