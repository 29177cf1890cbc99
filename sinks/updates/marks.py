"""
The mark of a table: up to which batch time its update rows are complete.

The pipeline that owns the table moves the mark as its last act before it acknowledges a micro-batch. What is above the
mark belongs to a micro-batch that may run again; compaction, rollback and reads of changes stop at the mark.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from ingest.api import IntegrityError

OWNER, MARK, FORMER = "owner", "mark", "former_owners"
"""
Names of the properties of a table: the pipeline that writes it, its mark, and of former owners the times up to which
they completed it: a JSON object, pipeline -> time of the mark when another pipeline took the table over, ms.
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
        content = {"time": self.time_ms, "offsets": self.offsets}
        ids = {"topic_ids": self.topic_ids} if self.topic_ids else {}
        return orjson.dumps(content | ids, option=orjson.OPT_SORT_KEYS).decode()

    @classmethod
    def from_text(cls, text: str, table: str) -> "TableMark":
        """
        The mark of a text that `to_text` wrote.

        Raises:
            IntegrityError: it is none; the message names the table.
        """
        try:
            content = orjson.loads(text)
            time_ms, offsets = content["time"], content["offsets"]
            topic_ids = content.get("topic_ids", {})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise _unreadable("mark", table) from error
        if type(time_ms) is not int or not isinstance(offsets, dict) or not isinstance(topic_ids, dict):
            raise _unreadable("mark", table)
        return cls(time_ms, offsets, topic_ids)


def former_owners(text: str | None, table: str) -> dict[str, int]:
    """
    The value of the property `FORMER`: pipeline -> time, ms.

    Raises:
        IntegrityError: it is none; the message names the table.
    """
    if text is None:
        return {}
    try:
        return {name: int(time_ms) for name, time_ms in orjson.loads(text).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise _unreadable("record of former owners", table) from error


def _unreadable(what: str, table: str) -> IntegrityError:
    return IntegrityError(
        f'the {what} of table "{table}" cannot be read', hint="use the version that wrote it, or a later one"
    )
