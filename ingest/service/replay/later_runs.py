"""
Which records of dead letters ran again in a later micro-batch, so a replay would count them twice.

A record runs again if its micro-batch was rolled back and replayed, if its interrupted micro-batch got a later time
because the configuration had changed, or if its offsets were reset. The batch log has each of these runs.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from ingest.api import RecordPlace
from ingest.dead_letters.replay import BEFORE_BATCH_MS
from ingest.dead_letters.replay_batches import SkipReason
from ingest.service.kafka.topics import may_be_same
from ingest.service.replay.known_letters import KnownLetters
from ingest.service.replay.topic_history import TopicHistory
from ingest.spark.streaming.batch_log import LoggedBatch


class _Run(NamedTuple):
    """Offsets [begin, end) of a partition in a micro-batch; the id of the topic is "" if it was unknown."""

    begin: int
    end: int
    time_ms: int
    topic_id: str


class LaterRuns:
    """
    The runs of records into tables with deferred updates.

    Args:
        batches: the batch log, by time.
        known: what the tables know of dead letters.
    """

    def __init__(self, batches: Iterable[LoggedBatch], known: KnownLetters) -> None:
        self._known = known
        self._updated: dict[int, tuple[str, ...]] = {}
        runs: dict[tuple[str, str, int], list[_Run]] = {}
        self._topics = TopicHistory()
        for batch in batches:
            self._updated[batch.time_ms] = batch.updated
            self._topics.add(batch)
            for (topic, partition), (begin, end) in batch.ranges.items():
                run = _Run(begin, end, batch.time_ms, batch.topic_ids.get(topic, ""))
                for table in batch.updated:
                    runs.setdefault((table, topic, partition), []).append(run)
        self._runs = {part: _Runs(found) for part, found in runs.items()}
        cuts: dict[tuple[str, int], set[int]] = {}
        for (_, topic, partition), found in runs.items():
            cuts.setdefault((topic, partition), set()).update(at for run in found for at in (run.begin, run.end))
        self._cuts = {part: sorted(found) for part, found in cuts.items()}

    def skip_reason(self, table: str, place: RecordPlace, batch_time_ms: int) -> SkipReason | None:
        """
        Why the record of a dead letter must not be replayed into a table; None if it may be.

        Args:
            table: with deferred updates.
            place: of the record.
            batch_time_ms: of the micro-batch in which it failed, or in which its record could not be read.

        Raises:
            ConflictError: the log no longer has that micro-batch, so it is unknown whether the record ran again.
        """
        topic, partition, offset = place
        if batch_time_ms not in self._updated and batch_time_ms + BEFORE_BATCH_MS in self._updated:
            batch_time_ms += BEFORE_BATCH_MS  # a replay of records that could not be read has published it
        found = self._runs.get((table, topic, partition))
        if found is not None:
            topic_id = self._topics.id_at(topic, batch_time_ms)
            same = [run for run in found.containing(offset) if may_be_same(topic_id, run.topic_id)]
            if any(run.time_ms > batch_time_ms for run in same):
                return SkipReason.RAN_AGAIN
            if same and table not in self._updated.get(batch_time_ms, (table,)):
                return SkipReason.NOT_IN_BATCH
        if self._known.is_rolled_back(table, batch_time_ms):
            return SkipReason.ROLLED_BACK
        if batch_time_ms in self._updated and not self._known.did_run_again(table, batch_time_ms):
            return None
        # it has expired, or the log is that of a backup and has no later run
        return self._known.skip_reason(table, batch_time_ms)

    def cuts(self, place: RecordPlace, end: int) -> list[int]:
        """
        The offsets above that of a place and below an end at which runs begin or end, in order.

        Between two of them, all records ran in the same micro-batches.
        """
        topic, partition, offset = place
        cuts = self._cuts.get((topic, partition), [])
        return cuts[bisect_right(cuts, offset) : bisect_left(cuts, end)]


class _Runs:
    """The runs of one partition, by offset."""

    def __init__(self, runs: Iterable[_Run]) -> None:
        self._runs = sorted(runs)
        self._begins = [run.begin for run in self._runs]
        self._reach = list(accumulate((run.end for run in self._runs), max))

    def containing(self, offset: int) -> Iterator[_Run]:
        at = bisect_right(self._begins, offset) - 1
        while at >= 0 and self._reach[at] > offset:
            if self._runs[at].end > offset:
                yield self._runs[at]
            at -= 1
