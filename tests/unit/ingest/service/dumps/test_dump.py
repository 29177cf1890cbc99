"""Dumps of an embedded store, in this process."""

import re
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from ingest.api import ConfigError, ConflictError, IntegrityError, NotFoundError, Put, StoreUnavailableError
from ingest.catalog import Catalog
from ingest.config.options import DumpOptions
from ingest.service.dumps import dump as module
from ingest.service.dumps.dump import TableDump
from ingest.service.dumps.request import DumpRequest
from ingest.service.dumps.result import DumpResult, TableCounts
from ingest.service.jobs.cancellation import Cancellation
from sinks.dumps.errors import TableNotDumpedError, TableNotInDumpError
from sinks.dumps.ranges import DumpUnit, Limits
from sinks.dumps.reader import DumpReader
from sinks.files.local_root import LocalRoot
from sinks.rocksdb.views import VIEWS
from tests.support.clock import Clock
from tests.support.dump_runs import MARK_MS, TABLE, InProcess, dumped, opened, written

ONE_FILE = {"limits": Limits(file_bytes=1), "unit_s": -1.0}
"""A unit of work writes one file of one row."""
FILE_NAME = re.compile(r"answer~testclient1-[0-9a-f]{2}-[0-9a-f]{16}-\d+\.json\.gz")


@pytest.fixture
def configuration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return written(tmp_path)


def rows(table: str, root: str = "./dumps") -> dict[bytes, list[tuple[bytes, int, bytes]]]:
    with DumpReader(root).scan(table) as found:
        return {row.key: [(cell.qualifier, cell.timestamp_ms, cell.value) for cell in row.cells] for row in found}


def test_all_tables_of_the_file(configuration):
    result = dumped(configuration)
    assert {name: counts.rows for name, counts in result.tables.items()} == {
        TABLE: 3, "salted": 3, "counters": 1, "empty": 0,
    }  # fmt: skip
    assert result.is_exact
    assert rows(TABLE) == {b"row-%04d" % number: [(b"q", 7, b"v%d" % number)] for number in range(3)}
    assert rows("salted") == {b"key-%d" % number: [(b"q", 7, b"1")] for number in range(3)}
    assert rows("counters") == {b"host": [(b"hits", MARK_MS, b"6")]}  # merged, up to the mark
    with pytest.raises(TableNotDumpedError):
        rows("empty")
    with pytest.raises(TableNotInDumpError):
        rows("unknown")
    files = [file for file in Path("dumps").rglob("*.json.gz") if file.parent.name == "answer~testclient1"]
    assert [file.name for file in files if not FILE_NAME.fullmatch(file.name)] == []
    manifest = orjson.loads(Path("dumps", result.dump, "_MANIFEST.json").read_bytes())
    assert (manifest["consistency"], manifest["empty_tables"]) == ("point-in-time", ["empty"])


def test_result_as_json(configuration):
    result = dumped(configuration, tables=(TABLE,))
    again = DumpResult.from_json(orjson.loads(orjson.dumps(result.to_json())))
    assert (again.tables, again.dump, again.is_exact) == (result.tables, result.dump, True)
    assert again.to_json() == result.to_json()


def test_1c_15_same_content_gives_the_same_files(configuration):
    two_rows = Limits(file_bytes=100)  # each row of the table has 50 bytes
    for root in ("one", "two"):
        result = dumped(configuration, root=root, limits=two_rows)
        assert result.tables[TABLE] == TableCounts(2, 3, result.tables[TABLE].size_bytes)
    contents = [
        {file.relative_to(root).parts[1:]: file.read_bytes() for file in Path(root).rglob("*.json.gz")}
        for root in ("one", "two")
    ]
    assert contents[0] == contents[1]
    assert len(contents[0]) == sum(counts.files for counts in result.tables.values())


def test_writes_after_the_start_are_not_in_the_dump(configuration):
    class Writing(InProcess):
        """A service that writes while the tasks read."""

        def unit(self, work, ranges):
            store.apply(TABLE, [Put(b"later", {b"f:q": b"1"}, 9), Put(b"row-0000", {b"f:q": b"later"}, 9)])
            return super().unit(work, ranges)

    with opened() as store:
        view = store.freeze()
        sources = module.DumpSources
        dump = TableDump(
            DumpRequest(root="./dumps", tables=(TABLE,)),
            lambda names: sources(configuration, Catalog(), dict.fromkeys(names, "local"), lambda _name: view),
            Writing(),
        )
        dump.run([TABLE])
        assert rows(TABLE)[b"row-0000"] == [(b"q", 7, b"v0")]
        assert b"later" not in rows(TABLE)
        assert store.get(TABLE, b"later") is not None


def test_view_is_removed_afterwards(configuration):
    dumped(configuration)
    assert list(Path("data", VIEWS).iterdir()) == []

    class Failing(InProcess):
        def unit(self, work, ranges):
            raise ConfigError("broken")

    with pytest.raises(ConfigError):
        dumped(configuration, Failing())
    assert list(Path("data", VIEWS).iterdir()) == []


def test_large_tables_are_divided(configuration):
    with opened() as store:
        store.apply(TABLE, [Put((number * 20).to_bytes(2), {b"f:q": b"1"}, 7) for number in range(3_000)])
    result = dumped(configuration, tables=(TABLE,), min_ranges=4)
    assert result.tables[TABLE].rows == 3_003
    assert result.tables[TABLE].files == 4
    assert len(rows(TABLE)) == 3_003


class Interrupted(InProcess):
    """Fails at a unit."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def unit(self, work, ranges):
        if len(self.ranges) == self.at:
            raise ConflictError("killed")
        return super().unit(work, ranges)


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_interrupted_dump_is_resumed(configuration, at):
    with pytest.raises(ConflictError):
        dumped(configuration, Interrupted(at), tables=(TABLE,), id="one", **ONE_FILE)
    files = {file.name: file.stat().st_ino for file in Path("dumps").rglob("*.json.gz")}
    assert len(files) == min(at, 3)
    assert DumpReader("./dumps").dumps() == []
    result = dumped(configuration, id="one", is_resumed=True)
    assert (result.id, result.tables[TABLE].rows, result.is_exact) == ("one", 3, False)
    assert list(result.tables) == [TABLE]
    assert len(rows(TABLE)) == 3
    kept = {file.name: file.stat().st_ino for file in Path("dumps").rglob("*.json.gz")}
    assert files.items() <= kept.items()


def test_nothing_to_resume(configuration):
    with pytest.raises(NotFoundError, match="none"):
        dumped(configuration, id="none", is_resumed=True)


def test_plan_of_another_version(configuration):
    with pytest.raises(ConflictError):
        dumped(configuration, Interrupted(1), tables=(TABLE,), id="one", **ONE_FILE)
    file = Path("dumps/_run-one/_PLAN.json")
    content = orjson.loads(file.read_bytes())
    del content["plan"][TABLE]["ranges"]
    file.write_bytes(orjson.dumps(content))
    with pytest.raises(IntegrityError, match="without --resume"):
        dumped(configuration, id="one", is_resumed=True)


def test_1c_4_interrupted_dump_is_not_seen_and_removed_by_the_next(configuration):
    first = dumped(configuration)
    with pytest.raises(ConflictError):
        dumped(configuration, Interrupted(1), id="killed", **ONE_FILE)
    assert DumpReader("./dumps").latest().name == first.dump
    assert Path("dumps/_LATEST").read_text().strip() == first.dump
    assert Path("dumps/_run-killed").exists()
    dumped(configuration)
    assert not Path("dumps/_run-killed").exists()


def test_1c_6_second_dump_in_one_root_is_refused(configuration):
    class Second(InProcess):
        def unit(self, work, ranges):
            with pytest.raises(ConflictError, match="pid"):
                dump(InProcess(), "second").run([TABLE])
            return super().unit(work, ranges)

    def dump(engine: InProcess, name: str) -> TableDump:
        request = DumpRequest(root="./dumps", tables=(TABLE,), id=name)
        return TableDump(
            request,
            lambda names: module.DumpSources(configuration, Catalog(), dict.fromkeys(names, "local"), lambda _: None),
            engine,
        )

    dump(Second(), "first").run([TABLE])
    with pytest.raises(ConflictError, match='"first"') as refused:
        dump(InProcess(), "first").run([TABLE])
    assert refused.value.exit_code == 4


def test_unknown_table(configuration):
    with pytest.raises(NotFoundError, match="nothing"):
        dumped(configuration, tables=("nothing",))
    assert not list(Path("dumps").glob("_run*"))


def test_too_little_space(configuration, monkeypatch):
    monkeypatch.setattr(LocalRoot, "free_bytes", lambda _root: 100)
    with pytest.raises(StoreUnavailableError, match="free") as found:
        dumped(configuration)
    assert found.value.code == "disk_full"
    result = dumped(configuration, ignore_space=True)
    monkeypatch.setattr(LocalRoot, "free_bytes", lambda _root: result.size_bytes)
    dumped(configuration)  # as large as the last dump


class Away(InProcess):
    """An engine whose store is unavailable for some units, a minute each."""

    def __init__(self, failures: int, clock: Clock[float]) -> None:
        super().__init__()
        self.failures = failures
        self.clock = clock

    def unit(self, work, ranges):
        self.clock.now += 60.0
        if self.failures:
            self.failures -= 1
            return DumpUnit((), ranges, StoreUnavailableError("away"))
        return super().unit(work, ranges)


@pytest.mark.parametrize(("failures", "rows"), [(10, 3), (11, None)])
def test_unavailable_store_is_retried_for_ten_minutes(configuration, monkeypatch, failures, rows):
    monkeypatch.setattr("ingest.service.jobs.units_of_work.PAUSE_S", 0.0)
    clock, reasons = Clock(0.0), []
    with opened() as store:
        view = store.freeze()
        dump = TableDump(
            DumpRequest(root="./dumps"),
            lambda names: module.DumpSources(configuration, Catalog(), dict.fromkeys(names, "local"), lambda _: view),
            Away(failures, clock),
            clock=clock,
        )
        if rows is None:
            with pytest.raises(StoreUnavailableError):
                dump.run([TABLE], on_blocked=reasons.append)
        else:
            assert dump.run([TABLE], on_blocked=reasons.append).rows == rows
            assert reasons == ["away"] * failures + [""]
        view.remove()


def test_cancelled(configuration):
    cancellation = Cancellation()
    cancellation.request()
    with opened() as store:
        view = store.freeze()
        dump = TableDump(
            DumpRequest(root="./dumps"),
            lambda names: module.DumpSources(configuration, Catalog(), dict.fromkeys(names, "local"), lambda _: view),
            InProcess(),
        )
        with pytest.raises(ConflictError) as found:
            dump.run([TABLE], cancellation=cancellation)
        view.remove()
    assert found.value.code == "job_cancelled"


def test_older_dumps_expire_after_the_dump(configuration):
    first = dumped(configuration)
    second = dumped(configuration, keep_s=3_600.0)
    assert second.expired == []
    third = dumped(configuration, keep_s=90.0)  # a minute after the second
    assert third.expired == [first.dump]
    assert [dump.name for dump in DumpReader("./dumps").dumps()] == [second.dump, third.dump]


def test_formats(configuration):
    for name in ("zstd", "parquet"):
        dumped(configuration, root=name, format=name, tables=(TABLE,))
        assert len(rows(TABLE, name)) == 3


def test_declared_columns_of_parquet(configuration):
    columns = {TABLE: {"value": "f:q utf8"}}
    result = dumped(configuration, tables=(TABLE, "salted"), format="parquet", columns=columns)
    table = pq.read_table(Path("dumps", result.dump, "answer~testclient1"))
    assert table.column_names == ["row", "value"]
    assert table["value"].to_pylist() == ["v0", "v1", "v2"]
    assert rows("salted") == {b"key-%d" % number: [(b"q", 7, b"1")] for number in range(3)}
    with pytest.raises(ConfigError, match="no column"):
        dumped(configuration, format="parquet", columns={TABLE: {"value": "q text"}})
    assert not list(Path("dumps").glob("_run*"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "root"),
        ({"root": "r", "keep": "soon"}, "--keep"),
        ({"root": "r", "id_": "a", "resume": "b"}, "exclude"),
    ],
)
def test_wrong_options_of_the_command(options, message):
    given = {"root": None, "resume": None, "id_": None, "keep": None} | options
    with pytest.raises(ConfigError, match=message):
        DumpRequest.of_command(None, **given)


def test_options_of_the_command_replace_those_of_the_file():
    dump = DumpOptions(root="./dumps", tables=["t"], format="zstd", keep="1m")
    request = DumpRequest.of_command(dump, root=None, resume=None, id_=None, keep=None, tables=(), min_ranges=None)
    assert request == DumpRequest(root="./dumps", tables=("t",), format="zstd", keep_s=60.0)
    request = DumpRequest.of_command(
        dump, root="r", resume=None, id_="x", keep="2d", tables=("u",), min_ranges=3, format="gzip", max_rate=5
    )
    assert request == DumpRequest(root="r", tables=("u",), id="x", keep_s=172_800.0, min_ranges=3, max_rate=5)
    request = DumpRequest.of_command(dump, root="r", resume="x", id_=None, keep=None, max_rate=5)
    assert (request.id, request.is_resumed, request.max_rate) == ("x", True, 5)


def test_request_as_json():
    request = DumpRequest(root="/dumps", tables=("t", "u"), keep_s=5.0)
    assert DumpRequest.of(orjson.dumps(request.model_dump(mode="json"))) == request
    with pytest.raises(ConfigError, match="root"):
        DumpRequest.of(b"{}")
