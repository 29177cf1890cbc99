"""The result of a dump."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sinks.dumps.manifest import TableFile, consistency_of


@dataclass(slots=True)
class TableCounts:
    """What a dump has of a table."""

    files: int = 0
    rows: int = 0
    size_bytes: int = 0

    def add(self, file: TableFile | None) -> None:
        """Count a file; None is the end of a range."""
        if file is not None:
            self.files += 1
            self.rows += file.rows
            self.size_bytes += file.size_bytes


@dataclass(slots=True)
class DumpResult:
    """
    The result of a dump.

    Attributes:
        dump: its folder; "" until it is complete.
        id: of the run.
        start_ms: every change before it is in the dump.
        is_exact: all rows are those of one moment.
        tables: by name.
        expired: names of older dumps that were removed.
        seconds: duration.
    """

    root: str = ""
    dump: str = ""
    id: str = ""
    start_ms: int = 0
    is_exact: bool = False
    tables: dict[str, TableCounts] = field(default_factory=dict)
    expired: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def rows(self) -> int:
        """Rows of all tables."""
        return sum(each.rows for each in self.tables.values())

    @property
    def size_bytes(self) -> int:
        """Size of all files."""
        return sum(each.size_bytes for each in self.tables.values())

    def to_json(self) -> dict[str, Any]:
        """The same as plain data, as `from_json` reads it."""
        return {
            "root": self.root,
            "dump": self.dump,
            "id": self.id,
            "start_ms": self.start_ms,
            "consistency": consistency_of(self.is_exact),
            "rows": self.rows,
            "bytes": self.size_bytes,
            "tables": {
                name: {"files": each.files, "rows": each.rows, "bytes": each.size_bytes}
                for name, each in self.tables.items()
            },
            "expired": self.expired,
            "seconds": round(self.seconds, 3),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "DumpResult":
        """The result of what `to_json` returned."""
        tables = {
            name: TableCounts(each["files"], each["rows"], each["bytes"]) for name, each in content["tables"].items()
        }
        return cls(
            content["root"],
            content["dump"],
            content["id"],
            content["start_ms"],
            content["consistency"] == consistency_of(True),
            tables,
            content["expired"],
            content["seconds"],
        )
