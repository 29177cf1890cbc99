"""A real Prometheus scrapes a service, and answers the queries of the dashboard."""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from deploy.prometheus.generate import DASHBOARD
from ingest.observe.health import Health, State
from ingest.observe.metrics import Metrics
from ingest.receipt import ComponentType, Counts, Figures
from ingest.service.endpoint.http import HttpEndpoint
from ingest.service.job_kinds import job_of
from ingest.service.jobs.scheduler import Jobs
from tests.support.call_times import timed
from tests.support.endpoint import pages
from tests.support.local import ServerProcess, free_ports
from tests.support.programs import needs, path_of

pytestmark = needs("prometheus")

READY_S = 60.0
SCRAPE_S = 1
ROWS = json.loads(DASHBOARD.read_text("utf-8"))["panels"]


class Prometheus:
    """A Prometheus that scrapes one endpoint as the job `attr2hbase`, every second."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        [self._port] = free_ports(1)
        target = endpoint.removeprefix("http://")
        job = {"job_name": "attr2hbase", "static_configs": [{"targets": [target]}]}
        seconds = f"{SCRAPE_S}s"
        config = {"global": {"scrape_interval": seconds, "scrape_timeout": seconds}, "scrape_configs": [job]}
        folder.mkdir()
        (folder / "prometheus.yml").write_text(json.dumps(config))
        self._process = ServerProcess("prometheus", folder)

    def start(self) -> None:
        """Start it; returns when it has scraped the endpoint three times."""
        listen = f"--web.listen-address=127.0.0.1:{self._port}"
        program = str(path_of("prometheus"))
        self._process.start([program, "--config.file=prometheus.yml", "--storage.tsdb.path=data", listen])
        self._process.wait_until(self._has_scraped, timeout_s=READY_S)

    def result_of(self, query: str) -> list[dict[str, Any]]:
        """The vector that a query returns."""
        url = f"http://127.0.0.1:{self._port}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        try:
            with urllib.request.urlopen(url, timeout=10.0) as answer:
                return list(json.loads(answer.read())["data"]["result"])
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()}") from error

    def _has_scraped(self) -> bool:
        try:
            return any(float(each["value"][1]) >= 3 for each in self.result_of("count_over_time(up[1m])"))
        except (OSError, AssertionError):  # it does not listen yet, or answers that it starts
            return False

    def stop(self) -> None:
        """End it."""
        self._process.kill()


class Scraped(NamedTuple):
    """A Prometheus that has scraped a service, and the text of the metrics of that service."""

    prometheus: Prometheus
    text: str


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraped]:
    metrics = Metrics(["logs"])
    health = Health(["logs"], on_change=metrics.state)
    health.change("logs", State.RUNNING)
    counts = Counts(read=10, stored=9, dead_lettered_by=Counter({("no_match", "regex"): 1}), flush_s=[0.1])
    counts.components = {(ComponentType.DECORATOR, "regex"): Figures(10, 9, failed=1, times=timed(2, 50_000))}

    def page() -> tuple[str, bytes]:
        """The metrics after another micro-batch."""
        metrics.attempted("logs", counts)
        metrics.observe_batch("logs", counts, 0.4)
        return metrics.render()

    metrics.acknowledged("logs", 1.0, 1_000)
    metrics.lag("logs", "web", 0, 7)
    metrics.retention("logs", {("web", 0): 0.5})
    jobs = Jobs(metrics)
    jobs.submit(job_of("compaction", {"table": "counters"}))
    with HttpEndpoint("127.0.0.1:0", pages(health, page, jobs=jobs)) as endpoint:
        server = Prometheus(tmp_path_factory.mktemp("prometheus") / "server", endpoint.url)
        server.start()
        yield Scraped(server, metrics.render()[1].decode())
        server.stop()


def queries(row: str | None = None) -> list[str]:
    """The queries of the dashboard, or of one of its rows, as Grafana sends them."""
    found, title = [], None
    for panel in ROWS:
        title = panel["title"] if panel["type"] == "row" else title
        if row in {None, title}:
            found += [target["expr"] for target in panel.get("targets", ())]
    return [
        each.replace("$__rate_interval", "1m").replace("$job", "attr2hbase").replace("$pipeline", ".+")
        for each in found
    ]


def test_every_query_is_answered_and_shows_what_the_service_has(scraped: Scraped) -> None:
    has = {line.partition("{")[0].partition(" ")[0] for line in scraped.text.splitlines() if not line.startswith("#")}
    assert len(queries()) > 50
    shown = 0
    for query in queries():
        found = scraped.prometheus.result_of(query)  # fails for one that Prometheus does not parse
        if set(re.findall(r"attr2hbase_\w+", query)) <= has:
            assert found, query
            shown += 1
    assert shown > 30


def test_overview_shows_the_pipeline(scraped: Scraped) -> None:
    shown = {
        query: {each["metric"].get("pipeline") for each in scraped.prometheus.result_of(query)}
        for query in queries("Overview")
    }
    assert set(map(frozenset, shown.values())) == {frozenset({"logs"})}


def test_jobs_are_shown_by_their_kind(scraped: Scraped) -> None:
    [query] = [each for each in queries("Jobs") if "(attr2hbase_jobs{" in each]
    assert {each["metric"]["kind"] for each in scraped.prometheus.result_of(query)} == {"compaction"}
