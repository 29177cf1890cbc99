"""
Removes what nobody can read any more: versions beyond what a family keeps, hidden and expired cells, old deletes.

RocksDB keeps every version, for the time is part of the key, and offers no filter for its own compaction here. Looking
at each cell as it is written would cost a read each. So every hundredth row that is written is looked at: how many of
its cells push out an older version tells how fast those gather, whatever the order of keys. When they are estimated to
be a quarter of all cells, the table is walked through once, in slices between writes.

So a store holds at most about a third more cells than are readable, and data that is only added to is never walked.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ingest.api import FamilySpec, Mutation, Put
from sinks.rocksdb.keys import (
    CELL,
    COLUMNS,
    cell_column,
    column_head,
    decode_time,
    encode_text,
    family_head,
    row_head,
)
from sinks.rocksdb.reading import Cursor, at_key

SAMPLE_EVERY = 100
MIN_SUPERSEDED = 100_000
"""Cells; below that a walk is not worth its while."""
SHARE = 0.25
SLICE_KEYS = 100_000
"""Looked at in one slice: about a tenth of a second."""
DELETE_KEPT_MS = 24 * 3600 * 1000
"""A delete hides cells that are written after it with an earlier time; this late they no longer come."""
TTL_CHECK_MS = 3600 * 1000
"""A table whose cells expire is walked for that alone after a quarter of the shortest time to live, and at most this
often: so expired cells are a quarter more than readable ones, and a long life costs few walks."""


class Kept(NamedTuple):
    """What a family keeps."""

    versions: int
    oldest_ms: int
    deletes_from_ms: int


def walked(cursor: Cursor, families: Mapping[bytes, Kept], resume: bytes, limit: int) -> Iterator[tuple[bytes, bool]]:
    """
    Keys from `resume` on, at most about `limit`, with whether each can go; ends at the end of a family of a row.

    A delete goes only with what it hides, so it is decided before the cells of its row and they all go in one slice.
    """
    cursor.seek(resume)
    head = column = b""
    kept = Kept(0, 0, 0)
    floor = row_floor = found = count = 0
    while at_key(cursor):
        key = cursor.key()
        if not head or not key.startswith(head):
            if count >= limit:
                return
            row = row_head(key)
            family = family_head(key[len(row) :])
            head = row + family
            kept = families[family]
            column = b""
            row_floor = kept.oldest_ms
        start = len(head)
        at = decode_time(key)
        if key[start] != COLUMNS:
            # the first one is the newest, the others hide nothing more
            gone = at < row_floor or at < kept.deletes_from_ms
            row_floor = max(row_floor, at + 1)
        else:
            if not column or not key.startswith(column):
                column = head + column_head(key[start:])
                floor, found = row_floor, 0
            if key[len(column)] != CELL:
                gone = at < floor or at < kept.deletes_from_ms
                floor = max(floor, at + 1)
            else:
                gone = at < floor or found >= kept.versions
                found += not gone
        count += 1
        yield key, gone
        cursor.next()


@dataclass(slots=True)
class Gauge:
    """
    How many cells of a table nobody can read, estimated, and when to walk through it.

    Attributes:
        cells: of the table, as found by the last walk and written since.
        superseded: how many of them nobody can read.
        walked_ms: when the last walk ended.
        resume: where the walk goes on; None while there is none.
        sampled_rows: how many rows the samples were taken of.
        passed: see `count_superseded`.
    """

    cells: int = 0
    superseded: int = 0
    walked_ms: int = 0
    resume: bytes | None = None
    sampled_rows: int = 0
    passed: dict[int, int] = field(default_factory=dict)
    _seen_at_start: int = 0
    _removed: int = 0

    @classmethod
    def of(cls, record: bytes | None) -> "Gauge":
        """What was remembered; a walk that was not finished begins anew."""
        return cls(*json.loads(record)) if record else cls()

    def record(self) -> bytes:
        """What to remember over a restart."""
        return json.dumps([self.cells, self.superseded, self.walked_ms]).encode()

    def sample_of(self, mutations: Sequence[Mutation]) -> Sequence[Mutation]:
        """Every hundredth of the rows that are written, also over many short calls."""
        first = -self.sampled_rows % SAMPLE_EVERY
        self.sampled_rows += len(mutations)
        return mutations[first::SAMPLE_EVERY]

    def is_due(self, *, ttl_s: int | None, now_ms: int) -> bool:
        """Whether a walk should start."""
        if self.superseded >= max(MIN_SUPERSEDED, SHARE * self.cells):
            return True
        if ttl_s is None or not self.cells:
            return False
        return now_ms - self.walked_ms >= max(TTL_CHECK_MS, ttl_s * 250)

    def start(self) -> None:
        """Begin to walk through the table."""
        self.resume = b""
        self._seen_at_start = self.superseded
        self._removed = 0

    def went_on(self, removed: int, resume: bytes | None, now_ms: int) -> None:
        """A slice is done; the last one has nowhere to go on."""
        self._removed += removed
        self.resume = resume
        if resume is None:
            self.cells = max(0, self.cells - self._removed)
            self.superseded -= self._seen_at_start
            self.walked_ms = now_ms


def slice_of(
    cursor: Cursor, families: Mapping[bytes, Kept], resume: bytes, limit: int, remove: Callable[[bytes], None]
) -> tuple[int, bytes | None]:
    """
    Remove what can go in one slice: how many keys went, and where to go on (None at the end).

    What each family keeps is told by its name as it stands in keys.
    """
    went = 0
    for key, gone in walked(cursor, families, resume, limit):
        if gone:
            remove(key)
            went += 1
    return went, cursor.key() if at_key(cursor) else None


def count_superseded(
    samples: Iterable[Mutation], cursor: Cursor, specs: Mapping[bytes, FamilySpec], passed: dict[int, int]
) -> int:
    """
    About how many cells nobody can read once all that the samples were taken of is written; looks at these.

    Args:
        samples: rows about to be written.
        cursor: over their table.
        specs: family of the table -> what it should be.
        passed: one in how many columns is counted -> how many were passed over since the last one; kept between calls.
    """
    found = 0
    for mutation in samples:
        row = encode_text(mutation.row)
        if isinstance(mutation, Put):
            for column in mutation.columns:
                versions = specs[column.partition(b":")[0]].versions
                # counting many takes a step each: so the fewer columns are counted, and each of them for the others
                every = -(-versions // SAMPLE_EVERY)
                passed[every] = passed.get(every, 0) + 1
                if passed[every] < every:
                    continue
                passed[every] = 0
                found += every * pushed_out(cursor, row + cell_column(column), mutation.timestamp_ms, versions)
        else:
            # a delete stays behind itself, with what it hides
            for family in specs if mutation.family is None else (mutation.family,):
                head = row + encode_text(family)
                hidden = 0
                cursor.seek(head)
                while at_key(cursor) and cursor.key().startswith(head) and hidden < SAMPLE_EVERY:
                    hidden += 1
                    cursor.next()
                found += 1 + hidden
    return found * SAMPLE_EVERY


def pushed_out(cursor: Cursor, column: bytes, timestamp_ms: int, versions: int) -> bool:
    """Whether a new version of a column, given by the beginning of its cells' keys, leaves one too many."""
    cursor.seek(column)
    left = versions
    while at_key(cursor) and cursor.key().startswith(column):
        # the same time is the same cell, written again
        left -= decode_time(cursor.key()) != timestamp_ms
        if left == 0:
            return True
        cursor.next()
    return False
