"""
The splits of a micro-batch: their ranks on the driver, and the records of a task by split.

The rank of a split is its index in the sorted order of the first places of all splits of the micro-batch. It depends
only on the offsets of the micro-batch, so each attempt gives a record the same rank, whichever task reads it.

A task reads a split as a whole: Spark reads an input partition (one range of a file, or a Kafka partition, which Spark
divides only if `minPartitions` or `maxRecordsPerPartition` is set) in one task, and `coalesce` puts whole input
partitions together.
"""

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from ingest.api import IngestError, Record, RecordPlace
from ingest.api.sink import MAX_SPLITS

Split = tuple[int | None, Iterable[Record]]
"""The rank of a split, None if the splits of the micro-batch have no ranks; and its records."""

_PARTITION = itemgetter(0, 1)  # topic and partition of a record
_NO_LIMIT = sys.maxsize  # above each offset


class SplitMismatchError(IngestError):
    """A task read records that are in no split of the micro-batch, or a split in several parts."""

    code = "split_mismatch"
    remedy = (
        "For a source of a plugin, correct its `splits` or its reader; for a built-in source, report the bug. Give "
        "each input of `explain` and `test` an offset of its own."
    )


class TooManySplitsError(IngestError):
    """A micro-batch has more than 1,048,576 splits, so their ranks are not unique."""

    code = "too_many_splits"
    hint = (
        "a split is a Kafka partition or a range of a file: read fewer partitions in one pipeline, or put the lines of "
        "small files together"
    )


def ranked(places: Iterable[RecordPlace]) -> tuple[RecordPlace, ...]:
    """
    The splits of a micro-batch in the order of their ranks, for `TaskSpec.splits`.

    Args:
        places: the first place of each split, in any order.

    Raises:
        TooManySplitsError: there are more than 2^20 splits.
    """
    splits = tuple(sorted(set(places)))
    if len(splits) > MAX_SPLITS:
        raise TooManySplitsError(f"the micro-batch has {len(splits):,} splits, the maximum is {MAX_SPLITS:,}")
    return splits


def first_places(records: Iterable[Record]) -> Iterator[RecordPlace]:
    """The first place of each split of records in memory: of a run of one partition with rising offsets."""
    topic, partition, offset = "", -1, -1
    for record in records:
        if (record.topic, record.partition) != (topic, partition) or record.offset <= offset:
            yield record.place
        topic, partition, offset = record.place


def by_split(records: Iterable[Record]) -> Iterator[Split]:
    """The records by split, without ranks: a change of topic or partition starts the next split."""
    return ((None, split) for _, split in groupby(records, _PARTITION))


def by_rank(records: Iterable[Record], splits: Sequence[RecordPlace]) -> Iterator[Split]:
    """
    The records by split, with ranks. A record is in the last split that begins at or before its offset.

    The records of a split must be read before the next split is requested.

    Args:
        records: of one task.
        splits: see `TaskSpec`; not empty.

    Raises:
        SplitMismatchError: while records are read: a record is in no split, or its split has ended before.
    """
    return _RankedRecords(records, splits).by_rank()


class _RankedRecords:
    """The records of a task; the first record after a split ends the split, and is kept for the next one."""

    def __init__(self, records: Iterable[Record], splits: Sequence[RecordPlace]) -> None:
        self._records = iter(records)
        self._splits = splits
        self._next: Record | None = None

    def by_rank(self) -> Iterator[Split]:
        started: set[int] = set()
        self._next = next(self._records, None)
        while self._next is not None:
            rank = self._rank_of(self._next)
            if rank in started:
                raise SplitMismatchError(
                    f"the records of the split that begins at {_text(self._splits[rank])} are not read one after the "
                    f"other: {_text(self._next.place)} follows those of another split",
                    hint="a reader returns the records of a split together, and a place identifies one record",
                )
            started.add(rank)
            yield rank, self._split(rank, self._next)

    def _rank_of(self, record: Record) -> int:
        rank = bisect_right(self._splits, record.place) - 1
        if rank < 0 or self._splits[rank][:2] != record.place[:2]:
            raise SplitMismatchError(
                f"record {_text(record.place)} is in none of the {len(self._splits):,} splits of the micro-batch",
                hint="the driver and the reader of the source disagree about the offsets of the micro-batch",
            )
        return rank

    def _split(self, rank: int, first: Record) -> Iterator[Record]:
        """The records of a split; a comparison for each, since a search would cost more."""
        topic, partition, start = self._splits[rank]
        following = self._splits[rank + 1] if rank + 1 < len(self._splits) else None
        stop = following[2] if following is not None and following[:2] == (topic, partition) else _NO_LIMIT
        self._next = None
        yield first
        for record in self._records:
            if start <= record[2] < stop and record[1] == partition and record[0] == topic:
                yield record
            else:
                self._next = record
                return


def _text(place: RecordPlace) -> str:
    topic, partition, offset = place
    return f"{topic}/{partition}/{offset}"
