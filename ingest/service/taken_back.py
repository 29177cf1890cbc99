"""Which micro-batches may be replayed into tables with deferred updates: those that rollbacks have taken back."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ingest.api import ConflictError
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.dead_letters.replay import BEFORE_BATCH_MS
from ingest.plan.plan import Plan
from ingest.plan.stores import reading_store
from ingest.service.replay_plan import Piece, PieceKind
from sinks.rewriting.taken_back import Interval, is_in, taken_back

TakenBack = Mapping[str, Sequence[Interval]]
"""Table with deferred updates -> the batch times that were taken back from it."""


class UnfinishedPiece(NamedTuple):
    """
    A piece of a replay that may be written in part.

    Attributes:
        tables: with deferred updates, which it is written to.
    """

    piece: Piece
    tables: frozenset[str]

    def to_plain(self) -> dict[str, object]:
        """The same as plain data."""
        return {"piece": self.piece.to_json().decode(), "tables": sorted(self.tables)}

    @classmethod
    def from_plain(cls, content: object) -> "UnfinishedPiece | None":
        """The piece that `to_plain` returned; None for other content, of a replay of dead letters."""
        match content:
            case {"piece": str(piece), "tables": list(tables)}:
                return cls(Piece.from_json(piece.encode()), frozenset(tables))
            case _:
                return None


def taken_back_from(configuration: Configuration, plan: Plan, catalog: Catalog) -> TakenBack:
    """
    What rollbacks have taken back from the tables of a plan.

    Raises:
        IngestError: a store is unavailable.
    """
    found = {}
    for name, tables in plan.updates.items():
        with reading_store(configuration.stores[name], catalog) as store:
            found.update({table: taken_back(store, table) for table in tables})
    return found


def pieces_taken_back(pieces: Iterable[Piece], intervals: TakenBack) -> list[Piece]:
    """
    The pieces whose updates were taken back; those of other micro-batches are in the tables and count already.

    Raises:
        ConflictError: there is none; or the range contains only a part of one.
    """
    pieces = list(pieces)
    for piece in pieces:
        if piece.kind is PieceKind.PART and tables_of(intervals, piece.time_ms + BEFORE_BATCH_MS):
            raise ConflictError(
                f"the range contains only a part of the micro-batch of time {piece.time_ms + BEFORE_BATCH_MS}, whose "
                "updates were taken back as a whole",
                code="not_taken_back",
                hint="extend the range until --dry-run shows no part",
            )
    found = [piece for piece in pieces if piece.kind is PieceKind.WHOLE and tables_of(intervals, piece.time_ms)]
    if not found:
        raise ConflictError(
            f"no micro-batch of the range was taken back from {', '.join(sorted(intervals))}: a replay would count its "
            "events twice",
            code="not_taken_back",
            hint="take its updates back first, with 'ingest rollback', or choose another range",
        )
    return found


def tables_of(intervals: TakenBack, time_ms: int) -> frozenset[str]:
    """The tables from which a micro-batch was taken back."""
    return frozenset(table for table, found in intervals.items() if is_in(found, time_ms))


def common_tables(intervals: TakenBack, pieces: Iterable[Piece], interrupted: UnfinishedPiece | None) -> frozenset[str]:
    """
    The tables from which all of these pieces were taken back.

    Args:
        intervals: what was taken back.
        pieces: those that are left of a replay.
        interrupted: a piece whose replay has begun; its time may no longer be among those taken back.

    Raises:
        ConflictError: they were taken back from different tables.
    """
    tables = {tables_of(intervals, one.time_ms) for one in pieces if interrupted is None or one != interrupted.piece}
    if interrupted is not None:
        tables.add(interrupted.tables)
    if len(tables) != 1:
        raise ConflictError(
            "the micro-batches of the range were taken back from different tables",
            code="not_taken_back",
            hint="choose ranges whose micro-batches were taken back from the same tables",
        )
    return tables.pop()
