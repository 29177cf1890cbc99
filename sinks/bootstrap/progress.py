"""How far a bootstrap has come: a property of the table that it writes, so any process can resume it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ingest.durable.record import Record
from sinks.dumps.checksum import TableChecksum, no_rows

BOOTSTRAP = "bootstrap"
"""Name of the property."""


class Stage(StrEnum):
    """What a bootstrap does next."""

    LOADING = "loading"
    """It loads the rows of the dump."""
    DELETING = "deleting"
    """All rows are loaded; deletes that the feed had meanwhile are applied again."""
    FOLLOWING = "following"
    """It applies the changes of the feed. A table that is complete remains in this stage: more changes may follow."""


@dataclass(frozen=True, slots=True)
class BootstrapProgress(Record, kind="progress of the bootstrap of table", remedy="load the dump into another table"):
    """
    How far a bootstrap has come; everything before is durable.

    Attributes:
        root: of the dumps, as its URL.
        dump: name of the dump.
        source: name of the table in the dump.
        stage: what is next.
        is_concurrent: whether the feed is applied while the rows are loaded.
        files: number of files of the table in the dump that are loaded.
        rows: number of rows of the next file that are loaded.
        checksum: of the rows that are loaded.
        feed_id: id of the feed; "" without a change feed.
        positions: number of a shard -> iterator of its next change; None if the shard is closed and was read.
        changes: number of changes that were applied.
        deletes: number of lines of the log of deletes.
    """

    root: str
    dump: str
    source: str
    stage: Stage = Stage.LOADING
    is_concurrent: bool = False
    files: int = 0
    rows: int = 0
    checksum: TableChecksum = field(default_factory=no_rows)
    feed_id: str = ""
    positions: Mapping[int, str | None] = field(default_factory=dict)
    changes: int = 0
    deletes: int = 0

    def is_of(self, other: "BootstrapProgress") -> bool:
        """Whether both are of one bootstrap: dump, table, feed and order are the same; the root may have moved."""
        return all(
            getattr(self, name) == getattr(other, name) for name in ("dump", "source", "feed_id", "is_concurrent")
        )
