"""Metrics of a region server at one moment, from its page `/jmx`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from ingest.api import ConfigError

MEMORY = "java.lang:type=Memory"
SERVER = "Hadoop:service=HBase,name=RegionServer,sub=Server"
WAL = "Hadoop:service=HBase,name=RegionServer,sub=WAL"
REGIONS = "Hadoop:service=HBase,name=RegionServer,sub=Regions"

_HINT = "--jmx takes the page of a region server, by default http://HOST:16030/jmx"
_WRITES = re.compile(r"(.+_region_.+)_metric_writeRequestCount")


class NoServerBeanError(ConfigError):
    """
    The page has no metrics of a region server.

    It is that of another process; or the server has just opened or closed a region: then HBase takes all its metrics
    away for half a second. Source: `JmxCacheBuster` of HBase.
    """


class MissingMetricError(LookupError):
    """The server does not report a metric."""


@dataclass(frozen=True, slots=True)
class Sample:
    """
    Metrics of one region server.

    Attributes:
        at_s: when they were read, on a monotonic clock.
        heap: maximum heap in bytes; None if the JVM has no maximum.
        metrics: the numbers of the server's bean, by HBase's names.
        wal_bytes: bytes written to WAL files since the server started; None if it does not report them.
        region_writes: writes since a region was opened, by region.
    """

    at_s: float
    heap: int | None = None
    metrics: Mapping[str, int] = field(default_factory=dict)
    wal_bytes: int | None = None
    region_writes: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def parse(cls, content: bytes, *, url: str, at_s: float) -> "Sample":
        """
        The metrics in the content of `/jmx`.

        Args:
            content: JSON, as Hadoop's servers write it.
            url: for messages.
            at_s: when it was read.

        Raises:
            NoServerBeanError: the page has no metrics of a region server.
            ConfigError: it is none with metrics.
        """
        beans = _beans(content, url)
        if SERVER not in beans:
            raise NoServerBeanError(f'"{url}" has no bean "{SERVER}"', hint=_HINT)
        usage = beans.get(MEMORY, {}).get("HeapMemoryUsage")
        heap = usage.get("max") if isinstance(usage, dict) else None
        written = beans.get(WAL, {}).get("writtenBytes")
        regions = _numbers(beans.get(REGIONS, {}))
        return cls(
            at_s,
            heap if isinstance(heap, int) and heap > 0 else None,
            _numbers(beans[SERVER]),
            written if isinstance(written, int) else None,
            {match[1]: count for name, count in regions.items() if (match := _WRITES.fullmatch(name))},
        )

    def __getitem__(self, metric: str) -> int:
        try:
            return self.metrics[metric]
        except KeyError as error:
            raise MissingMetricError(metric) from error


def write_rate(first: Sample, second: Sample) -> float | None:
    """Bytes a second that the server wrote to its WAL between two samples; None if it does not report them."""
    if first.wal_bytes is None or second.wal_bytes is None:
        return None
    return _rate(first.wal_bytes, second.wal_bytes, second.at_s - first.at_s)


def written_regions(first: Sample, second: Sample) -> int | None:
    """Number of regions that were written between two samples; None if the server does not report it."""
    if not second.region_writes:
        return None
    # a region that was opened meanwhile counts if it has writes
    return sum(count > first.region_writes.get(region, 0) for region, count in second.region_writes.items())


def _rate(before: int, after: int, seconds: float) -> float | None:
    """None if the server restarted meanwhile, which sets its counters to 0."""
    return (after - before) / seconds if after >= before and seconds > 0 else None


def _beans(content: bytes, url: str) -> dict[str, dict[str, Any]]:
    try:
        page = orjson.loads(content)
    except ValueError as error:
        raise ConfigError(f'"{url}" is not JSON: {error}', hint=_HINT) from error
    beans = page.get("beans") if isinstance(page, dict) else None
    if not isinstance(beans, list):
        raise ConfigError(f'"{url}" has no "beans"', hint=_HINT)
    return {bean["name"]: bean for bean in beans if isinstance(bean, dict) and isinstance(bean.get("name"), str)}


def _numbers(bean: Mapping[str, Any]) -> dict[str, int]:
    return {name: value for name, value in bean.items() if type(value) is int}
