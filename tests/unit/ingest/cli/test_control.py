"""`ingest status` of a service without Spark."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.observe.activity import Activity
from ingest.observe.health import Health
from ingest.observe.metrics import Metrics
from ingest.service.access import access_of
from ingest.service.client import write_url
from ingest.service.control import Control, Pauses, ReloadStatus
from ingest.service.duties import Duties
from ingest.service.http import HttpEndpoint
from ingest.service.pages import Pages
from tests.support.endpoint import no_metrics


@contextmanager
def served(configuration: Configuration, control: Control, activity: Activity | None = None) -> Iterator[None]:
    """The endpoint of a service without pipelines that run."""
    health, duties = Health(configuration.pipelines), Duties(Metrics(process=False))
    pages = Pages(health, activity or Activity(), no_metrics, control, duties, access_of(configuration))
    endpoint = HttpEndpoint("127.0.0.1:0", pages, None)
    endpoint.start()
    write_url(configuration.local_dir, endpoint.url)
    yield
    endpoint.stop()


@pytest.fixture
def activity(pipeline: Path) -> Iterator[Activity]:
    """What the pipelines of a running service did, with an endpoint."""
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    activity = Activity()
    with served(configuration, Control(Pauses(configuration.local_dir), configuration.pipelines), activity):
        yield activity


def name_of(ingest: Callable[..., Any]) -> str:
    return str(json.loads(ingest("status", "pipeline.yaml", "--output", "json").out)["name"])


def test_status_of_a_healthy_pipeline_has_no_notes(activity: Activity, ingest: Callable[..., Any]) -> None:
    name = name_of(ingest)
    activity.retention(name, {("t", 0): (0.49, 60.0)})
    shown = ingest("status", "pipeline.yaml")
    assert (shown.code, name in shown.out, shown.err) == (0, True, "")


@pytest.mark.parametrize(
    ("remaining_s", "left"), [(1_900.0, ", 31 min remain"), (200_000.0, ", 2 d remain"), (None, "")]
)
def test_status_warns_of_the_retention(
    activity: Activity, ingest: Callable[..., Any], remaining_s: float | None, left: str
) -> None:
    name = name_of(ingest)
    activity.retention(name, {("t", 0): (0.1, 60.0), ("t", 1): (0.62, remaining_s)})
    assert ingest("status", "pipeline.yaml").err == (
        f'{name}: unread records of partition 1 of topic "t" have used 62% of Kafka\'s retention{left}\n'
    )


def test_status_warns_of_an_overloaded_store(activity: Activity, ingest: Callable[..., Any]) -> None:
    name = name_of(ingest)
    activity.throttled(name, lambda: 0.25)
    assert ingest("status", "pipeline.yaml").err == f"{name}: a store is overloaded, so tasks run for 25% of the time\n"


class Restarted(Control):
    """Forgets a reload that it has accepted, as a service that is restarted."""

    def reload(self) -> int:
        super().reload()
        self.reload_status = ReloadStatus()
        return 2


def test_reload_ends_if_the_service_is_restarted(pipeline: Path, ingest: Callable[..., Any]) -> None:
    configuration = load(pipeline / "pipeline.yaml", env={}, lookup=Catalog())
    with served(configuration, Restarted(Pauses(configuration.local_dir), configuration.pipelines)):
        done = ingest("reload", "pipeline.yaml")
    assert (done.code, "the service was restarted" in done.err) == (4, True)
