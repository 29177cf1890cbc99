"""
Folds the operations on each row key of a micro-batch into deletes and puts that need no order.

In HBase a delete hides a put with the same timestamp, also one that is written later. So deletes get the timestamp one
millisecond earlier, and a put that precedes its delete is not sent at all. The result is then that of the operations in
their original order, in whatever order they are sent, and after a replay.

An exact delete keeps its timestamp: a later put of the same version replaces it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ingest.api import Delete, Durability, MappingError, Mutation, Put, stronger
from sinks.folding.sizes import CELL_COST_BYTES


class DeleteAtZeroError(MappingError):
    """A delete has the timestamp before the event's, and 0 has none before it."""

    code = "delete_at_zero"
    remedy = "Give the event a later time, or use `timestamp: batch`."


@dataclass(slots=True)
class _Pending:
    """
    The operations on one row.

    Attributes:
        puts: timestamp -> column -> value.
        ttls_ms: (timestamp, column) -> time to live, of the cells that have one.
        row_ms: original timestamp of the newest row delete; -1 for none.
        families_ms: family -> original timestamp of its newest delete.
        columns_ms: (family, qualifier) -> original timestamp of its newest delete.
        versions: (column, timestamp) of exact deletes.
        durability: the strongest of the operations; all of them get it.
    """

    puts: dict[int, dict[bytes, bytes]] = field(default_factory=dict)
    ttls_ms: dict[tuple[int, bytes], int] = field(default_factory=dict)
    row_ms: int = -1
    families_ms: dict[bytes, int] = field(default_factory=dict)
    columns_ms: dict[tuple[bytes, bytes], int] = field(default_factory=dict)
    versions: set[tuple[bytes, int]] = field(default_factory=set)
    durability: Durability = Durability.SKIP


class Fold:
    """
    Buffers the operations of a task and micro-batch by row key.

    With deletes nothing can be sent before the end, since a later delete gets an earlier timestamp and would not hide a
    put that is already sent. So it buffers all events of the task; `max_events_per_batch` bounds them.

    Order: any number of `add`, then `drain`, or `by_row` and `clear`; then again.

    Args:
        max_put_bytes: bound on a put with the cells of several events, except for a single larger cell; None for no
            bound. The server limits the size of a call, and each event alone may be small enough.
    """

    def __init__(self, max_put_bytes: int | None = None) -> None:
        self._max_put_bytes = max_put_bytes
        self._joined = 0
        # most rows have a single put, which is not copied
        self._tables: dict[str, dict[bytes, Put | _Pending]] = {}

    def add(self, table: str, mutation: Put | Delete) -> None:
        """
        Add the next operation.

        Raises:
            MappingError: a delete at time 0; no timestamp precedes it.
        """
        rows = self._tables.get(table)
        if rows is None:
            rows = self._tables[table] = {}
        row = mutation.row
        pending = rows.get(row)
        if isinstance(mutation, Put):
            if pending is None:
                rows[row] = mutation
                return
            if isinstance(pending, Put):
                pending = rows[row] = _of(pending)
            # the first put has the columns of all with its time, so that of a row with many puts is enough
            earlier = next(iter(pending.puts.values()), None)
            if earlier is not None and earlier.keys() != mutation.columns.keys():
                self._joined += 1
            _add_put(pending, mutation)
            return
        if mutation.timestamp_ms < 1 and not mutation.exact:
            raise DeleteAtZeroError(
                f"a delete at time {mutation.timestamp_ms} cannot be written: deletes get the millisecond before",
                hint="give the event a time after 1970",
            )
        if not isinstance(pending, _Pending):
            pending = rows[row] = _of(pending)
        _add_delete(pending, mutation)

    def deletes(self) -> Iterator[tuple[str, Delete]]:
        """Every delete, one millisecond before its original timestamp, except for exact ones."""
        for table, rows in self._tables.items():
            for row, pending in rows.items():
                if isinstance(pending, _Pending):
                    for delete in _deletes_of(row, pending):
                        yield table, delete

    def puts(self) -> Iterator[tuple[str, Put]]:
        """Every put that no later delete removed; one for each row, timestamp and ttl, several if it is too large."""
        for table, rows in self._tables.items():
            for row, pending in rows.items():
                if isinstance(pending, Put):
                    yield table, pending
                    continue
                for put in self._puts_of(row, pending):
                    yield table, put

    def drain(self) -> Iterator[tuple[str, Mutation]]:
        """All that `deletes` and `puts` return; the fold is empty afterwards."""
        yield from self.deletes()
        yield from self.puts()
        self._tables.clear()

    def by_row(self) -> Iterator[tuple[str, bytes, list[Mutation]]]:
        """Table, row key, and all that `deletes` and `puts` return of the row."""
        for table, rows in self._tables.items():
            for row, pending in rows.items():
                if isinstance(pending, Put):
                    yield table, row, [pending]
                else:
                    yield table, row, [*_deletes_of(row, pending), *self._puts_of(row, pending)]

    def _puts_of(self, row: bytes, pending: _Pending) -> Iterator[Put]:
        for at, columns in pending.puts.items():
            for ttl_ms, own in _by_ttl(at, columns, pending.ttls_ms):
                for part in self._parts(own):
                    yield Put(row, part, at, pending.durability, ttl_ms=ttl_ms)

    def _parts(self, columns: dict[bytes, bytes]) -> Iterator[dict[bytes, bytes]]:
        limit = self._max_put_bytes
        if limit is None:
            yield columns
            return
        part: dict[bytes, bytes] = {}
        size = 0
        for column, value in columns.items():
            size += CELL_COST_BYTES + len(column) + len(value)
            if size > limit and part:
                yield part
                part, size = {}, CELL_COST_BYTES + len(column) + len(value)
            part[column] = value
        yield part

    def take_joined(self) -> int:
        """
        Number of puts, since the last call of this method, of a row that had an earlier one with other columns: the row
        then has columns of several events, which no event has.
        """
        joined, self._joined = self._joined, 0
        return joined

    def clear(self) -> None:
        """Discard all operations."""
        self._tables.clear()
        self._joined = 0


def _deletes_of(row: bytes, pending: _Pending) -> Iterator[Delete]:
    if pending.row_ms >= 0:
        yield Delete(row, pending.row_ms - 1, durability=pending.durability)
    for family, at in pending.families_ms.items():
        yield Delete(row, at - 1, family, durability=pending.durability)
    for (family, qualifier), at in pending.columns_ms.items():
        yield Delete(row, at - 1, family, qualifier, durability=pending.durability)
    for column, at in sorted(pending.versions):
        family, _, qualifier = column.partition(b":")
        yield Delete(row, at, family, qualifier, durability=pending.durability, exact=True)


def _of(put: Put | None) -> _Pending:
    pending = _Pending()
    if put is not None:
        pending.puts[put.timestamp_ms] = put.columns
        pending.durability = put.durability
        if put.ttl_ms is not None:
            _set_ttls(pending, put)
    return pending


def _by_ttl(
    at: int, columns: dict[bytes, bytes], ttls_ms: dict[tuple[int, bytes], int]
) -> Iterable[tuple[int | None, dict[bytes, bytes]]]:
    """The columns of a timestamp, divided by their times to live: each put has one."""
    if not ttls_ms:
        return ((None, columns),)
    found: dict[int | None, dict[bytes, bytes]] = {}
    for column, value in columns.items():
        found.setdefault(ttls_ms.get((at, column)), {})[column] = value
    return found.items()


def _set_ttls(pending: _Pending, put: Put) -> None:
    """Let the cells of a put have its time to live, which may be none, in place of that of earlier ones."""
    at, ttl_ms, ttls_ms = put.timestamp_ms, put.ttl_ms, pending.ttls_ms
    for column in put.columns:
        if ttl_ms is None:
            ttls_ms.pop((at, column), None)
        else:
            ttls_ms[at, column] = ttl_ms


def _add_put(pending: _Pending, put: Put) -> None:
    pending.durability = stronger(pending.durability, put.durability)
    pending.puts.setdefault(put.timestamp_ms, {}).update(put.columns)
    if pending.ttls_ms or put.ttl_ms is not None:
        _set_ttls(pending, put)
    if pending.versions:
        pending.versions.difference_update((column, put.timestamp_ms) for column in put.columns)


def _add_delete(pending: _Pending, delete: Delete) -> None:
    at, family, qualifier = delete.timestamp_ms, delete.family, delete.qualifier
    pending.durability = stronger(pending.durability, delete.durability)
    if delete.exact and family is not None and qualifier is not None:
        _add_exact(pending, family + b":" + qualifier, at)
        return
    for put_ms, columns in list(pending.puts.items()):
        if put_ms > at:
            continue
        if family is None:
            covered = list(columns)
        elif qualifier is None:
            start = family + b":"
            covered = [column for column in columns if column.startswith(start)]
        else:
            covered = [family + b":" + qualifier]
        for column in covered:
            columns.pop(column, None)
        if not columns:
            del pending.puts[put_ms]
    if family is None:
        pending.row_ms = max(pending.row_ms, at)
    elif qualifier is None:
        pending.families_ms[family] = max(pending.families_ms.get(family, -1), at)
    else:
        pending.columns_ms[family, qualifier] = max(pending.columns_ms.get((family, qualifier), -1), at)
    _drop_covered(pending)


def _add_exact(pending: _Pending, column: bytes, at: int) -> None:
    columns = pending.puts.get(at, {})
    columns.pop(column, None)
    if not columns:
        pending.puts.pop(at, None)
    pending.versions.add((column, at))


def _drop_covered(pending: _Pending) -> None:
    for family in [family for family, at in pending.families_ms.items() if at <= pending.row_ms]:
        del pending.families_ms[family]
    for column, at in list(pending.columns_ms.items()):
        if at <= max(pending.row_ms, pending.families_ms.get(column[0], -1)):
            del pending.columns_ms[column]
