"""Batches that a pipeline has acknowledged and whose rows no store has, for replays."""

import json
import uuid
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise

from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch
from tests.support.checkpoint import acknowledge
from tests.support.service import Service

NOON_MS = 1_763_899_200_000
"""Time of the first batch."""


def with_lost_batches(service: Service, pipeline: str, topic: str, ends: Sequence[int]) -> None:
    """Acknowledge batches of a pipeline, by their ends in each of two partitions, whose rows no store has."""
    checkpoint = service.checkpoint(pipeline)
    with closing(BatchLog(service.folder / "data" / "state" / "batches" / pipeline)) as log:
        for number, (begin, end) in enumerate(pairwise([0, *ends])):
            acknowledge(checkpoint.folder, number, {topic: {0: end, 1: end}})
            checkpoint.set_time(number, NOON_MS + 2 * number)
            log.append(LoggedBatch(number, NOON_MS + 2 * number, {(topic, part): (begin, end) for part in (0, 1)}))
    (checkpoint.folder / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}))
