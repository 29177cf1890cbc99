"""What a replay uses of a running service."""

from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from ingest.api import ConfigError, ConflictError
from ingest.plan.assemble import plan_of
from ingest.plan.stores import owned_store
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.jobs.job import JobRun
from ingest.service.replay import host as module
from ingest.service.replay.host import OwnProcess, RunningService
from tests.support.update_pipeline import CATALOG, Pipeline

JAR = Path("/jars/kafka.jar")


@pytest.fixture(autouse=True)
def _jars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "connector_jars", lambda: [JAR])


def service(jars: str = str(JAR), master: str = "local[2]") -> tuple[RunningService, object]:
    """A host with a session, and that session."""
    context = SimpleNamespace(getConf=lambda: {"spark.jars": jars}, master=master)
    session = SimpleNamespace(sparkContext=context)
    shared = SimpleNamespace(stores=SimpleNamespace(used_by=lambda plan, _opened: {plan: "store"}))
    run = JobRun(SimpleNamespace(shared=shared, session=session), 1, Cancellation(), lambda _progress: None)
    return RunningService(run), session


def test_replay_shares_session_and_stores_and_has_the_tasks_of_a_job():
    host, session = service()
    with ExitStack() as opened:
        assert host.stores("plan", opened) == {"plan": "store"}
        assert host.session("p", None, {}, opened) is session
    assert host.max_tasks(session) == 1


def test_session_without_the_jars_of_kafka_is_refused():
    host, _ = service(jars="")
    with ExitStack() as opened, pytest.raises(ConflictError, match="without the jars of Kafka") as caught:
        host.session("p", None, {}, opened)
    assert caught.value.code == "no_jobs"


def test_cluster_cannot_replay_into_an_embedded_store():
    host, _ = service(master="spark://h:7077")
    stores = {"s": SimpleNamespace(capabilities=SimpleNamespace(written_by_driver=True))}
    with ExitStack() as opened, pytest.raises(ConfigError, match="is embedded"):
        host.session("p", None, stores, opened)


def test_store_of_a_service_is_refused_with_the_way_out(tmp_path: Path) -> None:
    configuration = Pipeline(tmp_path).load()
    plan = plan_of(configuration, configuration.pipelines["p"], CATALOG)
    with (
        ExitStack() as opened,
        owned_store(configuration.stores["s"], CATALOG),
        pytest.raises(ConflictError, match="is held by process") as caught,
    ):
        OwnProcess(configuration).stores(plan, opened)
    assert (caught.value.code, "leave out --own-process" in str(caught.value.hint)) == ("locked", True)
