"""
Removes garbage, which is keys that no read returns: superseded versions, hidden and expired cells, and old deletes.

RocksDB keeps every version, because the timestamp is part of the key, and rocksdict offers no compaction filter. A read
for each written cell would be too slow. So one row of each hundred written is read, and the number of its cells that
supersede an older version gives an estimate of the garbage, whatever the order of keys. When the estimate reaches a
quarter of all cells, the whole table is swept once, in slices between writes.

A slice reads three times as many keys as cells were written since the last one. So a store has at most about a third
more cells than are readable, and a table without updates is never swept.

A sweep for expired cells starts after a quarter of the shortest time to live, if there are any (`ExpiryIndex`). If row
keys rise with time, expired cells are at most a quarter of the readable ones, and a sweep is cheap. If rows of all ages
are mixed, each sweep reads all rows; expired cells are then about a third of the readable ones, and for a while, when
the first ones expire, more than half.
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
    CELL_TAIL_BYTES,
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
"""Tables with fewer superseded cells are not swept."""
GARBAGE_FRACTION = 0.25
"""Estimated fraction of superseded cells at which a sweep starts."""
SLICE_KEYS = 100_000
"""Minimum number of keys of a slice: about 0.1 s."""
PACE = 3
"""Keys that a sweep reads for each cell that is written."""
DELETE_KEPT_MS = 24 * 3600 * 1000
"""How long a delete is kept after it was written, since it also hides older cells that are written later."""
TTL_CHECK_MS = 3600 * 1000
"""Minimum time between two sweeps for expired cells."""


class RetentionRule(NamedTuple):
    """
    Retention of a family.

    Attributes:
        versions: maximum number of versions of a cell.
        oldest_ms: older cells have expired.
        deletes_from_ms: deletes that were written before are removed.
        ttl_ms: time to live of a cell; `NEVER` if it does not expire.
    """

    versions: int
    oldest_ms: int
    deletes_from_ms: int
    ttl_ms: int


class Slice(NamedTuple):
    """
    The result of a slice.

    Attributes:
        removed: number of removed keys.
        after: where the next slice starts, at or within a row; None at the end of the table.
        expires_ms: when the first of the remaining cells expires.
    """

    removed: int
    after: bytes | None
    expires_ms: int


@dataclass(slots=True)
class GarbageEstimate:
    """
    An estimate of the superseded cells of a table, and the state of its sweep.

    Attributes:
        cells: number of cells, as found by the last sweep and written since.
        superseded: estimated number of superseded cells.
        swept_ms: when the last sweep started, or the table was created.
        resume: where the sweep continues; None if no sweep runs.
        expiry: when cells expire.
        sampled_rows: number of rows written, for the choice of samples; starts with another number after a restart.
        skipped: see `count_superseded`.
    """

    cells: int = 0
    superseded: int = 0
    swept_ms: int = 0
    resume: bytes | None = None
    expiry: ExpiryIndex = field(default_factory=ExpiryIndex)
    sampled_rows: int = 0
    skipped: dict[int, int] = field(default_factory=dict)
    _written: int = 0
    _for_expired: bool = False
    _superseded_at_start: int = 0
    _removed: int = 0
    _row_expires_ms: int = NEVER
    """When the first cell expires in the row that the sweep has reached, and before it."""

    @classmethod
    def of(cls, record: bytes | None, now_ms: int) -> "GarbageEstimate":
        """The estimate from its record; without a record, that of a new table."""
        if record is None:
            return cls(swept_ms=now_ms)
        cells, superseded, swept_ms, *more = json.loads(record)
        earliest_ms, *sweep = more or [0]
        estimate = cls(cells, superseded, swept_ms, expiry=ExpiryIndex(earliest_ms))
        estimate.sampled_rows = cells  # any number that differs after each restart
        if sweep:
            resume, estimate._for_expired, estimate._superseded_at_start, estimate._removed = sweep
            estimate.resume = bytes.fromhex(resume)
            estimate._row_expires_ms = earliest_ms
        return estimate

    def record(self) -> bytes:
        """The record for a restart: with the state of a sweep, but only the earliest expiry of the table."""
        sweep: list[object] = []
        if self.resume is not None:
            sweep = [self.resume.hex(), self._for_expired, self._superseded_at_start, self._removed]
        return json.dumps([self.cells, self.superseded, self.swept_ms, self.expiry.earliest_ms, *sweep]).encode()

    def sample_of(self, mutations: Sequence[Mutation]) -> Sequence[Mutation]:
        """One of each hundred rows written, also over many short calls."""
        before = self.sampled_rows
        self.sampled_rows = end = before + len(mutations)
        numbers = range(before // SAMPLE_EVERY, -(-end // SAMPLE_EVERY))
        indexes = [number * SAMPLE_EVERY + sample_offset(number) - before for number in numbers]
        return [mutations[index] for index in indexes if 0 <= index < len(mutations)]

    def count(self, cells: int, samples: Iterable[Mutation], specs: Mapping[bytes, FamilySpec]) -> None:
        """Record mutations that are about to be written."""
        self.cells += cells
        self._written = cells if self.resume is None else self._written + cells
        ttls_ms = {name: spec.ttl_s * 1000 for name, spec in specs.items() if spec.ttl_s is not None}
        if ttls_ms:
            puts = [put for put in samples if isinstance(put, Put)]
            rows = [(encode_text(put.row), put.timestamp_ms + _shortest_ttl_ms(put, ttls_ms)) for put in puts]
            self.expiry.add_written(cells, rows)

    def remove(self, cells: int) -> None:
        """Record cells that are about to be removed by another than the sweep."""
        self.cells = max(0, self.cells - cells)

    def start_if_due(self, *, ttl_s: int | None, now_ms: int) -> None:
        """Start a sweep of the table if it is due."""
        # a clock that was ahead must not delay a sweep
        self.swept_ms = min(self.swept_ms, now_ms)
        if self.superseded >= max(MIN_SUPERSEDED, GARBAGE_FRACTION * self.cells):
            self.start(now_ms)
        elif (
            ttl_s is not None
            and now_ms - self.swept_ms >= max(TTL_CHECK_MS, ttl_s * 250)
            and self.expiry.earliest_ms < now_ms
        ):
            self.start(now_ms, for_expired=True)

    def start(self, now_ms: int, *, for_expired: bool = False) -> None:
        """Start a sweep of the whole table, or of the ranges with expired cells."""
        self.resume = b""
        self.swept_ms = now_ms
        self._for_expired = for_expired
        # superseded cells in ranges without expired cells are not removed
        self._superseded_at_start = 0 if for_expired else self.superseded
        self._removed = 0
        self._row_expires_ms = NEVER

    def next_span(self, now_ms: int) -> tuple[bytes, bytes | None] | None:
        """Start and stop of the next slice; None at the end of the sweep."""
        if self.resume is None:
            return None
        return self.expiry.expired(self.resume, now_ms) if self._for_expired else (self.resume, None)

    @property
    def slice_keys(self) -> int:
        """Number of keys that the next slice reads."""
        return max(SLICE_KEYS, PACE * self._written)

    def add_slice(self, first: bytes, done: Slice, now_ms: int) -> None:
        """Record a finished slice."""
        self._record_expiry(first, done)
        self._removed += done.removed
        self._written = 0
        self.resume = done.after
        if self.next_span(now_ms) is None:
            self.end()

    def _record_expiry(self, first: bytes, done: Slice) -> None:
        """Record whole rows: writes are recorded by row, so no range may start within one."""
        begin = row_head(first) if first else b""
        end = None if done.after is None else row_head(done.after)
        expires_ms = min(self._row_expires_ms, done.expires_ms)
        if end is None or end > begin:
            self.expiry.add_swept(begin, end, expires_ms)
            expires_ms = NEVER if done.after == end else done.expires_ms
        self._row_expires_ms = expires_ms

    def end(self) -> None:
        """End the sweep."""
        self.resume = None
        self.cells = max(0, self.cells - self._removed)
        self.superseded -= self._superseded_at_start


def sample_offset(number: int, seed: int = 0) -> int:
    """
    The index of the row that is sampled in a hundred rows.

    It is pseudo-random: with a fixed index, calls of one shape would always sample the same rows.

    Args:
        number: of the hundred.
        seed: for a file, in which the hundreds are numbered from 0.
    """
    return crc32(number.to_bytes((number.bit_length() + 7) // 8), seed) % SAMPLE_EVERY


def slice_of(
    cursor: Cursor,
    families: Mapping[bytes, RetentionRule],
    span: tuple[bytes, bytes | None],
    limit: int,
    remove: Callable[[bytes], None],
) -> Slice:
    """
    Remove the garbage among about `limit` keys; a slice ends after a column, or after a deleted family of a row.

    A delete is removed together with the cells it hides. It precedes them, so all are removed in one slice: its size
    also depends on the versions of a column, and on the cells of a deleted family in a row.

    Args:
        cursor: over the table.
        families: name as encoded in keys -> retention.
        span: start and stop.
        limit: number of keys to read.
        remove: called with each key to remove.
    """
    cursor.seek(span[0])
    stop = span[1]
    row = head = column = b""
    retention = RetentionRule(0, 0, 0, NEVER)
    is_deleted = False
    floor = row_floor = found = count = removed = 0
    deleted_ms = -1
    expires_ms = NEVER
    valid, current_key, advance = cursor.valid, cursor.key, cursor.next
    while valid():
        key = current_key()
        if not head or not key.startswith(head):
            before, row = row, row_head(key)
            if count >= limit or (stop is not None and key >= stop):
                return Slice(removed, key if row == before else row, expires_ms)
            family = family_head(key[len(row) :])
            head = row + family
            retention = families[family]
            column = b""
            is_deleted = False
            row_floor = retention.oldest_ms
        start = len(head)
        at = decode_time(key)
        if key[start] != COLUMNS:
            # the first delete is the newest; the others hide nothing more
            is_deleted = True
            is_garbage = at < row_floor or max(at, _written_ms(cursor)) < retention.deletes_from_ms
            row_floor = max(row_floor, at + 1)
        else:
            if not column or not key.startswith(column):
                column = head + column_head(key[start:])
                if count >= limit and not is_deleted:
                    # resume before versions of the column that are written until then
                    return Slice(removed, column, expires_ms)
                floor, found, deleted_ms = row_floor, 0, -1
            if key[len(column)] != CELL:
                is_garbage = at < floor or max(at, _written_ms(cursor)) < retention.deletes_from_ms
                floor = max(floor, at + 1)
            elif len(key) > len(column) + CELL_TAIL_BYTES:
                is_garbage = at < floor or max(at, _written_ms(cursor)) < retention.deletes_from_ms
                deleted_ms = at
            else:
                is_garbage = at < floor or at == deleted_ms or found >= retention.versions
                if not is_garbage:
                    found += 1
                    expires_ms = min(expires_ms, at + retention.ttl_ms)
        if is_garbage:
            remove(key)
            removed += 1
        count += 1
        advance()
    at_key(cursor)
    return Slice(removed, None, expires_ms)


def count_superseded(
    samples: Iterable[Mutation], cursor: Cursor, specs: Mapping[bytes, FamilySpec], skipped: dict[int, int]
) -> int:
    """
    Estimated number of cells that a write will supersede; reads the rows of the samples.

    Args:
        samples: rows about to be written.
        cursor: over their table.
        specs: family -> its specification.
        skipped: n, if one in n columns is counted -> columns skipped since the last one; kept between calls.
    """
    found = 0
    for mutation in samples:
        row = encode_text(mutation.row)
        if isinstance(mutation, Put):
            for column in mutation.columns:
                versions = specs[column.partition(b":")[0]].versions
                # counting takes one call per version, so only a fraction of columns with many versions is counted
                every = -(-versions // SAMPLE_EVERY)
                skipped[every] = skipped.get(every, 0) + 1
                if skipped[every] < every:
                    continue
                skipped[every] = 0
                found += every * supersedes(cursor, row + cell_column(column), mutation.timestamp_ms, versions)
        elif mutation.exact:
            found += 2  # the delete and its version
        else:
            # a delete and the cells it hides are garbage
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
    """When the delete at the cursor was written; 0 if that is unknown."""
    written = cursor.value()
    return decode_time(written) if written else 0


def _shortest_ttl_ms(put: Put, ttls_ms: Mapping[bytes, int]) -> int:
    """The shortest time to live of the cells of a put."""
    return min((ttls_ms.get(column.partition(b":")[0], NEVER) for column in put.columns), default=NEVER)


def supersedes(cursor: Cursor, column: bytes, timestamp_ms: int, versions: int) -> bool:
    """Whether a new version of a column, given as a prefix of keys, supersedes an older one."""
    cursor.seek(column)
    remaining = versions
    while at_key(cursor) and cursor.key().startswith(column):
        # a cell with the same timestamp is overwritten
        remaining -= decode_time(cursor.key()) != timestamp_ms
        if remaining == 0:
            return True
        cursor.next()
    return False
