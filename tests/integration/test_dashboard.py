"""A real Prometheus scrapes a service, and answers the queries of the dashboard."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.prometheus.generate import DASHBOARD
from ingest.observe.health import Health, State
from ingest.observe.metrics import Metrics
from ingest.receipt import Counts
from ingest.service.endpoint.http import HttpEndpoint
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
        self._process.start(
            [str(path_of("prometheus")), "--config.file=prometheus.yml", "--storage.tsdb.path=data", listen]
        )
        scrapes = "count_over_time(up[1m])"
        self._process.wait_until(
            lambda: any(float(each["value"][1]) >= 3 for each in self.result_of(scrapes)), timeout_s=READY_S
        )

    def result_of(self, query: str) -> list[dict[str, Any]]:
        """The vector that a query returns; empty while Prometheus starts."""
        url = f"http://127.0.0.1:{self._port}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        try:
            with urllib.request.urlopen(url, timeout=10.0) as answer:
                content = json.loads(answer.read())
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return []
            raise AssertionError(f"{query}: {error.read().decode()}") from error
        except OSError:
            return []
        return list(content["data"]["result"])

    def stop(self) -> None:
        """End it."""
        self._process.kill()


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    metrics = Metrics(["logs"])
    health = Health(["logs"], on_change=metrics.state)
    health.change("logs", State.RUNNING)
    counts = Counts(read=10, stored=9, dead_lettered_by=Counter({("no_match", "regex"): 1}), flush_s=[0.1])
    metrics.attempted("logs", counts)
    metrics.observe_batch("logs", counts, 0.4)
    metrics.lag("logs", "web", 0, 7)
    metrics.retention("logs", {("web", 0): 0.5})
    with HttpEndpoint("127.0.0.1:0", pages(health, metrics.render)) as endpoint:
        server = Prometheus(tmp_path_factory.mktemp("prometheus") / "server", endpoint.url)
        server.start()
        yield server
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


def test_every_query_is_answered(prometheus: Prometheus) -> None:
    assert len(queries()) > 50
    for query in queries():
        prometheus.result_of(query)  # fails for one that Prometheus does not parse


def test_overview_shows_the_pipeline(prometheus: Prometheus) -> None:
    shown = {
        query: {each["metric"].get("pipeline") for each in prometheus.result_of(query)} for query in queries("Overview")
    }
    assert set(map(frozenset, shown.values())) == {frozenset({"logs"})}
