"""Puts as a sorted file of RocksDB: tasks write it, the driver ingests it unchanged."""

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple
from zlib import crc32

import msgpack
from rocksdict import SstFileWriter

from ingest.api import Put
from ingest.durable import unusable
from sinks.rocksdb.errors import is_from_rocksdb, number_of
from sinks.rocksdb.keys import cell_column, encode_text, encode_time
from sinks.rocksdb.sweep import SAMPLE_EVERY, sample_offset
from sinks.rocksdb.tables import file_options


class Metadata(NamedTuple):
    """
    A task's description of a file for the driver.

    Attributes:
        cells: number of cells.
        families: of the cells.
        samples: one put of each hundred, without values.
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
    def of(cls, packed: bytes) -> "Metadata":
        """From bytes."""
        cells, families, samples = msgpack.unpackb(packed)
        puts = [Put(row, dict.fromkeys(columns, b""), at) for row, at, columns in samples]
        return cls(cells, frozenset(families), puts)


class _Shapes(dict[tuple[bytes, ...], list[tuple[bytes, bytes]]]):
    """Columns of a put -> the same in the order of their keys, each with the part of the key between row and time."""

    def __missing__(self, shape: tuple[bytes, ...]) -> list[tuple[bytes, bytes]]:
        columns = self[shape] = sorted(((column, cell_column(column)) for column in shape), key=itemgetter(1))
        return columns


def write(path: str, puts: Sequence[Put], compression: str) -> Metadata:
    """
    Write puts of one table as one file; of two values for one cell the later one wins.

    RocksDB does not rewrite a file that overlaps no other, so the file is compressed when it is written.

    Raises:
        StoreUnavailableError: the disk is full, or the process has too many open files.
        IntegrityError: the disk fails.
    """
    shapes = _Shapes()
    try:
        writer = SstFileWriter(file_options(compression))
        writer.open(path)
        cells = _fill(writer, puts, shapes)
        writer.finish()
    except Exception as error:
        if not is_from_rocksdb(error):
            raise
        raise unusable(f'"{path}" cannot be written', number_of(str(error)), str(error)) from error
    families = frozenset(column.partition(b":")[0] for shape in shapes for column in shape)
    return Metadata(cells, families, _samples(puts))


def _samples(puts: Sequence[Put]) -> list[Put]:
    """One of each hundred puts, at least one; the same for the same puts."""
    hundreds = [puts[first : first + SAMPLE_EVERY] for first in range(0, len(puts), SAMPLE_EVERY)]
    # each file samples at other offsets: the first row and its timestamp are the seed
    seed = crc32(b"%d" % puts[0].timestamp_ms, crc32(puts[0].row)) if puts else 0
    return [some[sample_offset(number, seed) % len(some)] for number, some in enumerate(hundreds)]


def _fill(file: SstFileWriter, puts: Sequence[Put], shapes: _Shapes) -> int:
    """Write every key once, in order; returns their number."""
    at = -1
    at_this_time: dict[tuple[bytes, ...], list[tuple[bytes, bytes]]] = {}
    cells = 0
    rows = _by_row(puts)
    for row in sorted(rows):
        one = rows[row]
        head = encode_text(row)
        if isinstance(one, list):
            merged = _merged(head, one, shapes)
            for key, value in merged:
                file[key] = value
            cells += len(merged)
            continue
        if one.timestamp_ms != at:
            at = one.timestamp_ms
            at_this_time.clear()
        columns = one.columns
        shape = tuple(columns)
        ends = at_this_time.get(shape)
        if ends is None:
            ends = at_this_time[shape] = _ends(shapes[shape], at)
        for column, end in ends:
            file[head + end] = columns[column]
        cells += len(columns)
    return cells


def _merged(head: bytes, puts: Sequence[Put], shapes: _Shapes) -> list[tuple[bytes, bytes]]:
    """Keys and values of several puts of one row, sorted."""
    cells: dict[bytes, bytes] = {}
    for put in puts:
        for column, end in _ends(shapes[tuple(put.columns)], put.timestamp_ms):
            cells[head + end] = put.columns[column]
    return sorted(cells.items())


def _ends(columns: Sequence[tuple[bytes, bytes]], timestamp_ms: int) -> list[tuple[bytes, bytes]]:
    """Columns of a shape, each with all of the key after the row."""
    time = encode_time(timestamp_ms)
    return [(column, middle + time) for column, middle in columns]


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
