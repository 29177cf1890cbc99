"""The pages of a service without its pipelines."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ingest.observe.activity import Activity
from ingest.observe.health import Health
from ingest.observe.metrics import Metrics
from ingest.observe.taps import Taps
from ingest.service.control import Control
from ingest.service.endpoint.access import Access, token_file
from ingest.service.endpoint.address import ServiceAddress
from ingest.service.endpoint.http import HttpEndpoint
from ingest.service.jobs.job_run import JobContext
from ingest.service.jobs.scheduler import Jobs
from ingest.service.pages import Pages
from ingest.service.pauses import Pauses

TOKEN = "token-of-some-test"  # noqa: S105 - of a test


def no_metrics() -> tuple[str, bytes]:
    """A page of metrics without any."""
    return "text/plain", b""


@contextmanager
def published(local_dir: Path, url: str) -> Iterator[None]:
    """The URL of an endpoint where the commands find it, as if a service ran during the block."""
    address = ServiceAddress(local_dir)
    address.take()
    address.publish(url)
    try:
        yield
    finally:
        address.release()


def pages(
    health: Health,
    render: Callable[[], tuple[str, bytes]] = no_metrics,
    *,
    activity: Activity | None = None,
    control: Control | None = None,
    jobs: Jobs | None = None,
    taps: Taps | None = None,
) -> Pages:
    """The pages of a service that has no paused pipelines, unless a control is given."""
    names = [each.pipeline for each in health.snapshot()]
    return Pages(
        health,
        activity or Activity(),
        render,
        control or Control(Pauses(Path("/nowhere")), names),
        jobs or Jobs(Metrics(process=False)),
        Access(TOKEN, host="127.0.0.1", is_private=True),
        taps or Taps(),
    )


@contextmanager
def serving_jobs(shared: Any, *, slots: int = 1) -> Iterator[Jobs]:
    """
    The endpoint and the jobs of a service, where the commands find it.

    Args:
        shared: what its pipelines share.
        slots: number of task slots of its session.
    """
    local_dir = shared.configuration.local_dir
    jobs = Jobs(shared.metrics)
    endpoint = HttpEndpoint("127.0.0.1:0", pages(Health([*shared.configuration.pipelines]), jobs=jobs), None)
    endpoint.start()
    try:
        with published(local_dir, endpoint.url):
            token_file(local_dir).write_text(TOKEN)
            jobs.start(JobContext(shared, None, slots))  # type: ignore[arg-type] # these jobs run without Spark
            yield jobs
    finally:
        jobs.close()
        endpoint.stop()
