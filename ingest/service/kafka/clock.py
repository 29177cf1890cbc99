"""
The clock of the driver, compared with the Kafka cluster's.

The driver's clock gives micro-batches their times, and these never go back: after a clock that was ahead, rows of the
pipeline keep times in the future, which hide whatever other programs write until then.
"""

from collections.abc import Callable

from ingest.api import ConflictError
from ingest.clock import MAX_AHEAD_MS, now_ms
from ingest.formats.times import moment
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.settings import KafkaConnection
from ingest.observe.logs import logger

CHECK_S = 600.0
"""Between checks while a pipeline runs."""
_log = logger(__name__)


class ClockAheadError(ConflictError):
    """The clock of the driver is more than a day ahead of the Kafka cluster's."""

    code = "clock_ahead"
    hint = (
        "correct the clock that is wrong, for example with NTP, and start again: rows would get times in the future, "
        "and the times of micro-batches never go back"
    )


def refuse_clock_ahead(admin: KafkaAdmin, now_ms: Callable[[], int]) -> None:
    """
    Refuse a clock that is more than a day ahead of the cluster; one that the cluster does not report is not compared.

    Raises:
        ConflictError: it is.
    """
    cluster_ms = admin.clock_ms()
    here_ms = now_ms()
    if cluster_ms is not None and _is_ahead(here_ms, cluster_ms):
        raise ClockAheadError(
            f"the clock of this machine, {moment(here_ms)}, is more than a day ahead of the Kafka cluster's, "
            f"{moment(cluster_ms)}",
        )


def _is_ahead(here_ms: int, cluster_ms: int) -> bool:
    return here_ms - cluster_ms > MAX_AHEAD_MS


def check_clock(connection: KafkaConnection) -> None:
    """
    As `refuse_clock_ahead`, with the clock of this machine, before it gives a micro-batch its time.

    Raises:
        ConflictError: it is more than a day ahead.
        SourceUnavailableError: no broker answers.
    """
    with KafkaAdmin(connection) as admin:
        refuse_clock_ahead(admin, now_ms)


class ClockWatch:
    """
    Warns once when the clock gets more than a day ahead of the cluster, while the pipeline runs; used by one thread.

    Args:
        pipeline: its name.
        now_ms: the wall clock.
        clock: monotonic seconds.
    """

    def __init__(self, pipeline: str, now_ms: Callable[[], int], clock: Callable[[], float]) -> None:
        self._pipeline = pipeline
        self._now_ms = now_ms
        self._clock = clock
        self._checked_at = clock()  # the start has checked it
        self._is_ahead = False

    def check(self, admin: KafkaAdmin) -> None:
        """Compare the clocks, at most every ten minutes."""
        if self._clock() - self._checked_at < CHECK_S:
            return
        cluster_ms = admin.clock_ms()
        self._checked_at = self._clock()
        here_ms = self._now_ms()
        if cluster_ms is None:
            return
        is_ahead = _is_ahead(here_ms, cluster_ms)
        if is_ahead and not self._is_ahead:
            _log.warning(
                "the clock of this machine is more than a day ahead of the Kafka cluster's; correct it, since times of "
                "micro-batches never go back",
                pipeline=self._pipeline,
                here=moment(here_ms),
                cluster=moment(cluster_ms),
            )
        self._is_ahead = is_ahead
