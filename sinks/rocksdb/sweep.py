"""
Removes keys that no read returns any more: versions beyond what a family keeps, hidden and expired cells, old deletes.

RocksDB keeps every version, for the time is part of the key, and offers no filter for its own compaction here. Looking
at each cell as it is written would cost a read each. So one row of each hundred that are written is looked at: how many
of its cells push out an older version tells how fast those gather, whatever the order of keys. When they are estimated
to be a quarter of all cells, the whole table is swept once, in slices between writes.

A slice looks at three times as many cells as were written since the last one. So a store holds at most about a third
more cells than are readable, and a table without updates is never swept.

Expired cells are looked for when a quarter of the shortest time to live has passed, if there are any (`ExpiryIndex`).
Where keys rise with time they are a quarter of the readable ones at most, and cost little. Where rows of every age are
mixed each sweep reads all rows: they are about a third of the readable ones there, and more than half for a while when
the first of them expire.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from zlib import crc32

from ingest.api import FamilySpec, Mutation, Put
from sinks.rocksdb.expiry import NEVER, ExpiryIndex
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
"""Cells; a smaller table is not swept."""
SHARE = 0.25
SLICE_KEYS = 100_000
"""Least number of keys of a slice: about a tenth of a second."""
PACE = 3
"""Keys that a sweep reads for each cell that is written."""
DELETE_KEPT_MS = 24 * 3600 * 1000
"""How long a delete is kept, since it hides cells that are written after it with an earlier time."""
TTL_CHECK_MS = 3600 * 1000
"""Least time between two sweeps for expired cells alone."""


class RetentionRule(NamedTuple):
    """
    Retention of a family.

    Attributes:
        ttl_ms: how long a cell lives; `NEVER` for one that does not expire.
    """

    versions: int
    oldest_ms: int
    deletes_from_ms: int
    ttl_ms: int


class Slice(NamedTuple):
    """
    The result of a slice.

    Attributes:
        removed: how many keys.
        after: where the next slice starts: at a row, within one, or None at the end.
        expires_ms: when the first of the cells that stay expires.
    """

    removed: int
    after: bytes | None
    expires_ms: int


@dataclass(slots=True)
class GarbageEstimate:
    """
    An estimate of the cells of a table that no read returns, and when to sweep it.

    Attributes:
        cells: of the table, as found by the last sweep and written since.
        superseded: how many of them no read returns.
        walked_ms: when the last sweep started, or the table was created.
        resume: where the sweep continues; None while there is none.
        ages: when cells expire.
        sampled_rows: how many rows the samples were taken of; starts at another number after each restart.
        passed: see `count_superseded`.
    """

    cells: int = 0
    superseded: int = 0
    walked_ms: int = 0
    resume: bytes | None = None
    expiry: ExpiryIndex = field(default_factory=ExpiryIndex)
    sampled_rows: int = 0
    passed: dict[int, int] = field(default_factory=dict)
    _written: int = 0
    _for_expired: bool = False
    _seen_at_start: int = 0
    _removed: int = 0
    _row_expires_ms: int = NEVER
    """When the first cell expires in the row that the sweep has reached, and before it."""

    @classmethod
    def of(cls, record: bytes | None, now_ms: int) -> "GarbageEstimate":
        """The estimate from its record; without a record, that of a new table."""
        if record is None:
            return cls(walked_ms=now_ms)
        cells, superseded, walked_ms, *more = json.loads(record)
        earliest_ms, *walk = more or [0]
        gauge = cls(cells, superseded, walked_ms, expiry=ExpiryIndex(earliest_ms))
        gauge.sampled_rows = cells  # any number that differs from restart to restart
        if walk:
            resume, gauge._for_expired, gauge._seen_at_start, gauge._removed = walk
            gauge.resume = bytes.fromhex(resume)
            gauge._row_expires_ms = earliest_ms
        return gauge

    def record(self) -> bytes:
        """The record for a restart: a sweep resumes then, but the expiry is kept for the whole table alone."""
        walk = [] if self.resume is None else [self.resume.hex(), self._for_expired, self._seen_at_start, self._removed]
        return json.dumps([self.cells, self.superseded, self.walked_ms, self.expiry.earliest_ms, *walk]).encode()

    def sample_of(self, mutations: Sequence[Mutation]) -> Sequence[Mutation]:
        """One of each hundred rows that are written, also over many short calls."""
        before = self.sampled_rows
        self.sampled_rows = end = before + len(mutations)
        numbers = range(before // SAMPLE_EVERY, -(-end // SAMPLE_EVERY))
        places = [number * SAMPLE_EVERY + place_in_hundred(number) - before for number in numbers]
        return [mutations[place] for place in places if 0 <= place < len(mutations)]

    def count(self, cells: int, samples: Iterable[Mutation], specs: Mapping[bytes, FamilySpec]) -> None:
        """Take note of what is about to be written."""
        self.cells += cells
        self._written = cells if self.resume is None else self._written + cells
        lives = {name: spec.ttl_s * 1000 for name, spec in specs.items() if spec.ttl_s is not None}
        if lives:
            puts = [put for put in samples if isinstance(put, Put)]
            self.expiry.wrote(cells, [(encode_text(put.row), put.timestamp_ms + _life_of(put, lives)) for put in puts])

    def start_if_due(self, *, ttl_s: int | None, now_ms: int) -> None:
        """Start a sweep of the table if it is due."""
        # a clock that was ahead once must not delay a sweep until it is right
        self.walked_ms = min(self.walked_ms, now_ms)
        if self.superseded >= max(MIN_SUPERSEDED, SHARE * self.cells):
            self.start(now_ms)
        elif (
            ttl_s is not None
            and now_ms - self.walked_ms >= max(TTL_CHECK_MS, ttl_s * 250)
            and self.expiry.earliest_ms < now_ms
        ):
            self.start(now_ms, for_expired=True)

    def start(self, now_ms: int, *, for_expired: bool = False) -> None:
        """Start a sweep of the whole table, or of the ranges with expired cells."""
        self.resume = b""
        self.walked_ms = now_ms
        self._for_expired = for_expired
        # superseded cells of ranges without expired ones stay
        self._seen_at_start = 0 if for_expired else self.superseded
        self._removed = 0
        self._row_expires_ms = NEVER

    def next_span(self, now_ms: int) -> tuple[bytes, bytes | None] | None:
        """Start and stop of the next slice; None if the sweep is at its end."""
        if self.resume is None:
            return None
        return self.expiry.expired(self.resume, now_ms) if self._for_expired else (self.resume, None)

    @property
    def slice_keys(self) -> int:
        """How many keys the next slice looks at."""
        return max(SLICE_KEYS, PACE * self._written)

    def went_on(self, first: bytes, done: Slice, now_ms: int) -> None:
        """Take note of a finished slice."""
        self._tell_ages(first, done)
        self._removed += done.removed
        self._written = 0
        self.resume = done.after
        if self.next_span(now_ms) is None:
            self.ended()

    def _tell_ages(self, first: bytes, done: Slice) -> None:
        """Whole rows: writes are recorded by row, so no range may start within one."""
        begin = row_head(first) if first else b""
        end = None if done.after is None else row_head(done.after)
        expires_ms = min(self._row_expires_ms, done.expires_ms)
        if end is None or end > begin:
            self.expiry.walked(begin, end, expires_ms)
            expires_ms = NEVER if done.after == end else done.expires_ms
        self._row_expires_ms = expires_ms

    def ended(self) -> None:
        """End the sweep."""
        self.resume = None
        self.cells = max(0, self.cells - self._removed)
        self.superseded -= self._seen_at_start


def place_in_hundred(number: int, start: int = 0) -> int:
    """
    The number of the row of a hundred that is sampled.

    One that differs and follows no rule of the rows: in calls of one shape a fixed place shows the same rows again and
    again, and never the others.

    Args:
        number: of the hundred; in the first one it is the first row, unless there is a start.
        start: another one for other rows, where the hundreds are numbered from 0 again.
    """
    return crc32(number.to_bytes((number.bit_length() + 7) // 8), start) % SAMPLE_EVERY


def slice_of(
    cursor: Cursor,
    families: Mapping[bytes, RetentionRule],
    span: tuple[bytes, bytes | None],
    limit: int,
    remove: Callable[[bytes], None],
) -> Slice:
    """
    Remove the garbage among about `limit` keys; a slice ends at the end of a column, or of a family that was deleted.

    A delete is removed together with the cells it hides. It precedes them, so all are removed in one slice, whose size
    is bounded only by the versions of a column, and by the cells of a row whose family was deleted.

    Args:
        cursor: over the table.
        families: what each family keeps, by its name as it stands in keys.
        span: where to begin, and at which key to stop.
        limit: of keys that are looked at.
        remove: called with each key that can go.
    """
    cursor.seek(span[0])
    stop = span[1]
    row = head = column = b""
    kept = RetentionRule(0, 0, 0, NEVER)
    is_deleted = False
    floor = row_floor = found = count = removed = 0
    expires_ms = NEVER
    valid, key_here, step = cursor.valid, cursor.key, cursor.next
    while valid():
        key = key_here()
        if not head or not key.startswith(head):
            before, row = row, row_head(key)
            if count >= limit or (stop is not None and key >= stop):
                return Slice(removed, key if row == before else row, expires_ms)
            family = family_head(key[len(row) :])
            head = row + family
            kept = families[family]
            column = b""
            is_deleted = False
            row_floor = kept.oldest_ms
        start = len(head)
        at = decode_time(key)
        if key[start] != COLUMNS:
            # the first one is the newest, the others hide nothing more
            is_deleted = True
            gone = at < row_floor or max(at, _written_ms(cursor)) < kept.deletes_from_ms
            row_floor = max(row_floor, at + 1)
        else:
            if not column or not key.startswith(column):
                column = head + column_head(key[start:])
                if count >= limit and not is_deleted:
                    # before any version that may be written to it meanwhile
                    return Slice(removed, column, expires_ms)
                floor, found = row_floor, 0
            if key[len(column)] != CELL:
                gone = at < floor or max(at, _written_ms(cursor)) < kept.deletes_from_ms
                floor = max(floor, at + 1)
            else:
                gone = at < floor or found >= kept.versions
                if not gone:
                    found += 1
                    expires_ms = min(expires_ms, at + kept.ttl_ms)
        if gone:
            remove(key)
            removed += 1
        count += 1
        step()
    at_key(cursor)
    return Slice(removed, None, expires_ms)


def count_superseded(
    samples: Iterable[Mutation], cursor: Cursor, specs: Mapping[bytes, FamilySpec], passed: dict[int, int]
) -> int:
    """
    About how many cells the sampled mutations will supersede; reads the samples' rows.

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
                # counting takes one call per version: so of long columns only some are counted, and stand for the
                # others
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


def _written_ms(cursor: Cursor) -> int:
    """When the delete was written at which a cursor stands; 0 where nothing says so."""
    written = cursor.value()
    return decode_time(written) if written else 0


def _life_of(put: Put, lives: Mapping[bytes, int]) -> int:
    """After how many milliseconds the first of its cells expires."""
    return min((lives.get(column.partition(b":")[0], NEVER) for column in put.columns), default=NEVER)


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
