"""Pipelines of one service are independent: one that cannot start, or is closed and rebuilt, does not affect others."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.observe.activity import Activity
from ingest.observe.health import Health
from ingest.observe.metrics import Metrics
from ingest.plan.assemble import plan_of
from ingest.service.building import build_pipeline
from ingest.service.kafka.retention import RetentionWatches
from ingest.service.observer import Totals
from ingest.service.pipeline import LivePipeline
from ingest.service.shared import Shared
from ingest.service.stores import SharedStores
from ingest.spark.session import close_session, open_session
from ingest.spark.streaming.reading import Session
from ingest.spark.streaming.timed_caller import TimedCaller
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.audit import rocksdb_table
from tests.support.service import Service
from tests.support.short_lived import java_options
from tests.support.waiting import reached, worker_ended

LIMIT_S = 120.0
HOUR_MS = 3_600_000
SLOW_S = 3
HANGING = f"""\
import threading

from ingest.api import Committer, Example, Sink, SinkSettings
from ingest.service import member

member.START_SLOW_S = {SLOW_S}  # instead of 20, for which the test would wait


class HangingCommitter(Committer):
    def recover(self):
        threading.Event().wait()

    def commit(self, batch, results):
        pass


class Hanging(Sink[SinkSettings]):
    "A sink whose recovery never ends."

    kind = "hanging"
    examples = (Example("no options", settings="{{}}"),)

    def writer(self, context):
        raise NotImplementedError

    def committer(self, context):
        return HangingCommitter()
"""


def pipeline(source: Path, store: str = "shared") -> dict[str, Any]:
    """A pipeline that writes the lines of a folder as rows of a table with the name of the folder."""
    source.mkdir(parents=True, exist_ok=True)
    return {
        "source": {"files": {"path": str(source)}},
        "decorators": [
            {"value": {"attribute": "2hb_", "value": "%{body}"}},
            {"value": {"attribute": "2hb_f:q", "value": "x"}},
        ],
        "sinks": [{"attr2hbase": {"store": store, "table": source.name}}],
    }


def test_pipelines_that_cannot_start_do_not_affect_others(tmp_path: Path) -> None:
    content = {
        "plugins": ["hanging"],
        "stores": {name: {"rocksdb": {"path": str(tmp_path / name)}} for name in ("shared", "locked")},
        "pipelines": {
            "hangs": pipeline(tmp_path / "h") | {"sinks": [{"hanging": {}}]},
            "damaged": pipeline(tmp_path / "d"),
            "refused": pipeline(tmp_path / "r", "locked"),
            "good": pipeline(tmp_path / "g"),
        },
    }
    (tmp_path / "g" / "1.txt").write_text("a\nb\n")
    (tmp_path / "locked").mkdir()
    other = RocksDBStore(RocksDBSettings(path=str(tmp_path / "locked")))
    other.open()
    with Service(tmp_path / "service", content) as service, ExitStack() as opened:
        opened.callback(other.close)
        (service.folder / "hanging.py").write_text(HANGING)
        commits = service.checkpoint("damaged").folder / "commits"
        commits.mkdir(parents=True)
        (commits / "0").write_text("v1\n{}")
        service.start()
        service.wait_for_batches(1, "good")
        service.wait_for_state("running", "good")
        service.wait_for_state("blocked", "hangs")
        assert service.states() == {"hangs": "blocked", "damaged": "failed", "refused": "failed", "good": "running"}
        reasons = {name: each["reason"] for name, each in service.pipelines().items()}
        assert reasons["hangs"].startswith(f"start_slow: the start has run for over {SLOW_S} s")
        assert "offsets/0" in reasons["damaged"]
        assert f'the store "{tmp_path / "locked"}" is held by process {os.getpid()} on ' in reasons["refused"]
        assert "wait for its end" in reasons["refused"]
        status, text = service.get("/readyz")
        assert status == 503
        assert "damaged: failed: the checkpoint is damaged" in text
        assert service.get("/livez")[0] == 200
        assert service.metric("attr2hbase_pipeline_state", pipeline="damaged", state="failed") == 1
        # as the reason says: the other process has ended
        opened.close()
        assert service.post("/reload")[0] == 202
        service.wait_for_state("running", "refused")
        assert service.stop() == 5, service.last_lines()
    assert rocksdb_table(tmp_path / "shared", "g").keys() == {b"a", b"b"}


class Built:
    """Two pipelines over one store, in this process."""

    def __init__(self, folder: Path, session: Session) -> None:
        self.folder = folder
        content = {
            "version": 1,
            "state_dir": str(folder / "state"),
            "stores": {"shared": {"rocksdb": {"path": str(folder / "store")}}},
            "pipelines": {name: {**pipeline(folder / name), "trigger": {"every": "100ms"}} for name in ("a", "b")},
        }
        (folder / "pipeline.yaml").write_text(json.dumps(content))
        catalog = Catalog()
        configuration = load(folder / "pipeline.yaml", env={}, lookup=catalog)
        self.plans = {name: plan_of(configuration, each, catalog) for name, each in configuration.pipelines.items()}
        self.shared = Shared(
            configuration,
            catalog,
            Metrics(self.plans, process=False),
            Health(self.plans),
            Activity(),
            SharedStores(configuration, self.plans.values()),
            retention=RetentionWatches(Metrics(process=False), Activity()),
            once=False,
            follow=lambda _pipeline, _totals: None,
        )
        self._session = session
        self._caller = TimedCaller()

    def start(self, name: str) -> LivePipeline:
        """Build a pipeline and start it."""
        made = build_pipeline(self.shared, self.plans[name])
        made.attach(self._session, self._caller, TimedCaller())
        made.start()
        return made

    def write(self, name: str, number: int) -> None:
        """Write a file with one line, its number, for a pipeline."""
        hidden = self.folder / name / f".{number}"
        hidden.write_text(f"{number}\n")
        hidden.rename(self.folder / name / f"{number}.txt")

    def store(self, name: str) -> None:
        """Run a pipeline until it has stored one more record, and close it."""
        before = self.shared.totals.get(name, Totals()).counts.stored
        one = self.start(name)
        assert has_stored(one, before + 1)
        assert one.query.wait_drained(LIMIT_S)
        close(one)

    def rows(self) -> Mapping[str, set[bytes]]:
        """Table -> row keys; the store must be closed."""
        return {name: set(rocksdb_table(self.folder / "store", name)) for name in self.plans}


@contextmanager
def spark(**environment: str) -> Iterator[Session]:
    """A session whose worker processes have these variables."""
    session = open_session(
        "test",
        master="local[2]",
        driver_memory_bytes=512 << 20,
        conf={"spark.driver.extraJavaOptions": java_options()}
        | {f"spark.executorEnv.{name}": value for name, value in environment.items()},
        secret_names=(),
        jars=[],
        java_properties={},
    )
    try:
        yield session
    finally:
        close_session(session)


def close(one: LivePipeline) -> None:
    one.stop()
    assert reached(one.has_stopped, LIMIT_S)
    one.close()


def has_stored(one: LivePipeline, records: int) -> bool:
    return reached(lambda: one.observer.totals.counts.stored == records, LIMIT_S)


def test_pipeline_is_closed_and_rebuilt_while_another_runs(tmp_path: Path) -> None:
    with spark() as session:
        built = Built(tmp_path, session)
        for name in built.plans:
            built.write(name, 1)
        first, other = built.start("a"), built.start("b")
        assert has_stored(first, 1)
        assert has_stored(other, 1)

        first.query.refuse_batches()
        assert first.query.wait_drained(LIMIT_S)
        close(first)
        for name in built.plans:
            built.write(name, 2)
        assert has_stored(other, 2)

        again = built.start("a")
        assert has_stored(again, 2)  # the totals go on with the second line, since the first is acknowledged
        built.write("b", 3)
        assert has_stored(other, 3)
        for one in (again, other):
            assert one.query.wait_drained(LIMIT_S)
            close(one)
    assert built.rows() == {"a": {b"1", b"2"}, "b": {b"1", b"2", b"3"}}


def test_pipeline_has_not_stopped_while_a_task_of_an_abandoned_batch_may_write(tmp_path: Path) -> None:
    with spark(INGEST_FAILPOINT="after_last_send:1:hold", INGEST_FAILPOINT_FOLDER=str(tmp_path / "held")) as session:
        built = Built(tmp_path, session)
        built.write("a", 1)
        one = built.start("a")
        held = tmp_path / "held" / "after_last_send"
        assert reached(lambda: held.exists() and held.read_text().endswith("\n"), LIMIT_S)
        worker = int(held.read_text().split()[0])
        one.stop()
        assert reached(one.has_stopped, LIMIT_S)
        assert worker_ended(worker)
        one.close()
    assert built.rows()["a"] == set()


@pytest.mark.slow
def test_clock_set_back_hides_no_update_under_a_new_checkpoint_of_files(tmp_path: Path) -> None:
    with spark() as session:
        built = Built(tmp_path, session)
        built.write("a", 1)
        built.store("a")
        newest = tmp_path / "state" / "batch-times" / "a"
        (before,) = timestamps(built)
        assert int(newest.read_bytes()) == before
        # as if the clock had been an hour ahead before
        newest.write_text(str(before + HOUR_MS))
        shutil.rmtree(tmp_path / "state" / "checkpoints" / "a")
        built.store("a")
        assert timestamps(built) == {before + HOUR_MS + 2}


def timestamps(built: Built) -> set[int]:
    table = rocksdb_table(built.folder / "store", "a", versions=1)
    return {cell.timestamp_ms for row in table.values() for cell in row}
