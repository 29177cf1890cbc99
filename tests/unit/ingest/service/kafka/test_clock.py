"""The clock of the driver beside that of a Kafka cluster."""

from typing import cast

import pytest
from structlog.testing import capture_logs

from ingest.api import ConflictError
from ingest.clock import MAX_AHEAD_MS
from ingest.kafka.admin import KafkaAdmin
from ingest.service.kafka.clock import CHECK_S, ClockWatch, refuse_clock_ahead


class Cluster:
    """A cluster whose clock stands still."""

    def __init__(self, clock_ms: int | None) -> None:
        self.now_ms = clock_ms
        self.requests = 0

    def clock_ms(self) -> int | None:
        self.requests += 1
        return self.now_ms


def admin(cluster: Cluster) -> KafkaAdmin:
    return cast("KafkaAdmin", cluster)


def test_clock_that_is_more_than_a_day_ahead_is_refused_with_both_times() -> None:
    with pytest.raises(ConflictError) as caught:
        refuse_clock_ahead(admin(Cluster(1_000)), lambda: 1_001 + MAX_AHEAD_MS)
    assert caught.value.code == "clock_ahead"
    for text in ("1970-01-01T00:00:01.000Z", "1970-01-02T00:00:01.001Z", "NTP"):
        assert text in str(caught.value)


@pytest.mark.parametrize("cluster_ms", [1_000, 10 * MAX_AHEAD_MS, None])
def test_other_clocks_are_accepted(cluster_ms: int | None) -> None:
    refuse_clock_ahead(admin(Cluster(cluster_ms)), lambda: 1_000 + MAX_AHEAD_MS)


def test_running_pipeline_warns_once_each_time() -> None:
    cluster, now_s, here_ms = Cluster(1_000), 0.0, 1_000
    watch = ClockWatch("p", lambda: here_ms, lambda: now_s)

    def lines_after(ahead_ms: int) -> list[str]:
        nonlocal now_s, here_ms
        now_s += CHECK_S
        here_ms = 1_000 + ahead_ms
        with capture_logs() as lines:
            watch.check(admin(cluster))
            watch.check(admin(cluster))  # it is not time yet
        return [f"{line['pipeline']}: {line['here']}, {line['cluster']}" for line in lines]

    assert [len(lines_after(ahead_ms)) for ahead_ms in (0, MAX_AHEAD_MS)] == [0, 0]
    assert lines_after(MAX_AHEAD_MS + 1) == ["p: 1970-01-02T00:00:01.001Z, 1970-01-01T00:00:01.000Z"]
    assert [len(lines_after(ahead_ms)) for ahead_ms in (MAX_AHEAD_MS + 2, 0, MAX_AHEAD_MS + 1)] == [0, 0, 1]
    cluster.now_ms = None
    assert lines_after(0) == []
    assert cluster.requests == 7
