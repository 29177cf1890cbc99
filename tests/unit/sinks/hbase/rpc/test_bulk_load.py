"""The calls of a bulk load, answered by a server that says what a test wants."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ingest.api import (
    BusyWait,
    Delete,
    IngestError,
    Mutation,
    NotFoundError,
    Put,
    StoreRefusedError,
    StoreUnavailableError,
)
from ingest.api.bulk_load import NOTHING_CONFIRMED, Confirmed, LoadResult
from sinks.hbase.hfile.codecs import Codec
from sinks.hbase.hfile.writer import HFileFormat
from sinks.hbase.protobuf import Message, data, flag, number
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.bulk_load import MAX_FAILURES, BulkLoader
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.confirmed_loads import CoprocessorLoadError, NoLoadError, ReplicatedLoadError
from sinks.hbase.rpc.loadable_table import LoadableTable
from sinks.hbase.rpc.regions import RegionCache
from sinks.hbase.rpc.repeating import RepeatedCalls
from sinks.hbase.rpc.requests import region_specifier
from sinks.hbase.rpc.staged_files import StagedFiles
from tests.support.clock import Clock
from tests.support.hfile_reader import read_hfile
from tests.support.rows_server import meta_answer, registry_answer
from tests.support.rpc_server import Request, RpcServer, RpcServers

CONFIRMED = Confirmed(replicated=True)
LOADABLE = LoadableTable({b"f": HFileFormat(), b"g": HFileFormat(Codec.GZ)}, (b"g",))
PUTS: list[Mutation] = [Put(row, {b"f:q": row, b"g:q": b"v"}, 1) for row in (b"a", b"b", b"n", b"x")]
Answer = Callable[[Request, bytes], bytes | None]
"""To a call BulkLoadHFile, given the name of the region."""


def loaded(request: Request, _region: bytes) -> bytes:
    return request.answer(flag(1))


def fails(name: str, text: str = "") -> Answer:
    return lambda request, _region: request.failure(name, text)


def refused(request: Request, _region: bytes) -> bytes:
    return request.answer(flag(1, value=False))


@dataclass
class FakeHBase:
    """
    A table `t` with the regions up to m and from m on.

    Attributes:
        answers: to the calls BulkLoadHFile, one after the other; then they are loaded.
        prepared: the same for PrepareBulkLoad.
        files: region -> family -> rows of the file, of each call.
        stored: region -> number of its files when it is asked, one after the other; then 0; None for no right to ask.
        edges: of the regions.
        table: what the master says of it; None if it does not answer.
        reads: number of times that they were read.
        cleanups: answers to the calls CleanupBulkLoad, as `answers`.
    """

    serve: RpcServers
    answers: list[Answer] = field(default_factory=list)
    prepared: list[Answer] = field(default_factory=list)
    files: list[tuple[bytes, dict[bytes, list[bytes]]]] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)
    stored: list[dict[bytes, int] | None] = field(default_factory=list)
    edges: list[bytes] = field(default_factory=lambda: [b"", b"m", b""])
    methods: list[str] = field(default_factory=list)
    table: LoadableTable | None = LOADABLE
    reads: int = 0
    cleanups: list[Answer] = field(default_factory=list)
    server: RpcServer = field(init=False)

    def __post_init__(self) -> None:
        self.server = self.serve(self._answer)

    def _answer(self, request: Request) -> bytes | None:
        if request.method == "GetMetaRegionLocations":
            return registry_answer(request, self.server.address)
        self.methods.append(request.method)
        if request.method == "Scan":
            return meta_answer(request, self.edges, [self.server.address] * (len(self.edges) - 1))
        message = Message(request.parameter)
        if request.method == "GetRegionLoad":
            return self._files_of_regions(request)
        if request.method == "PrepareBulkLoad":
            assert message.message(1).data(2) == b"t"
            answer = self.prepared.pop(0) if self.prepared else lambda request, _: request.answer(data(1, b"token"))
            return answer(request, message.message(2).data(2))
        if request.method == "CleanupBulkLoad":
            assert message.data(1) == b"token"
            return self.cleanups.pop(0)(request, b"") if self.cleanups else request.answer()
        assert (request.method, message.flag(3), message.data(5)) == ("BulkLoadHFile", True, b"token")
        region = message.message(1).data(2)
        content = {}
        for each in message.messages(2):
            path = Path(urlsplit(each.text(2)).path)
            self.paths.append(path)
            content[each.data(1)] = [cell.row for cell in read_hfile(path.read_bytes()).cells]
        self.files.append((region, content))
        return (self.answers.pop(0) if self.answers else loaded)(request, region)

    def loadable(self, _table: str) -> LoadableTable:
        self.reads += 1
        if self.table is None:
            raise NotFoundError("no table")
        return self.table

    def _files_of_regions(self, request: Request) -> bytes:
        stored = self.stored.pop(0) if self.stored else {}
        if stored is None:
            return request.failure("org.apache.hadoop.hbase.security.AccessDeniedException")
        loads = (data(1, region_specifier(name)) + number(2, 2) + number(3, files) for name, files in stored.items())
        return request.answer(b"".join(data(1, load) for load in loads))


@pytest.fixture
def hbase(serve: RpcServers) -> FakeHBase:
    return FakeHBase(serve)


@contextlib.contextmanager
def loader_of(hbase: FakeHBase, staging: str) -> Iterator[BulkLoader]:
    cluster = Cluster([hbase.server.address], may_leave_machine=False)
    cluster.open()
    calls = RepeatedCalls(cluster, RegionCache(cluster), lambda: Attempts(5.0))
    made = BulkLoader(calls, StagedFiles(staging, "1", lambda: 0), hbase.loadable, lambda: 0, max_cell_bytes=1000)
    with contextlib.closing(cluster), contextlib.closing(made):
        yield made


@pytest.fixture
def loader(hbase: FakeHBase, tmp_path: Path) -> Iterator[BulkLoader]:
    with loader_of(hbase, str(tmp_path)) as made:
        yield made
    assert list(tmp_path.iterdir()) == []


def load(
    loader: BulkLoader, puts: list[Mutation] = PUTS, wants: Callable[[bytes, int, int], bool] = lambda *_: True
) -> LoadResult:
    return loader.load("t", puts, wants, Attempts(5.0, sleep=lambda _seconds: None), confirmed=CONFIRMED)


def test_each_region_gets_one_call_with_a_file_for_each_family(hbase: FakeHBase, loader: BulkLoader):
    assert load(loader) == LoadResult(rows=4, files=4)
    first, second = [b"a", b"b"], [b"n", b"x"]
    assert hbase.files == [
        (b"t,,1.", {b"f": first, b"g": first}),
        (b"t,m,1.", {b"f": second, b"g": second}),
    ]
    assert hbase.methods == [
        "Scan",
        "GetRegionLoad",
        "PrepareBulkLoad",
        "BulkLoadHFile",
        "BulkLoadHFile",
        "CleanupBulkLoad",
    ]
    assert not any(path.exists() for path in hbase.paths)


def test_rows_of_regions_that_want_no_files_are_left(hbase: FakeHBase, loader: BulkLoader):
    asked = []

    def wants(start: bytes, rows: int, size: int) -> bool:
        asked.append((start, rows))
        assert size > 0
        return start == b"m"

    assert load(loader, wants=wants) == LoadResult(rows=2, files=2, left=[0, 1])
    assert asked == [(b"", 2), (b"m", 2)]
    assert [region for region, _ in hbase.files] == [b"t,m,1."]


def test_files_that_hbase_has_not_loaded_are_cut_anew(hbase: FakeHBase, loader: BulkLoader):
    def split(request: Request, region: bytes) -> bytes:
        hbase.edges = [b"", b"b", b"m", b""]
        return refused(request, region)

    hbase.answers = [split]
    assert load(loader) == LoadResult(rows=4, files=6)
    assert [(region, rows[b"f"]) for region, rows in hbase.files[2:]] == [(b"t,,1.", [b"a"]), (b"t,b,1.", [b"b"])]


def test_files_that_hbase_has_twice_not_loaded_are_left(hbase: FakeHBase, loader: BulkLoader):
    hbase.answers = [loaded, refused, refused]
    result = load(loader)
    assert result == LoadResult(rows=2, files=2, left=[2, 3], refused=[b"m"])
    assert hbase.methods.count("BulkLoadHFile") == 3


@pytest.mark.parametrize(
    "failure",
    [
        lambda _request, _region: None,
        lambda request, _region: request.failure("org.apache.hadoop.hbase.NotServingRegionException"),
        lambda request, _region: request.answer(b"\x08"),
    ],
    ids=["no answer", "region has moved", "answer that is none"],
)
def test_unknown_outcome_is_followed_by_new_files(hbase: FakeHBase, loader: BulkLoader, failure: Answer):
    hbase.answers = [loaded, failure]
    result = load(loader)
    assert (result.rows, result.left, result.refused) == (4, [], [])
    assert hbase.files[-1] == (b"t,m,1.", {b"f": [b"n", b"x"], b"g": [b"n", b"x"]})
    assert len(set(hbase.paths)) == len(hbase.paths) >= 6
    assert not any(path.exists() for path in hbase.paths)


@pytest.mark.parametrize("is_last", [False, True])
def test_region_with_many_files_gets_no_more_until_they_are_compacted(
    hbase: FakeHBase, loader: BulkLoader, *, is_last: bool
):
    """Two families with 31 files are below the limit; those with 32 get calls, if a wait does not help."""
    hbase.stored = [{b"t,,1.": 32, b"t,m,1.": 31}] * (50 if is_last else 2)
    clock = Clock(time.monotonic())  # the deadline of the calls is one of the real clock
    waits: list[BusyWait] = []

    def sleep(seconds: float) -> None:
        clock.now += seconds

    attempts = Attempts(60.0, clock=clock, sleep=sleep, on_busy=waits.append)
    result = loader.load("t", PUTS, lambda *_: True, attempts, confirmed=CONFIRMED)
    assert result == (LoadResult(rows=2, files=2, left=[0, 1]) if is_last else LoadResult(rows=4, files=4))
    assert {wait.reason for wait in waits} == {"store_files"}
    assert len(waits) > 2 if is_last else len(waits) == 2


def test_user_who_may_not_ask_for_the_number_of_files_loads_them(hbase: FakeHBase, loader: BulkLoader):
    hbase.stored = [None]
    assert load(loader) == LoadResult(rows=4, files=4)


def test_refusals_after_the_second_one_are_left_too(hbase: FakeHBase, loader: BulkLoader):
    hbase.answers = [refused, lambda _request, _region: None, refused, refused, refused, refused]
    result = load(loader)
    assert (result.rows, sorted(result.left), sorted(result.refused)) == (0, [0, 1, 2, 3], [b"", b"m"])


def test_load_that_cannot_be_prepared_is_repeated(hbase: FakeHBase, loader: BulkLoader):
    hbase.prepared = [lambda request, _: request.failure("org.apache.hadoop.hbase.NotServingRegionException")]
    assert load(loader) == LoadResult(rows=4, files=4)


@pytest.mark.parametrize(
    "name",
    [
        "org.apache.hadoop.hbase.security.AccessDeniedException",
        "org.apache.hadoop.hbase.exceptions.FailedSanityCheckException",
        "org.apache.hadoop.hbase.coprocessor.CoprocessorException",
        "org.apache.hadoop.hbase.DoNotRetryIOException",
        "org.apache.hadoop.hbase.quotas.SpaceLimitingException",
    ],
)
@pytest.mark.parametrize("is_prepare", [False, True])
def test_load_that_a_server_denies_is_left_at_once(
    hbase: FakeHBase, loader: BulkLoader, name: str, *, is_prepare: bool
):
    """No row is at fault: a call, which a server may allow, says which one is, if one is."""
    (hbase.prepared if is_prepare else hbase.answers).append(fails(name))
    result = load(loader)
    left, refused = ([0, 1, 2, 3], [b"", b"m"]) if is_prepare else ([0, 1], [b""])
    assert result == LoadResult(4 - len(left), 4 - len(left), left, refused=refused)
    assert hbase.methods.count("BulkLoadHFile") == (0 if is_prepare else 2)


@pytest.mark.parametrize("is_prepare", [False, True])
def test_load_that_fails_again_and_again_is_left(hbase: FakeHBase, loader: BulkLoader, *, is_prepare: bool):
    error = fails("java.io.IOException", "Mkdirs failed to create /staging")
    if is_prepare:
        hbase.prepared = [error] * 10
    else:
        hbase.answers = [error] * 10
    result = load(loader)
    assert (sorted(result.left), sorted(result.refused)) == ([0, 1, 2, 3], [b"", b"m"])
    assert hbase.methods.count("PrepareBulkLoad") == MAX_FAILURES
    assert hbase.methods.count("BulkLoadHFile") == (0 if is_prepare else 2 * MAX_FAILURES)


def test_folder_of_a_load_is_kept_while_a_server_may_use_it(hbase: FakeHBase, loader: BulkLoader):
    hbase.answers = [loaded, lambda _request, _region: None]
    load(loader)
    assert (hbase.methods.count("PrepareBulkLoad"), hbase.methods.count("CleanupBulkLoad")) == (2, 1)


def test_failure_to_remove_the_folder_of_a_load_is_no_failure_of_the_load(hbase: FakeHBase, loader: BulkLoader):
    hbase.cleanups = [fails("java.io.IOException")]
    assert load(loader) == LoadResult(rows=4, files=4)


def test_load_ends_when_its_time_has_passed(hbase: FakeHBase, loader: BulkLoader):
    hbase.answers = [lambda _request, _region: None] * 100
    clock = iter(range(0, 10_000, 4))
    attempts = Attempts(5.0, sleep=lambda _seconds: None, clock=lambda: float(next(clock)))
    with pytest.raises(StoreUnavailableError):
        loader.load("t", PUTS, lambda *_: True, attempts, confirmed=CONFIRMED)


@pytest.mark.parametrize(
    "bad",
    [
        Put(b"b", {b"nosuch:q": b"v"}, 1),
        Put(b"b", {b"f:q": b"v" * 1000}, 1),
        Put(b"b", {b"f:q": b"v"}, -1),
        Delete(b"b", 1),
    ],
    ids=["no family", "too large", "no time", "row deleted"],
)
def test_mutation_that_no_file_can_have_leaves_its_region_to_calls(hbase: FakeHBase, loader: BulkLoader, bad: Mutation):
    assert load(loader, [*PUTS, bad]) == LoadResult(rows=2, files=2, left=[0, 1, 4])
    assert [region for region, _ in hbase.files] == [b"t,m,1."]


def test_table_whose_families_cannot_be_read_is_left(hbase: FakeHBase, loader: BulkLoader):
    """They are asked for once in a flush cycle: a master that is away takes seconds to say nothing."""
    hbase.table = None
    for _ in range(2):
        assert load(loader) == LoadResult(left=[0, 1, 2, 3])
    assert hbase.reads == 1
    assert set(hbase.methods) == {"Scan", "GetRegionLoad"}


def test_families_are_read_once_in_each_flush_cycle(hbase: FakeHBase, loader: BulkLoader):
    """An attribute may be set at any time, as READONLY or ENCRYPTION, which leave no family that may have files."""
    for _ in range(2):
        assert load(loader).rows == 4
    assert hbase.reads == 1
    hbase.table = LoadableTable({}, (b"g",))
    assert load(loader).rows == 4
    loader.begin()
    assert load(loader) == LoadResult(left=[0, 1, 2, 3])
    hbase.table = LOADABLE
    loader.begin()
    assert load(loader).rows == 4
    assert hbase.reads == 3


def test_table_with_coprocessors_is_refused_unless_it_is_confirmed(hbase: FakeHBase, loader: BulkLoader):
    hbase.table = LOADABLE._replace(coprocessors=("org.apache.phoenix.hbase.index.Indexer",))
    with pytest.raises(
        CoprocessorLoadError, match=r'"t" has coprocessors, org\.apache\.phoenix\.hbase\.index\.Indexer'
    ):
        load(loader)
    assert "PrepareBulkLoad" not in hbase.methods
    both = Confirmed(replicated=True, coprocessors=True)
    assert loader.load("t", PUTS, lambda *_: True, Attempts(5.0), confirmed=both).rows == 4
    loader.check("t", both)
    with pytest.raises(CoprocessorLoadError):
        loader.check("t", CONFIRMED)


def test_further_attempt_is_refused_what_its_files_would_bypass_and_loads_none(hbase: FakeHBase, loader: BulkLoader):
    def check(mutations: list[Mutation], *, wants: bool) -> None:
        loader.check_load("t", mutations, lambda *_: wants, Attempts(5.0), NOTHING_CONFIRMED)

    with pytest.raises(ReplicatedLoadError, match='table "t" has replicated families, "g"'):
        check(PUTS, wants=True)
    check(PUTS, wants=False)
    check([Put(b"a", {b"f:q": b"v"}, 1), Delete(b"b", 1, b"f")], wants=True)
    assert set(hbase.methods) == {"Scan"}, "it neither loads files nor asks how many a region has"


def test_replicated_family_is_refused_unless_it_is_confirmed(hbase: FakeHBase, loader: BulkLoader):
    with pytest.raises(ReplicatedLoadError, match='table "t" has replicated families, "g"'):
        loader.load("t", PUTS, lambda *_: True, Attempts(5.0))
    assert hbase.methods == ["Scan", "GetRegionLoad"]
    others: list[Mutation] = [Put(b"a", {b"f:q": b"v"}, 1)]
    assert loader.load("t", others, lambda *_: True, Attempts(5.0)) == LoadResult(rows=1, files=1)


def test_folder_that_cannot_be_used_leaves_all(hbase: FakeHBase, loader: BulkLoader, tmp_path: Path):
    (tmp_path / "loading-1").write_bytes(b"")
    result = load(loader)
    assert (result.rows, result.left) == (0, [0, 1, 2, 3])
    assert result.unstaged is not None
    assert "loading-1" in result.unstaged
    assert hbase.methods == ["Scan", "GetRegionLoad"]
    (tmp_path / "loading-1").unlink()


def test_progress_is_reported_after_each_step_that_may_take_seconds(loader: BulkLoader):
    """The wait for compactions; the files of two regions; four staged files; two answers."""
    steps: list[None] = []
    loader.load("t", PUTS, lambda *_: True, Attempts(5.0), confirmed=CONFIRMED, on_progress=lambda: steps.append(None))
    assert len(steps) == 1 + 2 + 4 + 1 + 2


@pytest.mark.parametrize("last", range(10))
def test_load_that_is_abandoned_leaves_no_staged_file(hbase: FakeHBase, loader: BulkLoader, tmp_path: Path, last: int):
    steps = iter(range(100))

    def end() -> None:
        if next(steps) == last:
            raise StoreUnavailableError("abandoned")

    with pytest.raises(StoreUnavailableError, match="abandoned"):
        loader.load("t", PUTS, lambda *_: True, Attempts(5.0), confirmed=CONFIRMED, on_progress=end)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert ("BulkLoadHFile" in hbase.methods) == (last >= 8)


def test_check_refuses_a_table_of_which_no_family_may_have_files(hbase: FakeHBase, loader: BulkLoader):
    """All rows would go in calls, without a word."""
    hbase.table = LoadableTable({})
    with pytest.raises(NoLoadError, match='table "t" has bulk load, but no family that may have files'):
        loader.check("t", CONFIRMED)
    assert hbase.methods == []


def test_staging_in_hdfs_without_an_answer_is_named_as_it_is_written(
    hbase: FakeHBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("requests")
    (tmp_path / "hdfs-site.xml").write_text(
        "<configuration><property><name>dfs.namenode.http-address</name><value>127.0.0.1:1</value></property>"
        "</configuration>"
    )
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with loader_of(hbase, "hdfs://127.0.0.1:8020/attr") as loader, pytest.raises(StoreUnavailableError) as caught:
        loader.check("t", CONFIRMED)
    assert caught.value.message == (
        '`staging` "hdfs://127.0.0.1:8020/attr" cannot be used: no answer of 127.0.0.1:1: Connection refused'
    )


def test_check_writes_a_file_looks_at_the_families_and_begins_a_load(
    hbase: FakeHBase, loader: BulkLoader, tmp_path: Path
):
    loader.check("t", CONFIRMED)
    assert hbase.methods == ["Scan", "PrepareBulkLoad", "CleanupBulkLoad"]
    with pytest.raises(ReplicatedLoadError):
        loader.check("t", NOTHING_CONFIRMED)
    denied = fails("org.apache.hadoop.hbase.security.AccessDeniedException", "no right")
    hbase.prepared = [denied]
    with pytest.raises(StoreRefusedError, match="no right"):
        loader.check("t", CONFIRMED)
    hbase.cleanups = [denied]
    with pytest.raises(StoreRefusedError, match="no right"):
        loader.check("t", CONFIRMED)
    loader.close()
    (tmp_path / "loading-1").write_bytes(b"")
    with pytest.raises(IngestError) as caught:
        loader.check("t", CONFIRMED)
    assert caught.value.message == f'`staging` "{tmp_path}" cannot be used: File exists'
    assert "`staging` is a folder that this user can make and write to" in caught.value.hint
    (tmp_path / "loading-1").unlink()
