"""F32: when the error budget stops a pipeline; one service with a pipeline for each case."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ingest.dead_letters.files import FileDeadLetters
from tests.support.audit import rocksdb_table
from tests.support.ledger.report import add_row
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.service import Service

BATCH = 200


@dataclass(frozen=True)
class Case:
    """
    A pipeline and its budget.

    Attributes:
        bad: number of failing records in each micro-batch of 200 records.
        acknowledged: number of acknowledged micro-batches; the next one stops the pipeline.
    """

    name: str
    bad: Sequence[int]
    acknowledged: int
    share: str = "5%"
    min_events: int = 1_000
    window: str = "5m"
    on_error: str = "dead_letter"

    @property
    def stops(self) -> bool:
        """Whether the budget stops the pipeline."""
        return self.acknowledged < len(self.bad)

    @property
    def dead_letters(self) -> int:
        """Number of failed records in the acknowledged micro-batches."""
        return sum(self.bad[: self.acknowledged])


CASES = (
    Case("exactly_the_limit", [10] * 10, 10),
    Case("one_more_than_the_limit", [10] * 9 + [11], 9),
    Case("all_bad_below_min_events", [BATCH] * 4, 4),
    Case("all_bad", [BATCH] * 10, 4),
    Case("bad_at_the_end", [0] * 10 + [BATCH] * 2, 10),
    Case("nothing_may_fail", [0, 1, 0], 1, share="0%", min_events=1),
    Case("everything_may_fail", [BATCH] * 8, 8, share="100%"),
    Case("dropped_ones_count_too", [BATCH] * 8, 4, on_error="drop"),
    Case("bad_after_many_good_ones", [0] * 20 + [150], 21),
    # fewer than 14 micro-batches of good records are within the window
    Case("bad_after_good_ones_out_of_the_window", [0] * 20 + [150], 20, min_events=1, window="1s"),
)


@pytest.mark.slow
def test_error_budget_stops_a_pipeline_above_its_limit(kafka: Kafka, tmp_path: Path) -> None:
    started = time.monotonic()
    topics = {case.name: kafka.create_topic("budget") for case in CASES}
    for case in CASES:
        kafka.produce(topics[case.name], records_of(case))
    content: dict[str, Any] = {
        "stores": {"local": {"rocksdb": {"path": str(tmp_path / "store")}}},
        "pipelines": {case.name: pipeline_of(case, kafka, topics[case.name]) for case in CASES},
    }
    stopping = [case for case in CASES if case.stops]
    with Service(tmp_path, content) as service:
        assert service.run_once() == 1, service.last_lines()
        failed = {line["pipeline"] for line in service.lines() if line.get("message") == "pipeline failed"}
        assert failed == {case.name for case in stopping}
        for case in CASES:
            acknowledged = service.checkpoint(case.name).acknowledged(topics[case.name]).get(0, 0)
            assert (case.name, acknowledged) == (case.name, case.acknowledged * BATCH)
            queue = FileDeadLetters(service.folder / "data" / "state", case.name)
            dead_letters = sum(1 for _ in queue.entries())
            assert (case.name, dead_letters) == (case.name, case.dead_letters if case.on_error == "dead_letter" else 0)
            rows = rocksdb_table(tmp_path / "store", f"t_{case.name}")
            # the batch that exceeds the budget has neither rows nor dead letters
            ran = case.bad[: case.acknowledged]
            assert (case.name, len(rows)) == (case.name, len(ran) * BATCH - sum(ran))
    add_row(
        "F32 error budgets",
        f"{len(stopping)} of {len(CASES)} pipelines stopped",
        time.monotonic() - started,
        stored=sum(case.acknowledged * BATCH - case.dead_letters for case in CASES),
        dead=sum(case.dead_letters for case in CASES if case.on_error == "dead_letter"),
        dropped=sum(case.dead_letters for case in CASES if case.on_error == "drop"),
    )


def records_of(case: Case) -> list[Given]:
    """Records; the bad ones are not JSON."""
    return [
        Given("{" if index < bad else "{}", key=f"{batch}/{index}", partition=0)
        for batch, bad in enumerate(case.bad)
        for index in range(BATCH)
    ]


def pipeline_of(case: Case, kafka: Kafka, topic: str) -> dict[str, Any]:
    source = {"brokers": kafka.brokers, "topics": [topic], "group": unique("budget"), "max_events_per_batch": BATCH}
    return {
        "source": {"kafka": source},
        "decorators": [
            {"json": {"prefix": "2hb_colfam:"}},
            {"value": {"attribute": "2hb_", "value": "%{key}"}},
            {"value": {"attribute": "2hb_colfam:body", "value": "%{body}"}},
        ],
        "sinks": [{"attr2hbase": {"table": f"t_{case.name}"}}],
        "on_error": case.on_error,
        "error_budget": {"share": case.share, "min_events": case.min_events, "window": case.window},
    }
