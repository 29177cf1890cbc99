"""What is known of a metric."""

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """Prometheus type of a metric."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Scope(StrEnum):
    """What each series of a metric is about; all but the last one are labels."""

    PIPELINE = "pipeline"
    JOB = "kind"
    """The kind of job; Prometheus itself calls what it scrapes a job."""
    TABLE = "table"
    """A table, of compactions, dumps, feeds and blobs."""
    PROCESS = "process"


class Metric(NamedTuple):
    """
    One row of the table.

    Attributes:
        labels: besides the label of `scope`.
        unit: for the reference page.
        help: one sentence.
        buckets: upper bounds of a histogram.
        scope: what a series is about.
        is_moment: whether a gauge is a time since 1970, so that its age is of interest.
        is_least_worst: whether the least value of a gauge is the worst, in place of the greatest.
    """

    name: str
    kind: Kind
    unit: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    scope: Scope = Scope.PIPELINE
    is_moment: bool = False
    is_least_worst: bool = False


def labels_of(metric: Metric) -> tuple[str, ...]:
    """All labels of a metric, that of its scope first."""
    return metric.labels if metric.scope is Scope.PROCESS else (metric.scope.value, *metric.labels)


Change = tuple[Metric, tuple[str, ...], float]
"""A metric, the values of its labels, and what a gauge is set to, or a counter is increased by."""
