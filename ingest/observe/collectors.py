"""Collectors of the registry besides its own metrics."""

from collections.abc import Callable, Iterator

import prometheus_client as prometheus
from prometheus_client.metrics_core import CounterMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from ingest.observe.metric_table import METRICS

DROPPED_LINES = "attr2hbase_log_lines_dropped_total"


class DroppedLines(Collector):
    """
    Reads the count of dropped lines at each scrape, so that logging does not depend on metrics.

    Args:
        dropped_lines: returns their number so far.
    """

    def __init__(self, dropped_lines: Callable[[], int]) -> None:
        self._dropped_lines = dropped_lines

    def collect(self) -> Iterator[Family]:
        """The counter."""
        [metric] = (each for each in METRICS if each.name == DROPPED_LINES)
        yield CounterMetricFamily(metric.name, metric.help, value=self._dropped_lines())


class WithoutCreated(Collector):
    """
    A registry without the `_created` series, which would double the size of a scrape.

    Args:
        registry: with all series.
    """

    def __init__(self, registry: prometheus.CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Family]:
        """The families, without these series."""
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family
