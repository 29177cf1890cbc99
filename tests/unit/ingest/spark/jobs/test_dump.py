"""The tasks of a dump, in this process: what a task returns, and what the driver makes of it."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest
from pyspark.errors import PySparkException

from ingest.api import ConfigError, Disposition, FamilySpec, Put, StoreUnavailableError, TableSpec
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.service.dumps.plan import DumpSources
from ingest.spark.jobs import dump as module
from ingest.spark.jobs.dump import DumpFiles, DumpWork, SparkDump, joined, task_result
from ingest.spark.jobs.task_errors import TaskError
from sinks.dumps.layout import FileFormat
from sinks.dumps.ranges import DumpRange, DumpSlice, DumpTarget, Limits
from sinks.files.local_root import LocalRoot
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.row_format import RowFormat
from tests.support.dump_runs import TABLE, opened, written
from tests.support.jobs import Session

ROWS = 40
RANGES = DumpRange.numbered(TABLE, [(b"", b"row-0020"), (b"row-0020", None)])


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configuration:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dumps" / "_run-x").mkdir(parents=True)
    (tmp_path / "dumps" / "_run-x" / "_PLAN.json").touch()
    return written(tmp_path, ROWS)


def work_of(configuration: Configuration, *, seconds: float = 60.0, file_bytes: int = 1 << 20) -> DumpWork:
    sources = DumpSources(configuration, Catalog(), {TABLE: "local"}, lambda _name: None)
    files = DumpFiles(LocalRoot(Path("dumps")), "_run-x", FileFormat.GZIP)
    targets = {"local": {TABLE: DumpTarget(TABLE, RowFormat())}}
    return DumpWork.of(sources.plan(), targets, files, Limits(file_bytes=file_bytes), seconds=seconds)


def job(work: DumpWork, *of_tasks: Sequence[DumpRange]) -> DumpSlice:
    """A job with a task for each of these."""
    return joined([orjson.loads(orjson.dumps(task_result(work, ranges))) for ranges in of_tasks])


def test_each_task_dumps_its_ranges(configuration: Configuration):
    ended = job(work_of(configuration), [RANGES[0]], [RANGES[1]])
    assert [part.file.rows for part in ended.parts if part.file is not None] == [20, 20]
    assert [part.number for part in ended.parts if part.file is None] == [1, RANGES[1].part + 1]
    assert (ended.remaining, ended.error) == ([], None)
    assert len(list(Path("dumps/_run-x").rglob("*.json.gz"))) == 2


def test_root_that_was_replaced_is_not_filled(configuration: Configuration):
    """As the folder below a disk that is not mounted any more."""
    work = work_of(configuration)
    shutil.rmtree("dumps")
    ended = job(work, [RANGES[0]])
    assert ended.remaining == [RANGES[0]]
    assert ended.error is not None
    assert ("the folder of the dump is gone" in ended.error.message, ended.error.disposition) == (
        True,
        Disposition.RETRY,
    )
    assert not Path("dumps").exists()


def test_tasks_return_what_remains(configuration: Configuration):
    ended = job(work_of(configuration, seconds=-1.0, file_bytes=1), [*RANGES])
    assert [part.number for part in ended.parts] == [0]
    assert ended.remaining == [DumpRange(TABLE, b"row-0000\x00", b"row-0020", 1), RANGES[1]]


def test_unavailable_store_is_no_error_of_the_job(configuration: Configuration, monkeypatch: pytest.MonkeyPatch):
    work = work_of(configuration)

    def away(_store: RocksDBStore) -> None:
        raise StoreUnavailableError("no answer", hint="wait")

    monkeypatch.setattr(RocksDBStore, "open", away)
    ended = job(work, [RANGES[0]], [RANGES[1]])
    assert ended.remaining == RANGES
    assert ended.error is not None
    assert (ended.error.code, ended.error.hint, ended.error.disposition) == (
        "store_unavailable",
        "wait",
        Disposition.RETRY,
    )


def test_full_root_is_no_error_of_the_job(configuration: Configuration, monkeypatch: pytest.MonkeyPatch):
    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(28, "No space left on device", "dumps/x")

    monkeypatch.setattr(module, "write_table_file", full)
    ended = job(work_of(configuration), [*RANGES])
    assert ended.error is not None
    assert (ended.error.code, ended.remaining) == ("disk_full", RANGES)


def test_other_error_ends_the_job(configuration: Configuration, monkeypatch: pytest.MonkeyPatch):
    def broken(*_arguments: object, **_options: object) -> None:
        raise ConfigError("broken", hint="mend it")

    monkeypatch.setattr(module, "write_table_file", broken)
    with pytest.raises(TaskError, match="broken") as raised:
        job(work_of(configuration), [*RANGES])
    assert (raised.value.exit_code, raised.value.hint) == (2, "mend it")


TWO_STORES = """
version: 1
stores: {local: {rocksdb: {path: ./data}}, other: {rocksdb: {path: ./other}}}
pipelines:
  hits:
    source: {files: {path: "*.jsonl"}}
    sinks: [{attr2hbase: {store: local, table: t}}]
"""


@pytest.mark.usefixtures("configuration")
def test_tables_of_two_stores_are_dumped_by_one_task(tmp_path: Path):
    (tmp_path / "two.yaml").write_text(TWO_STORES)
    configuration = load("two.yaml", env={}, lookup=Catalog())
    store = RocksDBStore(RocksDBSettings(path="./other"))
    store.open()
    store.ensure_table(TableSpec("second", (FamilySpec(b"f"),)))
    store.apply("second", [Put(b"a", {b"f:q": b"1"}, 1)])
    store.close()
    sources = DumpSources(configuration, Catalog(), {TABLE: "local", "second": "other"}, lambda _name: None)
    planned = sources.planned(4)
    targets: dict[str, dict[str, DumpTarget]] = {}
    for each in planned:
        targets.setdefault(each.store, {})[each.name] = each.target
    files = DumpFiles(LocalRoot(Path("dumps")), "_run-x", FileFormat.GZIP)
    work = DumpWork.of(sources.plan(), targets, files, Limits(), seconds=60.0)
    ended = job(work, [keys for each in planned for keys in each.ranges])
    assert sorted((part.table, part.file.rows) for part in ended.parts if part.file is not None) == [
        (TABLE, ROWS),
        ("second", 1),
    ]


def test_failed_job_is_repeated(configuration: Configuration):
    session = Session(PySparkException("a worker was killed"))
    dump, work = SparkDump(session, 8), work_of(configuration)
    ended = dump.run_slice(work, RANGES)
    assert ended.remaining == RANGES
    assert ended.error is not None
    assert (ended.error.code, ended.error.disposition) == ("spark_job_failed", Disposition.RETRY)
    ended = dump.run_slice(work, RANGES)
    assert (len(ended.parts), ended.remaining, ended.error, session.tasks) == (4, [], None, [2, 2])


def test_settings_are_not_shown(configuration: Configuration):
    assert "data" not in repr(work_of(configuration))
    with opened() as store:
        assert store.families(TABLE) == {b"f"}
