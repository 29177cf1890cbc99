"""The ids that topics had in the micro-batches of a batch log; a topic that is recreated gets another one."""

from bisect import bisect_right
from operator import itemgetter

from ingest.dead_letters.replay import BEFORE_BATCH_MS
from ingest.spark.streaming.batch_log import LoggedBatch


class TopicHistory:
    """The ids of topics by batch time."""

    def __init__(self) -> None:
        self._ids: dict[str, list[tuple[int, str]]] = {}

    def add(self, batch: LoggedBatch) -> None:
        """Add the next micro-batch."""
        for topic, topic_id in batch.topic_ids.items():
            known = self._ids.setdefault(topic, [])
            if not known or known[-1][1] != topic_id:
                known.append((batch.time_ms, topic_id))

    def id_at(self, topic: str, time_ms: int) -> str:
        """The id that a topic had in a micro-batch, or in a replay just before its time; "" if it is unknown."""
        known = self._ids.get(topic, [])
        at = bisect_right(known, time_ms + BEFORE_BATCH_MS, key=itemgetter(0))
        return known[at - 1][1] if at else ""
