"""
Merges adjacent small files into few large ones.

If row keys rise, an ingested file overlaps no other: RocksDB places it on the lowest level at once and never merges it.
Each file costs memory, a file descriptor, and an entry in the list of files that every change copies.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import PurePath
from typing import Any, NamedTuple

from rocksdict import BottommostLevelCompaction, CompactOptions, Rdict

CHECK_EVERY = 64
"""Ingested files between two checks."""
SMALL_BYTES = 4 << 20
"""Only smaller files are merged, so each is rewritten once; 100 GiB have at most 25,000 files."""
MIN_FILES = 16
"""Minimum number of adjacent files to merge: together they have the size of RocksDB's own files."""
MAX_FILES = 2 * CHECK_EVERY
"""Maximum number of files merged after one check, half a gigabyte; enough to reduce a backlog."""


class Span(NamedTuple):
    """Keys from the first of one file to the last of another."""

    first: bytes
    last: bytes


def merge(table: Rdict) -> None:
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
    if lowest == 0:  # these overlap, and RocksDB merges them itself
        return []
    found: list[Span] = []
    remaining = MAX_FILES
    in_order = sorted(of_levels[lowest], key=itemgetter("start_key"))
    for is_small, some in groupby(in_order, key=lambda file: file["size"] < SMALL_BYTES):
        run = list(some)[:remaining]
        if is_small and len(run) >= MIN_FILES:
            found.append(Span(run[0]["start_key"], run[-1]["end_key"]))
            remaining -= len(run)
    return found


def _files(table: Rdict) -> Iterator[dict[str, Any]]:
    """The files of one table: RocksDB lists the files of all tables, and the file numbers of one."""
    lines = (table.property_value("rocksdb.sstables") or "").splitlines()
    numbers = {line.partition(":")[0].strip() for line in lines}
    return (file for file in table.live_files() if PurePath(file["name"]).stem.lstrip("0") in numbers)
