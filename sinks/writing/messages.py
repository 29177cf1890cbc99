"""Messages between driver and tasks about a store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Self

import msgpack

from ingest.api import Mutation
from ingest.api.table_writer import FeatureMessages, RejectedRows
from sinks.rowkeys.row_format import RowFormat
from sinks.writing.sections import mutations_of, sections_of
from sinks.writing.staging import FileFormat, StagedFile


@dataclass(frozen=True, slots=True)
class Prepared:
    """
    State of a store that the driver sends to the tasks of one attempt.

    Attributes:
        folder: for files that are staged for the driver; "" where tasks write to the store themselves.
        families: table -> families that are known to exist.
        formats: table -> format of staged files, for tables that do not have the plain one.
        at_limit: tables that may get no more families.
        refused: rows that earlier attempts at this batch found refused.
        declared: table -> its declared row format; tasks write nothing to a table with another record.
        features: table -> feature -> what its writers need to know; tasks write to no table with another feature.
        times_ms: that the driver has chosen besides the batch time.
    """

    folder: str = ""
    families: Mapping[str, frozenset[bytes]] = field(default_factory=dict)
    formats: Mapping[str, FileFormat] = field(default_factory=dict)
    at_limit: frozenset[str] = frozenset()
    refused: RejectedRows = field(default_factory=dict)
    declared: Mapping[str, RowFormat] = field(default_factory=dict)
    features: FeatureMessages = field(default_factory=dict)
    times_ms: tuple[int, ...] = ()

    def packed(self) -> bytes:
        """As bytes for `unpacked`."""
        content = {each.name: getattr(self, each.name) for each in fields(self)} | {
            "families": {table: sorted(names) for table, names in self.families.items()},
            "at_limit": sorted(self.at_limit),
            "refused": _flat(self.refused),
            "features": {table: dict(messages) for table, messages in self.features.items()},
            "declared": dict(self.declared),
            "formats": dict(self.formats),
        }
        packed: bytes = msgpack.packb(content, unicode_errors="backslashreplace")
        return packed

    @classmethod
    def unpacked(cls, message: bytes) -> Self:
        """The message from its bytes; the default for b""."""
        if not message:
            return cls()
        content = msgpack.unpackb(message)
        return cls(
            folder=content["folder"],
            families={table: frozenset(names) for table, names in content["families"].items()},
            formats={
                table: FileFormat(compression, RowFormat(*rows), tuple(features))
                for table, (compression, rows, features) in content["formats"].items()
            },
            at_limit=frozenset(content["at_limit"]),
            refused=_refused(content["refused"]),
            declared={table: RowFormat(*rows) for table, rows in content["declared"].items()},
            features=content["features"],
            times_ms=tuple(content["times_ms"]),
        )


@dataclass(frozen=True, slots=True)
class StoreResult:
    """
    The result of one task for a store.

    Attributes:
        staged: the file that the driver has to apply.
        needs_families: table -> missing families that events named; an empty set if only the table is missing.
        refused: rows that the store refused; all others are durable. The batch must run again to find their events.
    """

    staged: StagedFile | None = None
    needs_families: Mapping[str, set[bytes]] = field(default_factory=dict)
    refused: RejectedRows = field(default_factory=dict)

    def packed(self) -> bytes:
        """As bytes for `unpacked`."""
        file = self.staged
        staged = None if file is None else (file.path, file.size_bytes, dict(file.buckets))
        needs = {table: sorted(names) for table, names in self.needs_families.items()}
        packed: bytes = msgpack.packb((staged, needs, _flat(self.refused)), unicode_errors="backslashreplace")
        return packed

    @classmethod
    def unpacked(cls, message: bytes) -> Self:
        """The message from its bytes."""
        staged, needs, refused = msgpack.unpackb(message)
        file = None if staged is None else StagedFile(*staged)
        return cls(file, {table: set(names) for table, names in needs.items()}, _refused(refused))


def packed_probe(table: str, mutations: Sequence[Mutation]) -> bytes:
    """Mutations of one table for a probe by the driver; without mutations the probe reads the table's families."""
    packed: bytes = msgpack.packb((table, [section for section, _ in sections_of(table, mutations)]))
    return packed


def unpacked_probe(message: bytes) -> tuple[str, list[Mutation]]:
    """Table and mutations from their bytes."""
    table, sections = msgpack.unpackb(message)
    return table, [mutation for section in sections for mutation in mutations_of(section)]


def _flat(refused: RejectedRows) -> list[tuple[str, bytes, str, str]]:
    return [(table, row, code, reason) for (table, row), (code, reason) in refused.items()]


def _refused(rows: Sequence[tuple[str, bytes, str, str]]) -> RejectedRows:
    return {(table, row): (code, reason) for table, row, code, reason in rows}
