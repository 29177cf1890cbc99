"""Dumps of an embedded store, in this process."""

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from ingest.api import ConfigError, ConflictError, IntegrityError, NotFoundError, Put, StoreUnavailableError
from ingest.catalog import Catalog
from ingest.config.options import DumpOptions
from ingest.durable.lease import require_grant
from ingest.service.dumps.dump import Dump
from ingest.service.dumps.options import DumpRunOptions
from ingest.service.dumps.plan import DumpSources
from ingest.service.dumps.steps import TableCounts, dump_steps
from ingest.service.job_kinds import job_of
from ingest.service.jobs.job import Steps
from ingest.service.jobs.place import Place
from ingest.service.request import options_of
from sinks.dumps.errors import TableNotDumpedError, TableNotInDumpError
from sinks.dumps.layout import LOCK
from sinks.dumps.ranges import DumpSlice, Limits
from sinks.dumps.reader import DumpReader
from sinks.files.local_root import LocalRoot
from sinks.files.register import RootRegister
from sinks.rocksdb.views import VIEWS
from tests.support.dump_runs import COMMITTED_MS, TABLE, InProcess, dumped, opened, written
from tests.support.leases import left_lease
from tests.support.place import Here

ONE_FILE = {"limits": Limits(file_bytes=1), "slice_s": -1.0}
"""A slice writes one file of one row."""
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
    assert rows("counters") == {b"host": [(b"hits", COMMITTED_MS, b"6")]}  # merged, up to the committed position
    with pytest.raises(TableNotDumpedError):
        rows("empty")
    with pytest.raises(TableNotInDumpError):
        rows("unknown")
    files = [file for file in Path("dumps").rglob("*.json.gz") if file.parent.name == "answer~testclient1"]
    assert [file.name for file in files if not FILE_NAME.fullmatch(file.name)] == []
    manifest = orjson.loads(Path("dumps", result.dump, "_MANIFEST.json").read_bytes())
    assert (manifest["consistency"], manifest["empty_tables"]) == ("point-in-time", ["empty"])


def steps(configuration, engine: InProcess, *, view=None, place: Place | None = None, **options) -> Steps:
    """A dump of one table, whose store the test has open."""

    def sources(names: Sequence[str]) -> DumpSources:
        return DumpSources(configuration, Catalog(), dict.fromkeys(names, "local"), lambda _name: view)

    chosen = DumpRunOptions.model_validate(options)
    return dump_steps("./dumps", chosen, [TABLE], sources, lambda _tables: engine, place or Here())


def test_1c_15_same_content_gives_the_same_files(configuration):
    two_rows = Limits(file_bytes=100)  # each row of the table has 50 bytes
    for root in ("one", "two"):
        result = dumped(configuration, root=root, limits=two_rows)
        assert result.tables[TABLE] == TableCounts(2, 3, result.tables[TABLE].bytes)
    contents = [
        {file.relative_to(root).parts[1:]: file.read_bytes() for file in Path(root).rglob("*.json.gz")}
        for root in ("one", "two")
    ]
    assert contents[0] == contents[1]
    assert len(contents[0]) == sum(counts.files for counts in result.tables.values())


def test_writes_after_the_start_are_not_in_the_dump(configuration):
    class Writing(InProcess):
        """A service that writes while the tasks read."""

        def run_slice(self, work, ranges):
            store.apply(TABLE, [Put(b"later", {b"f:q": b"1"}, 9), Put(b"row-0000", {b"f:q": b"later"}, 9)])
            return super().run_slice(work, ranges)

    with opened() as store:
        list(steps(configuration, Writing(), view=store.freeze()))
        assert rows(TABLE)[b"row-0000"] == [(b"q", 7, b"v0")]
        assert b"later" not in rows(TABLE)
        assert store.get(TABLE, b"later") is not None


def test_view_is_removed_afterwards(configuration):
    dumped(configuration)
    assert list(Path("data", VIEWS).iterdir()) == []

    class Failing(InProcess):
        def run_slice(self, work, ranges):
            raise ConfigError("broken")

    with pytest.raises(ConfigError):
        dumped(configuration, Failing())
    assert list(Path("data", VIEWS).iterdir()) == []


def test_large_tables_are_divided(configuration):
    with opened() as store:
        store.apply(TABLE, [Put((number * 20).to_bytes(2), {b"f:q": b"1"}, 7) for number in range(3_000)])
    result = dumped(configuration, tables=[TABLE], min_ranges=4)
    assert result.tables[TABLE].rows == 3_003
    assert result.tables[TABLE].files == 4
    assert len(rows(TABLE)) == 3_003


class Interrupted(InProcess):
    """Fails at a slice."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def run_slice(self, work, ranges):
        if len(self.ranges) == self.at:
            raise ConflictError("killed")
        return super().run_slice(work, ranges)


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_interrupted_dump_is_resumed(configuration, at):
    with pytest.raises(ConflictError):
        dumped(configuration, Interrupted(at), tables=[TABLE], id="one", **ONE_FILE)
    files = {file.name: file.stat().st_ino for file in Path("dumps").rglob("*.json.gz")}
    assert len(files) == min(at, 3)
    assert DumpReader("./dumps").dumps() == []
    result = dumped(configuration, resume="one")
    assert (result.id, result.tables[TABLE].rows, result.is_exact) == ("one", 3, False)
    assert list(result.tables) == [TABLE]
    assert len(rows(TABLE)) == 3
    kept = {file.name: file.stat().st_ino for file in Path("dumps").rglob("*.json.gz")}
    assert files.items() <= kept.items()


def test_nothing_to_resume(configuration):
    with pytest.raises(NotFoundError, match="none"):
        dumped(configuration, resume="none")


def test_plan_of_another_version(configuration):
    with pytest.raises(ConflictError):
        dumped(configuration, Interrupted(1), tables=[TABLE], id="one", **ONE_FILE)
    file = Path("dumps/_run-one/_PLAN.json")
    content = orjson.loads(file.read_bytes())
    del content["plan"][TABLE]["ranges"]
    file.write_bytes(orjson.dumps(content))
    with pytest.raises(IntegrityError, match="without --resume"):
        dumped(configuration, resume="one")


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
        def run_slice(self, work, ranges):
            with pytest.raises(ConflictError, match="pid"):
                list(steps(configuration, InProcess(), id="second"))
            return super().run_slice(work, ranges)

    list(steps(configuration, Second(), id="first"))
    with pytest.raises(ConflictError, match='"first"') as refused:
        list(steps(configuration, InProcess(), id="first"))
    assert refused.value.exit_code == 4


def test_unknown_table(configuration):
    with pytest.raises(NotFoundError, match="nothing"):
        dumped(configuration, tables=["nothing"])
    assert not list(Path("dumps").glob("_run*"))


def test_too_little_space(configuration, monkeypatch):
    monkeypatch.setattr(LocalRoot, "free_bytes", lambda _root: 100)
    with pytest.raises(StoreUnavailableError, match="free") as found:
        dumped(configuration)
    assert found.value.code == "disk_full"
    result = dumped(configuration, ignore_space=True)
    monkeypatch.setattr(LocalRoot, "free_bytes", lambda _root: result.bytes)
    dumped(configuration)  # as large as the last dump


class Away(InProcess):
    """An engine whose store is unavailable for some slices."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures

    def run_slice(self, work, ranges):
        if self.failures:
            self.failures -= 1
            return DumpSlice((), ranges, StoreUnavailableError("away"))
        return super().run_slice(work, ranges)


def test_unavailable_store_is_asked_again(configuration, monkeypatch):
    monkeypatch.setattr("ingest.service.jobs.slices.PAUSE_S", 0.0)
    with opened() as store:
        view = store.freeze()
        found = list(steps(configuration, Away(2), view=view))
        view.remove()
    assert [each.blocked for each in found] == ["", "away", "away", "", ""]
    assert [each.done for each in found] == [0, 0, 0, 1, 1]
    assert found[-1].result["rows"] == 3


def test_cancelled(configuration):
    place = Here()
    place.cancellation.request()
    with opened() as store:
        view = store.freeze()
        with pytest.raises(ConflictError) as found:
            list(steps(configuration, InProcess(), view=view, place=place))
        view.remove()
    assert found.value.code == "job_cancelled"


def test_cancelled_while_the_root_may_be_in_use(configuration):
    place, register = Here(), RootRegister(LocalRoot(Path("dumps")), LOCK)
    other = left_lease(register)
    place.cancellation.request()
    with pytest.raises(ConflictError) as found:
        list(steps(configuration, InProcess(), place=place))
    assert found.value.code == "job_cancelled"
    require_grant(register, other)


def test_dump_that_is_not_finished_releases_the_root(configuration):
    with opened(), closing(steps(configuration, InProcess(), id="one")) as begun:
        assert next(begun).result["id"] == "one"
    dumped(configuration, resume="one")


def test_older_dumps_expire_after_the_dump(configuration):
    first = dumped(configuration)
    second = dumped(configuration, keep="1h")
    assert second.expired == []
    third = dumped(configuration, keep="90s")  # a minute after the second
    assert third.expired == [first.dump]
    assert [dump.name for dump in DumpReader("./dumps").dumps()] == [second.dump, third.dump]


def test_formats(configuration):
    for name in ("zstd", "parquet"):
        dumped(configuration, root=name, format=name, tables=[TABLE])
        assert len(rows(TABLE, name)) == 3


def test_declared_columns_of_parquet(configuration):
    columns = {TABLE: {"value": "f:q utf8"}}
    result = dumped(configuration, tables=[TABLE, "salted"], format="parquet", columns=columns)
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
        ({"keep": "soon"}, '"soon" is not a duration'),
        ({"id": "a", "resume": "b"}, "id: a dump that is resumed keeps its id"),
        ({"tables": ["t"], "resume": "b"}, "tables: a dump that is resumed keeps its id, its tables"),
        ({"columns": {"t": {"c": "f:q utf8"}}}, "columns need `format: parquet`"),
        ({"min_ranges": 0}, "min_ranges: must be at least 1, not 0"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        options_of(DumpRunOptions, options)


def test_options_that_are_left_out_are_those_of_the_file():
    section = DumpOptions(
        root="./dumps", tables=["t"], format="parquet", columns={"t": {"c": "f:q utf8"}}, keep="1m", max_rate=7
    )
    found = DumpRunOptions().completed(section)
    assert (found.tables, found.format, found.columns) == (["t"], "parquet", section.columns)
    assert (found.keep, found.max_rate, found.min_ranges) == (60.0, 7, 16)
    given = DumpRunOptions.model_validate({"tables": ["u"], "keep": None, "min_ranges": 3, "format": "gzip"})
    found = given.completed(section)
    assert (found.tables, found.format, found.columns) == (["u"], "gzip", {})
    assert (found.keep, found.max_rate, found.min_ranges) == (None, 7, 3)
    assert given.completed(None) == given


def test_same_jobs():
    job = job_of("dump", {"root": "dumps"})
    assert job.is_same(Dump("dumps", DumpRunOptions()))
    others = ({"root": "others"}, {"root": "dumps", "tables": [TABLE]}, {"root": "dumps", "format": "gzip"})
    assert [job.is_same(job_of("dump", other)) for other in others] == [False, False, False]
    assert not job.uses(["hits"])
    with pytest.raises(ConfigError, match="root"):
        job_of("dump", {"tables": [TABLE]})
