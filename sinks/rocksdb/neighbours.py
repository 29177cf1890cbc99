"""
Small files side by side, to be made into few large ones.

Where row keys rise, a file that is taken in overlaps no other: RocksDB puts it on the lowest level at once, and never
merges it. Each costs memory, a place in the list of files that every change goes through, and a file to open.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import PurePath
from typing import Any, NamedTuple

from rocksdict import BottommostLevelCompaction, CompactOptions, Rdict

LOOK_EVERY = 64
"""Files that are taken between two looks."""
SMALL_BYTES = 4 << 20
"""Files below that are joined, so each is written anew once; larger ones stay: at 100 GiB there are 25,000."""
LEAST = 16
"""Files side by side that are worth it: together they make one of the size that RocksDB gives to files."""
MOST = 2 * LOOK_EVERY
"""Files that are joined after one look: they are half a gigabyte at most, and a backlog is worked off too."""


class Span(NamedTuple):
    """Keys from the first of one file to the last of another."""

    first: bytes
    last: bytes


def join(table: Rdict) -> None:
    """Make large files of small ones of a table that lie side by side."""
    how = CompactOptions()
    how.set_bottommost_level_compaction(BottommostLevelCompaction.force())
    how.set_exclusive_manual_compaction(False)
    for span in spans(_files(table)):
        table.compact_range(span.first, span.last, how)


def spans(files: Iterable[dict[str, Any]]) -> list[Span]:
    """
    Where small files of a table lie side by side, on the lowest level that has any.

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
    """Those of one table: RocksDB lists the files of all together, and tells of one their numbers."""
    lines = (table.property_value("rocksdb.sstables") or "").splitlines()
    numbers = {line.partition(":")[0].strip() for line in lines}
    return (file for file in table.live_files() if PurePath(file["name"]).stem.lstrip("0") in numbers)
