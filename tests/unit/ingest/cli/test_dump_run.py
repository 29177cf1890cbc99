"""`attr2hbase dump run`, in a process of its own and by the running service; its tasks run in this process."""

import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from ingest.api import ConfigError, NotFoundError
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.observe.metrics import Metrics
from ingest.plan.assemble import plan_of
from ingest.service.dumps.dump import Dump, spark_engine
from ingest.service.dumps.options import DumpRunOptions
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.jobs.job_run import JobContext, JobRun, Progress
from ingest.service.stores import SharedStores
from sinks.dumps.reader import DumpReader
from sinks.dumps.run import DumpRun
from sinks.files.local_root import LocalRoot
from sinks.rocksdb.store import RocksDBStore
from sinks.rocksdb.views import VIEWS
from tests.support.dump_runs import FILE, TABLE, InProcess, opened, written
from tests.support.endpoint import serving_jobs

ALONE = ("dump", "run", "-f", "p.yaml", "--root", "dumps")


@pytest.fixture
def configuration(folder, monkeypatch) -> Configuration:
    monkeypatch.setattr("ingest.service.dumps.dump.spark_engine", lambda *_arguments: InProcess())
    return written(folder)


@pytest.fixture
def shared(configuration: Configuration) -> Iterator[SimpleNamespace]:
    """What the pipelines of a service share; one of them has the store open."""
    catalog = Catalog()
    plan = plan_of(configuration, configuration.pipelines["hits"], catalog)
    stores = SharedStores(configuration, [plan])
    with ExitStack() as used:
        stores.used_by(plan, used)["local"].open()
        yield SimpleNamespace(
            configuration=configuration,
            catalog=catalog,
            stores=stores,
            metrics=Metrics(["hits"], process=False),
            pipeline=used,
        )


def dump_of(tables: list[str]) -> Dump:
    return Dump("dumps", DumpRunOptions.model_validate({"tables": tables}))


def run_of(shared: SimpleNamespace, reports: list[Progress] | None = None) -> JobRun:
    report = (lambda _progress: None) if reports is None else reports.append
    return JobRun(JobContext(shared, None, 2), 1, Cancellation(), report)


def rows(root: str = "dumps", table: str = TABLE) -> int:
    with DumpReader(root).scan(table) as found:
        return sum(1 for _ in found)


@pytest.mark.usefixtures("configuration")
def test_dump_in_a_process_of_its_own(ingest, folder):
    done = ingest(*ALONE, "--output", "json")
    assert done.code == 0, done.err
    assert done.json["root"] == str(folder / "dumps")
    assert done.json["consistency"] == "point-in-time"
    assert done.json["tables"][TABLE]["rows"] == rows() == 3
    assert done.json["rows"] == 7


@pytest.mark.usefixtures("configuration")
def test_text(ingest):
    options = ("--root", "my dumps", "--tables", f"{TABLE},salted", "--max-rate", "1000000", "--min-ranges", "2")
    done = ingest("dump", "run", "-f", "p.yaml", *options)
    assert done.code == 0, done.err
    assert TABLE in done.out
    assert "salted" in done.out
    assert "6 rows in dump" in done.out + done.err
    assert "rows of one moment" in done.out + done.err
    assert "the command makes the dump in its own process" in done.err
    assert done.err.count("resume it: attr2hbase dump run -f p.yaml --root 'my dumps' --resume 20") == 1


def test_next_command_reads_the_dump(ingest, folder, configuration):
    pipelines = FILE.partition("pipelines:\n")[2]
    others = pipelines.replace("hits:", "others:").replace("counters", "empty").replace("family: c", "family: f")
    (folder / "p.yaml").write_text(FILE + others)
    done = ingest("dump", "run", "-f", "p.yaml", "--root", "my dumps", "--tables", TABLE)
    words = shlex.split(done.err.splitlines()[-1])
    assert words == ["next:", "attr2hbase", "dump", "tables", str(folder / "my dumps")]
    assert ingest(*words[2:]).code == 0


def test_options_of_the_file(ingest, folder, configuration):
    (folder / "p.yaml").write_text(f'{FILE}dump: {{root: here, tables: ["{TABLE}"], max_rate: 100000}}\n')
    done = ingest("dump", "run", "-f", "p.yaml", "--output", "json")
    assert done.code == 0, done.err
    assert list(done.json["tables"]) == [TABLE]
    assert rows("here") == 3


@pytest.mark.usefixtures("configuration")
def test_too_little_space(ingest, monkeypatch):
    monkeypatch.setattr("sinks.files.local_root.LocalRoot.free_bytes", lambda _root: 10)
    refused = ingest(*ALONE)
    assert (refused.code, "has 10 B free" in refused.err) == (3, True), refused.err
    assert ingest(*ALONE, "--ignore-space").code == 0


@pytest.mark.usefixtures("configuration")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("dump", "run", "-f", "p.yaml"), 2, "the root of the dumps is missing"),
        ((*ALONE, "--tables", "salt"), 3, 'did you mean "salted"?'),
        ((*ALONE, "--blobs"), 2, "no table of the dump has a blob store"),
        ((*ALONE, "--keep", "soon"), 2, '--keep: "soon" is not a duration'),
        ((*ALONE, "--id", "a", "--resume", "b"), 2, "--id: a dump that is resumed keeps its id"),
        ((*ALONE, "--id", "a/b"), 2, "is no id of a dump"),
        ((*ALONE, "--resume", "none"), 3, "no interrupted dump"),
        ((*ALONE, "--resume", "none", "--format", "parquet"), 2, "--format: a dump that is resumed keeps"),
        ((*ALONE, "--resume", "none", "--min-ranges", "4"), 2, "--min-ranges: a dump that is resumed keeps"),
    ],
)
def test_refused(ingest, monkeypatch, arguments, code, message):
    """Before Spark starts."""

    def start(*_arguments: object, **_options: object) -> None:
        pytest.fail("Spark starts")

    monkeypatch.setattr("ingest.service.dumps.dump.spark_engine", spark_engine)
    monkeypatch.setattr("ingest.spark.session.open_session", start)
    done = ingest(*arguments)
    assert (done.code, message in done.err) == (code, True), done.err


@pytest.mark.usefixtures("configuration")
def test_store_of_a_service_that_does_not_answer(ingest):
    with opened():
        done = ingest(*ALONE)
    assert (done.code, "is held by process" in done.err) == (4, True), done.err


def test_running_service_makes_the_dump(ingest, configuration, shared, folder):
    with serving_jobs(shared, slots=2):
        done = ingest(*ALONE, "--output", "json")
        assert done.code == 0, done.err
        assert (done.json["rows"], done.json["consistency"]) == (7, "point-in-time")
        assert "the running service makes the dump" in done.err
        assert f"--resume {done.json['id']}" in done.err
        again = ingest(*ALONE, "--id", done.json["id"])
        assert (again.code, "has the id" in again.err) == (4, True), again.err
        locked = ingest("dump", "run", "-f", "p.yaml", "--root", "other", "--own-process")
        assert (locked.code, "is held by process" in locked.err) == (4, True), locked.err
        wrong = ingest("dump", "run", "-f", "p.yaml", "--root", "third", "--tables", "unknown", "--output", "json")
        assert (wrong.code, "unknown" in wrong.err) == (3, True), wrong.err
    assert rows() == 3
    assert list((folder / "data" / VIEWS).iterdir()) == []


def test_service_with_one_slot_makes_no_dump(ingest, configuration, shared):
    with serving_jobs(shared, slots=1):
        done = ingest(*ALONE)
        assert (done.code, "none is left to the pipelines" in done.err) == (4, True), done.err


def test_metrics_of_a_dump(shared):
    reports: list[Progress] = []
    job = dump_of([TABLE])
    job.check(shared)
    job.run(run_of(shared, reports))
    assert reports[-1].result is not None
    assert (reports[-1].result["rows"], reports[-1].done, reports[-1].total) == (3, 1, 1)
    text = shared.metrics.render()[1].decode()
    assert f'attr2hbase_dump_rows_total{{table="{TABLE}"}} 3.0' in text
    assert f'attr2hbase_dump_last_success_timestamp_seconds{{table="{TABLE}"}}' in text


def test_store_is_held_only_while_the_view_is_made(shared, monkeypatch):
    held = shared.stores.in_use()["local"]
    locked: list[bool] = []
    freeze = RocksDBStore.freeze

    def recording(store: RocksDBStore):
        locked.append(held._lock._is_owned())
        return freeze(store)

    class Checking(InProcess):
        def run_slice(self, work, ranges):
            locked.append(held._lock._is_owned())
            return super().run_slice(work, ranges)

    monkeypatch.setattr(RocksDBStore, "freeze", recording)
    monkeypatch.setattr("ingest.service.dumps.dump.spark_engine", lambda *_arguments: Checking())
    dump_of([TABLE]).run(run_of(shared))
    assert locked == [True, False]


def test_store_stays_open_until_the_dump_ends(shared, monkeypatch):
    """Another process that opened the store would remove the view."""
    in_use: list[bool] = []

    class Checking(InProcess):
        def run_slice(self, work, ranges):
            shared.pipeline.close()
            in_use.append("local" in shared.stores.in_use())
            return super().run_slice(work, ranges)

    monkeypatch.setattr("ingest.service.dumps.dump.spark_engine", lambda *_arguments: Checking())
    dump_of([TABLE]).run(run_of(shared))
    assert in_use == [True]
    assert "local" not in shared.stores.in_use()


def test_table_that_the_store_does_not_have(shared):
    with pytest.raises(NotFoundError):
        dump_of(["x"]).run(run_of(shared))


@pytest.mark.usefixtures("configuration")
def test_dump_that_can_be_resumed_is_kept_while_spark_cannot_start(ingest, folder, monkeypatch):
    def refuse(*_arguments: object) -> None:
        raise ConfigError("JAVA_HOME is not set")

    with DumpRun(LocalRoot(folder / "dumps"), "killed") as run:
        run.start([TABLE])
    monkeypatch.setattr("ingest.service.dumps.dump.spark_engine", refuse)
    refused = ingest(*ALONE)
    assert (refused.code, "JAVA_HOME is not set" in refused.err) == (2, True)
    assert ingest("dump", "ls", "dumps", "--output", "json").lines[0]["id"] == "killed"
    assert "next: attr2hbase dump run --root dumps --resume killed" in ingest("dump", "ls", "dumps").err
