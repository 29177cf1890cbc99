"""How far a bootstrap has come: a property of the table that it writes, so any process can resume it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import orjson

from ingest.api import IngestError, IntegrityError
from sinks.dumps.checksum import TableChecksum

BOOTSTRAP = "bootstrap"
"""Name of the property."""
_FORMAT = 1


class Stage(StrEnum):
    """What a bootstrap does next."""

    LOADING = "loading"
    """It loads the rows of the dump."""
    DELETING = "deleting"
    """All rows are loaded; deletes that the feed had meanwhile are applied again."""
    FOLLOWING = "following"
    """It applies the changes of the feed. A table that is complete remains in this stage: more changes may follow."""


@dataclass(frozen=True, slots=True)
class BootstrapProgress:
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
        stream: id of the feed; "" without a feed.
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
    checksum: TableChecksum = field(default_factory=TableChecksum)
    stream: str = ""
    positions: Mapping[int, str | None] = field(default_factory=dict)
    changes: int = 0
    deletes: int = 0

    def is_of(self, other: "BootstrapProgress") -> bool:
        """Whether both are of one bootstrap: dump, table, feed and order are the same; the root may have moved."""
        return all(
            getattr(self, name) == getattr(other, name) for name in ("dump", "source", "stream", "is_concurrent")
        )

    def to_text(self) -> str:
        """The value of the property."""
        content = {
            "v": _FORMAT,
            "root": self.root,
            "dump": self.dump,
            "table": self.source,
            "stage": self.stage.value,
            "concurrent": self.is_concurrent,
            "files": self.files,
            "rows": self.rows,
            "checksum": self.checksum.to_json(),
            "stream": self.stream,
            "positions": {str(shard): token for shard, token in self.positions.items()},
            "changes": self.changes,
            "deletes": self.deletes,
        }
        return orjson.dumps(content, option=orjson.OPT_SORT_KEYS).decode()

    @classmethod
    def from_text(cls, text: str, table: str) -> "BootstrapProgress":
        """
        The progress of a text that `to_text` wrote.

        Raises:
            IntegrityError: it is none, or a later version has written it; the message names the table.
        """
        try:
            content = orjson.loads(text)
            found = cls(
                root=content["root"],
                dump=content["dump"],
                source=content["table"],
                stage=Stage(content["stage"]),
                is_concurrent=content["concurrent"],
                files=content["files"],
                rows=content["rows"],
                checksum=TableChecksum.from_json(content["checksum"]),
                stream=content["stream"],
                positions={int(shard): token for shard, token in content["positions"].items()},
                changes=content["changes"],
                deletes=content["deletes"],
            )
            is_known, cause = content["v"] == _FORMAT, None
        except (ValueError, TypeError, KeyError, AttributeError, IngestError) as error:
            is_known, cause = False, error
        if not is_known:
            raise IntegrityError(
                f'the progress of the bootstrap of table "{table}" cannot be read',
                hint="use the version that wrote it, or a later one; or load the dump into another table",
            ) from cause
        return found
