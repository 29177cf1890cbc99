"""Everything that the checks of a region server depend on."""

from dataclasses import dataclass, field

from ingest.api import TableSpec
from ingest.doctor.hbase.jmx import Sample
from ingest.doctor.hbase.server import Memory, RegionServer


class MissingInputError(LookupError):
    """A check that usually needs no such input needs it for this server; the argument is its name."""


@dataclass(frozen=True, slots=True)
class Writers:
    """
    The sinks that write to HBase.

    Attributes:
        buffer_bytes: the largest write buffer, which is the maximum size of a call.
        uses_wal: every sink writes every row with the write-ahead log.
    """

    buffer_bytes: int
    uses_wal: bool


@dataclass(frozen=True, slots=True)
class Trend:
    """Metrics of a region server at two moments."""

    first: Sample
    second: Sample

    def change(self, metric: str) -> int:
        """
        The difference of a metric.

        Raises:
            MissingMetricError: the server does not report it.
        """
        return self.second[metric] - self.first[metric]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """
    What is known about a region server and its load; None for what is unknown.

    Attributes:
        heap: maximum heap in bytes.
        write_rate: bytes a second written to this server.
        regions: number of its regions that are written at the same time.
        families: number of families of the tables written.
        tables: the tables written, with their families.
        writers: the sinks of the pipelines.
        sample: the newest metrics.
        trend: the metrics at two moments.
        origins: name of an input -> where its value is from, for the report.
    """

    server: RegionServer = RegionServer()  # noqa: RUF009 - frozen
    heap: int | None = None
    write_rate: float | None = None
    regions: int | None = None
    families: int | None = None
    tables: tuple[TableSpec, ...] | None = None
    writers: Writers | None = None
    sample: Sample | None = None
    trend: Trend | None = None
    origins: dict[str, str] = field(default_factory=dict)

    @property
    def memory(self) -> Memory | None:
        """The sizes that follow from the configuration and the heap."""
        return None if self.heap is None else Memory(self.server, self.heap)

    @property
    def version(self) -> str | None:
        """The version of HBase."""
        return self.server.version


UNKNOWN = {
    "memory": "the heap is unknown: give --heap or --jmx",
    "write_rate": "the write rate is unknown: give --write-rate, --metrics or --jmx",
    "regions": "the number of regions is unknown: give --regions, --jmx or FILE",
    "families": "the number of families is unknown: give --families, or a FILE with `tables`",
    "tables": "the tables are unknown: give FILE",
    "writers": "the sinks are unknown: give FILE",
    "sample": "there are no metrics: give --jmx",
    "version": "the version is unknown: give --jmx, or --site with the URL of /conf",
    "trend": "there are no two samples of metrics: give --jmx, with an --interval above 0s",
}
"""Input -> why a check that needs it is skipped."""
