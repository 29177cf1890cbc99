"""Sets metrics of tables again and again, while a service runs."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from ingest.api import IngestError
from ingest.observe.logs import logger
from ingest.service.jobs.periodic import Periodic
from ingest.service.shared import Shared

JOIN_S = 1.0  # a store or a file system that does not answer must not delay the end of the service
_log = logger(__name__)

K = TypeVar("K")
V = TypeVar("V")
Measures = Mapping[str, Callable[[], Mapping[K, V]]]
"""Table -> the function that measures it, by the keys of the metrics."""


class TableWatch(Periodic, Generic[K, V]):
    """
    Measures tables and sets their metrics, in a thread of its own.

    It follows the configuration of the service through reloads. Runs in a block.

    Args:
        name: of the thread.
        interval_s: between two checks.
        present: returns what the service shares now; None before its pipelines start.
        measures: of the tables of the configuration.
        set_metrics: called at each check with what was measured.
        failure: message of the log when a table cannot be measured; once until it can.
    """

    def __init__(
        self,
        name: str,
        interval_s: float,
        present: Callable[[], Shared | None],
        measures: Callable[[Shared], Measures[K, V]],
        set_metrics: Callable[[Mapping[K, V]], None],
        *,
        failure: str,
    ) -> None:
        super().__init__(name, interval_s, self.check, join_s=JOIN_S)
        self._present = present
        self._measures = measures
        self._set_metrics = set_metrics
        self._failure = failure
        self._failed: set[str] = set()

    def check(self) -> None:
        """Set the metrics once; a table that cannot be measured is left out."""
        shared = self._present()
        found: dict[K, V] = {}
        for table, measure in ({} if shared is None else self._measures(shared)).items():
            try:
                found |= measure()
            except IngestError as error:
                if table not in self._failed:
                    _log.warning(self._failure, table=table, reason=str(error))
                self._failed.add(table)
            else:
                self._failed.discard(table)
        self._set_metrics(found)
