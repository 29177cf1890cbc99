"""
Merges adjacent small files into few large ones.

If row keys rise, an ingested file overlaps no other: RocksDB places it on the lowest level at once, and never merges
it. Each file costs memory, an entry in the list of files that every change copies, and a file descriptor.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import PurePath
from typing import Any, NamedTuple

from rocksdict import BottommostLevelCompaction, CompactOptions, Rdict

LOOK_EVERY = 64
"""Ingested files between two checks."""
SMALL_BYTES = 4 << 20
"""Smaller files are merged, so each is rewritten once; larger ones stay: at 100 GiB there are 25,000."""
LEAST = 16
"""Least number of adjacent files to merge: together they have the size of RocksDB's own files."""
MOST = 2 * LOOK_EVERY
"""Files merged after one check: half a gigabyte at most, which also works off a backlog."""


class Span(NamedTuple):
    """Keys from the first of one file to the last of another."""

    first: bytes
    last: bytes


def join(table: Rdict) -> None:
    """Merge adjacent small files of a table into large ones."""
    how = CompactOptions()
    how.set_bottommost_level_compaction(BottommostLevelCompaction.force())
    how.set_exclusive_manual_compaction(False)
    for span in spans(_files(table)):
        table.compact_range(span.first, span.last, how)


def spans(files: Iterable[dict[str, Any]]) -> list[Span]:
    """
    Key ranges of adjacent small files of a table, on the lowest level that has any.

    Args:
        files: as RocksDB lists them: `level`, `size`, `start_key` and `end_key` of each.
    """
    of_levels: dict[int, list[dict[str, Any]]] = {}
    for file in files:
        of_levels.setdefault(file["level"], []).append(file)
    lowest = max(of_levels, default=0)
    if lowest == 0:  # these overlap, and RocksDB merges them by itself
        return []
    found: list[Span] = []
    left = MOST
    in_order = sorted(of_levels[lowest], key=itemgetter("start_key"))
    for is_small, some in groupby(in_order, key=lambda file: file["size"] < SMALL_BYTES):
        run = list(some)[:left]
        if is_small and len(run) >= LEAST:
            found.append(Span(run[0]["start_key"], run[-1]["end_key"]))
            left -= len(run)
    return found


def _files(table: Rdict) -> Iterator[dict[str, Any]]:
    """The files of one table: RocksDB lists those of all tables together, and for one table their numbers."""
    lines = (table.property_value("rocksdb.sstables") or "").splitlines()
    numbers = {line.partition(":")[0].strip() for line in lines}
    return (file for file in table.live_files() if PurePath(file["name"]).stem.lstrip("0") in numbers)
