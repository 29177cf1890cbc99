"""Collects the inputs of the checks: options, configuration, metrics of the server and of the service, and the file."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ingest.doctor.hbase.inputs import Inputs, Trend
from ingest.doctor.hbase.jmx import NoServerBeanError, Sample, write_rate, written_regions
from ingest.doctor.hbase.pipelines import Written
from ingest.doctor.hbase.server import RegionServer
from ingest.doctor.http import fetched
from ingest.doctor.service_metrics import stored_bytes
from ingest.formats.hadoop_site import MAX_BYTES, Properties, parsed, read_site

_JMX, _CONF = "/jmx", "/conf"
_NO_BEANS_S = 2.0  # more than HBase takes its metrics away: see `NoServerBeanError`
_URLS = ("http://", "https://")
_SITE_HINT = "--site takes the path of hbase-site.xml, as in /etc/hbase/conf, or the URL http://HOST:16030/conf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """
    Where the inputs are from.

    Attributes:
        site: path of hbase-site.xml, or URL of `/conf`.
        jmx: URL of a region server's `/jmx`; the configuration is read from its `/conf` if `site` is None.
        metrics: URL of a service's `/metrics`.
        interval_s: between two samples of metrics; 0 for one sample.
        heap: as given by the user, instead of a measured one; so are `write_rate`, `regions` and `families`.
        servers: number of region servers among which the writes of the pipelines are divided.
    """

    site: str | None = None
    jmx: str | None = None
    metrics: str | None = None
    interval_s: float = 60.0
    heap: int | None = None
    write_rate: int | None = None
    regions: int | None = None
    families: int | None = None
    servers: int = 1


def gathered(
    sources: Sources,
    written: Written | None,
    *,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Inputs:
    """
    The inputs of the checks.

    Args:
        sources: where they are from.
        written: what the pipelines of a file write; None without a file.
        pause: waits between the samples.
        clock: for the times of the samples.

    Raises:
        ConfigError: a page or a file is not what it should be.
        NotFoundError: a file does not exist, or a server does not answer.
    """
    jmx = None if sources.jmx is None else sources.jmx.rstrip("/").removesuffix(_JMX)
    first = _samples(sources, jmx, written, pause, clock)  # first: errors then name the URL as given, not its /conf
    properties, configuration = _configuration(sources.site, jmx)
    second = None
    if (jmx or sources.metrics) and sources.interval_s > 0:
        pause(sources.interval_s)
        second = _samples(sources, jmx, written, pause, clock)
    numbers, origins = _numbers(sources, written, first, second)
    return Inputs(
        server=RegionServer.of(properties),
        tables=None if written is None else written.tables,
        writers=None if written is None else written.writers,
        sample=(second or first).server,
        trend=Trend(first.server, second.server) if second and first.server and second.server else None,
        origins={"configuration": configuration, **origins},
        **numbers,
    )


@dataclass(frozen=True, slots=True)
class _Moment:
    """The samples of one moment: of the server, and the bytes that the service has stored."""

    at_s: float
    server: Sample | None
    stored: float | None


def _configuration(site: str | None, jmx: str | None) -> tuple[Properties, str]:
    """The properties, and where they are from."""
    if site is not None and not site.startswith(_URLS):
        return read_site(site, hint=_SITE_HINT), site
    url = site if site is not None or jmx is None else jmx + _CONF
    if url is None:
        return {}, "HBase's defaults"
    return parsed(fetched(url, max_bytes=MAX_BYTES), url, hint=_SITE_HINT), url


def _samples(
    sources: Sources,
    jmx: str | None,
    written: Written | None,
    pause: Callable[[float], None],
    clock: Callable[[], float],
) -> _Moment:
    server = stored = None
    if jmx is not None:
        try:
            server = _sample(jmx + _JMX, clock)
        except NoServerBeanError:
            pause(_NO_BEANS_S)
            server = _sample(jmx + _JMX, clock)
    if sources.metrics is not None:
        page = fetched(sources.metrics)
        stored = stored_bytes(page, sources.metrics, None if written is None else written.pipelines)
    return _Moment(clock(), server, stored)


def _sample(url: str, clock: Callable[[], float]) -> Sample:
    content = fetched(url)
    return Sample.parse(content, url=url, at_s=clock())


def _numbers(
    sources: Sources, written: Written | None, first: _Moment, second: _Moment | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Heap, write rate, regions and families, each from the first origin that knows it; and these origins."""
    server, later = first.server, None if second is None else second.server
    both = None if server is None or later is None else (server, later)
    candidates: dict[str, tuple[tuple[str, float | None], ...]] = {
        "heap": (("--heap", sources.heap), ("--jmx", None if server is None else server.heap)),
        "write_rate": (
            ("--write-rate", sources.write_rate),
            ("--metrics", _service_rate(first, second, sources.servers)),
            ("--jmx", None if both is None else write_rate(*both)),
        ),
        "regions": (
            ("--regions", sources.regions),
            ("--jmx", None if both is None else written_regions(*both)),
            ("FILE", None if not written or not written.tables else math.ceil(written.regions / sources.servers)),
        ),
        "families": (("--families", sources.families), ("FILE", None if not written else written.families or None)),
    }
    chosen = {
        name: next(((origin, value) for origin, value in values if value is not None), ("", None))
        for name, values in candidates.items()
    }
    origins = {name: origin for name, (origin, _) in chosen.items() if origin}
    return {name: value for name, (_, value) in chosen.items()}, origins


def _service_rate(first: _Moment, second: _Moment | None, servers: int) -> float | None:
    """Bytes a second for each region server; None if the service was restarted meanwhile."""
    if first.stored is None or second is None or second.stored is None:
        return None
    seconds = second.at_s - first.at_s
    return (second.stored - first.stored) / seconds / servers if second.stored >= first.stored and seconds > 0 else None
