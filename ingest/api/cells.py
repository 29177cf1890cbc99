"""
The HBase data model as values, all bytes.

A column is written `family:qualifier` and split at its first colon: the family is never empty and holds no colon, the
qualifier may be empty and may hold colons. Column names are short and repeat, so all cells of a column use one bytes
object.
"""

import re
from collections.abc import Container
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, NamedTuple

from ingest.api.notation import Notated, shown

MAX_ROW_KEY_BYTES = 32_767  # HBase keeps the length of a row key in a signed 16-bit number
MAX_FAMILY_BYTES = 127  # HBase keeps the length of a family's name in a signed byte
MAX_TIME_MS = 2**63 - 2  # HBase replaces the next one (LATEST_TIMESTAMP) by the server's time

_ILLEGAL_IN_FAMILY = frozenset([*range(0x20), 0x7F, *b":/\\"])
_RESERVED_FAMILY = b"recovered.edits"  # a folder of HBase's own beside the families


class Durability(StrEnum):
    """
    How safe a row is when the call that writes it returns; as `Durability` of HBase, from the weakest to the strongest.

    Every store has `SKIP` and `SYNC`; its settings say whether it has the others.
    """

    SKIP = "skip"
    """Not in the write-ahead log: a crash of the server loses it until it was flushed to a file."""
    ASYNC = "async"
    """Written to the log a moment later: a crash of the server loses the newest rows."""
    SYNC = "sync"
    """In the log, on all machines that have a copy of it."""
    FSYNC = "fsync"
    """In the log, and forced to the disks of these machines."""

    @property
    def may_lose_rows(self) -> bool:
        """Whether a crash of the store may lose rows that it has acknowledged."""
        return self in {Durability.SKIP, Durability.ASYNC}


_STRENGTHS = {durability: strength for strength, durability in enumerate(Durability)}


def stronger(one: Durability, other: Durability) -> Durability:
    """The stronger of two durabilities."""
    return one if _STRENGTHS[one] >= _STRENGTHS[other] else other


class Cell(NamedTuple):
    """One version of one column, as read."""

    family: bytes
    qualifier: bytes
    timestamp_ms: int
    value: bytes


class Row(NamedTuple):
    """
    A row as read.

    Attributes:
        cells: sorted by family, then qualifier (as bytes), then newest first.
    """

    key: bytes
    cells: tuple[Cell, ...]


@dataclass(slots=True)
class Put:
    """
    New cells of one row, all with one timestamp.

    Not frozen: one is created for each event on the hot path.

    Attributes:
        columns: column (`family:qualifier`) -> value; never empty, and not changed after `size_bytes` was computed.
        durability: of this row.
        size_bytes: cache of `sinks.folding.sizes.size_of`; 0 until it is computed.
        ttl_ms: time to live of the cells, counted from the timestamp, as the attribute `_ttl` of a mutation in HBase;
            None for that of their families, which it cannot exceed. Only for stores without a `cell_ttl_refusal`.
    """

    row: bytes
    columns: dict[bytes, bytes]
    timestamp_ms: int
    durability: Durability = Durability.SYNC
    size_bytes: int = field(default=0, compare=False, repr=False)
    ttl_ms: int | None = None


@dataclass(slots=True)
class Delete:
    """
    Hide cells up to and including a timestamp: of the whole row, one family, or all versions of one column.

    An exact delete hides one version of one column; versions that it had superseded are visible again, unless the store
    has removed them. No sink writes one.

    Attributes:
        family: None for the whole row.
        qualifier: None for the whole family.
        exact: hide the version with exactly this timestamp; only for stores that have `deletes_versions`.
        ttl_ms: none, as a put may have.

    Raises:
        ValueError: it is exact and names no column.
    """

    row: bytes
    timestamp_ms: int
    family: bytes | None = None
    qualifier: bytes | None = None
    durability: Durability = Durability.SYNC
    exact: bool = False
    ttl_ms: ClassVar[None] = None

    def __post_init__(self) -> None:
        if self.exact and (self.family is None or self.qualifier is None):
            raise ValueError("an exact delete names no column")


Mutation = Put | Delete


def families_in(mutation: Mutation) -> set[bytes]:
    """The families that a mutation names; empty for a row delete."""
    if isinstance(mutation, Put):
        return {column.partition(b":")[0] for column in mutation.columns}
    return set() if mutation.family is None else {mutation.family}


@dataclass(frozen=True, slots=True)
class FamilySpec:
    """
    A column family as it should be.

    Attributes:
        versions: maximum number of versions of a cell.
        ttl_s: time to live of a cell in seconds; None keeps it for ever.
        compression: none, gz, snappy, lz4 or zstd; a store may ignore it.
        bloom: none, row or rowcol; a store may ignore it.
    """

    name: Notated
    versions: int = 1
    ttl_s: int | None = None
    compression: str = "none"
    bloom: str = "row"


@dataclass(frozen=True, slots=True)
class FeedSpec:
    """
    The change feed of a table: its changes, in a table of the same store.

    Attributes:
        expiration_ms: how long a change can be read.
        shards: number of shards of a new feed.
        before: whether a change has the row as it was before.
    """

    expiration_ms: int
    shards: int = 1
    before: bool = False


@dataclass(frozen=True, slots=True)
class TableSpec:
    """
    A table as it should be.

    Attributes:
        splits: physical row keys at which it is split when it is created.
        buckets: number of buckets that its row keys are distributed over (`sinks.rowkeys.distribution`); None if they
            are stored as they are.
        updates: how its deferred updates are merged, as canonical text; "" if it stores values.
        feed: its feed; None without one. Stores ignore it: the feed is a table of its own.
        attributes: of its families besides the options of `FamilySpec`: family, name and value. A store may have none.
    """

    name: str
    families: tuple[FamilySpec, ...] = ()
    splits: tuple[bytes, ...] = field(default=())
    buckets: int | None = None
    updates: str = ""
    feed: FeedSpec | None = None
    attributes: tuple[tuple[bytes, str, str], ...] = ()

    def attributes_of(self, family: bytes) -> dict[str, str]:
        """The attributes of a family: name -> value."""
        return {name: value for of, name, value in self.attributes if of == family}


@dataclass(frozen=True, slots=True)
class StoredRegion:
    """
    A region of a table as it is stored now.

    Attributes:
        start: its first physical row key; empty for the first region.
        server: that has it, as `host:port`; empty if it is on none now.
        file_bytes: size of its files; HBase rounds it down to MiB.
        memory_bytes: size of its cells in memory that are in no file yet; rounded as well.
    """

    start: bytes
    server: str
    file_bytes: int
    memory_bytes: int


def rejection_reason(mutation: Mutation, families: Container[bytes]) -> str | None:
    """
    Why no store can ever write a mutation to a table with these families; None if it can be written.

    A store may reject mutations for further reasons.
    """
    if not 0 < len(mutation.row) <= MAX_ROW_KEY_BYTES:
        return f"the row key has {len(mutation.row)} bytes; 1 to {MAX_ROW_KEY_BYTES} are allowed"
    if not 0 <= mutation.timestamp_ms <= MAX_TIME_MS:
        return f"the time {mutation.timestamp_ms} is not between 0 and {MAX_TIME_MS}"
    if isinstance(mutation, Delete):
        named: list[tuple[bytes, bytes | None]] = [] if mutation.family is None else [(mutation.family, b"")]
    elif mutation.columns:
        named = [split_column(column) for column in mutation.columns]
    else:
        return "the put has no cells"
    for family, qualifier in named:
        if qualifier is None:
            return f"the column {shown(family)} has no colon"
        if family not in families:
            return f"there is no family {shown(family)}"
    return ttl_rejection(mutation.ttl_ms, mutation.timestamp_ms)


def ttl_rejection(ttl_ms: int | None, timestamp_ms: int) -> str | None:
    """
    Why cells with this timestamp cannot have this time to live; None if they can.

    HBase adds the two in 64 bits: cells would expire at once if the sum were larger.
    """
    if ttl_ms is None or 0 < ttl_ms <= MAX_TIME_MS - timestamp_ms:
        return None
    return f"the time to live {ttl_ms} ms of cells at {timestamp_ms} is not between 1 and {MAX_TIME_MS - timestamp_ms}"


def family_rejection(family: bytes) -> str | None:
    """Why HBase does not allow a family of this name; None if it does."""
    if (
        0 < len(family) <= MAX_FAMILY_BYTES
        and not family.startswith(b".")
        and family != _RESERVED_FAMILY
        and _ILLEGAL_IN_FAMILY.isdisjoint(family)
    ):
        return None
    return f"1 to {MAX_FAMILY_BYTES} bytes, no leading dot, none of : / \\ and no control characters"


TABLE_NAME = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*:)?[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""HBase's rule for the name of a table, with a namespace."""


def alias_rejection(table: str) -> str | None:
    """
    Why a table may not be called by this name; None if it may.

    HBase has one table of the names `default:t` and `t`, but each would have its own table record.
    """
    name = table.removeprefix("default:")
    return None if name == table else f'write "{name}": it is the same table of HBase'


def split_column(column: bytes) -> tuple[bytes, bytes | None]:
    """Family and qualifier of `family:qualifier`; the qualifier is None for a bare `family`."""
    family, colon, qualifier = column.partition(b":")
    return family, qualifier if colon else None
