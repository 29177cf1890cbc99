"""Puts as a sorted file that RocksDB takes in as it is; made by tasks, taken by the driver."""

import errno
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import NamedTuple

import msgpack
from rocksdict import SstFileWriter

from ingest.api import Put
from ingest.durable import unusable
from sinks.rocksdb.errors import is_from_rocksdb
from sinks.rocksdb.keys import cell_column, encode_text, encode_time
from sinks.rocksdb.sweep import SAMPLE_EVERY
from sinks.rocksdb.tables import table_options
from sinks.rocksdb.writing import MAX_PREPARED

_NO_ROOM = ("no space left", "quota", "file too large")


class Note(NamedTuple):
    """
    What the driver is told of a file.

    Attributes:
        cells: in it.
        families: that it names.
        samples: every hundredth put, without values.
    """

    cells: int
    families: frozenset[bytes]
    samples: list[Put]

    def packed(self) -> bytes:
        """As bytes."""
        samples = [(put.row, put.timestamp_ms, list(put.columns)) for put in self.samples]
        packed: bytes = msgpack.packb((self.cells, list(self.families), samples))
        return packed

    @classmethod
    def of(cls, packed: bytes) -> "Note":
        """From bytes."""
        cells, families, samples = msgpack.unpackb(packed)
        puts = [Put(row, dict.fromkeys(columns, b""), at) for row, at, columns in samples]
        return cls(cells, frozenset(families), puts)


class TableFiles:
    """Writes such files; what it learns of columns stays for the next one."""

    def __init__(self) -> None:
        # the columns of a put -> the same in the order of their keys, each with what stands between row and time
        self._shapes: dict[tuple[bytes, ...], list[tuple[bytes, bytes]]] = {}

    def write(self, path: str, puts: Sequence[Put]) -> Note:
        """
        Write puts of one table as one file; of two values for one cell the later one counts.

        Raises:
            StoreUnavailableError: the disk has no room.
            IntegrityError: the disk fails.
        """
        if sum(map(len, self._shapes)) > MAX_PREPARED:
            self._shapes.clear()
        try:
            writer = SstFileWriter(table_options())
            writer.open(path)
            cells = self._fill(writer.__setitem__, puts)
            writer.finish()
        except Exception as error:
            if not is_from_rocksdb(error):
                raise
            number = errno.ENOSPC if any(text in str(error).lower() for text in _NO_ROOM) else errno.EIO
            raise unusable(f'"{path}" can not be written', number, str(error)) from error
        shapes = {tuple(each.columns) for each in puts}
        families = frozenset(column.partition(b":")[0] for shape in shapes for column in shape)
        return Note(cells, families, list(puts[::SAMPLE_EVERY]))

    def _fill(self, write: Callable[[bytes, bytes], None], puts: Sequence[Put]) -> int:
        """Write every key once, in their order; how many there are."""
        at = -1
        time = b""
        cells = 0
        rows = _by_row(puts)
        for row in sorted(rows):
            one = rows[row]
            head = encode_text(row)
            if isinstance(one, list):
                merged = self._merged(head, one)
                for key, value in merged:
                    write(key, value)
                cells += len(merged)
                continue
            if one.timestamp_ms != at:
                at = one.timestamp_ms
                time = encode_time(at)
            columns = one.columns
            for column, middle in self._sorted(tuple(columns)):
                write(head + middle + time, columns[column])
            cells += len(columns)
        return cells

    def _sorted(self, shape: tuple[bytes, ...]) -> list[tuple[bytes, bytes]]:
        known = self._shapes.get(shape)
        if known is None:
            known = self._shapes[shape] = sorted(((column, cell_column(column)) for column in shape), key=_key_part)
        return known

    def _merged(self, head: bytes, puts: Sequence[Put]) -> list[tuple[bytes, bytes]]:
        """What several puts leave in one row."""
        cells: dict[bytes, bytes] = {}
        for put in puts:
            time = encode_time(put.timestamp_ms)
            for column, middle in self._sorted(tuple(put.columns)):
                cells[head + middle + time] = put.columns[column]
        return sorted(cells.items())


def _by_row(puts: Sequence[Put]) -> dict[bytes, Put | list[Put]]:
    rows: dict[bytes, Put | list[Put]] = {}
    for put in puts:
        known = rows.setdefault(put.row, put)
        if known is put:
            continue
        if isinstance(known, list):
            known.append(put)
        else:
            rows[put.row] = [known, put]
    return rows


_key_part = itemgetter(1)
