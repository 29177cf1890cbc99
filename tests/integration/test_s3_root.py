"""Dumps, bootstraps and archives in a real server of S3."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ingest.api import ConflictError, FamilySpec, Put, StoreUnavailableError, TableSpec
from ingest.durable.lease import Lease, Timing, require_grant
from sinks.dumps.layout import LOCK
from sinks.dumps.manifest import DumpedTable
from sinks.dumps.reader import DumpReader
from sinks.dumps.run import DumpRun
from sinks.dumps.table_files import write_table_file
from sinks.files.opening import open_root
from sinks.files.register import RootRegister
from sinks.files.root import Root
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.archived_topic import FIRST_DAY, ArchivedTopic, rerun
from tests.support.commands import Folder
from tests.support.dumps import DUMP, FAMILIES, START_MS, make_dump, rows_of
from tests.support.leases import left_lease, taken_over
from tests.support.names import unique
from tests.support.root_contract import RootContract
from tests.support.s3 import BUCKET, MISSING, S3, SECRET, is_installed
from tests.support.servers import Kafka
from tests.support.service import Service

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not is_installed(), reason=MISSING)]


@pytest.fixture(scope="module")
def s3(servers_folder: Path) -> Iterator[S3]:
    server = S3(servers_folder / "s3")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.variables.items():
            patch.setenv(name, value)
        try:
            server.start()
            yield server
        finally:
            server.kill()


@pytest.fixture
def url(s3: S3) -> str:
    return f"s3://{BUCKET}/{unique('root')}"


class TestS3Root(RootContract):
    """The contract of a root."""

    @pytest.fixture
    def root(self, url: str) -> Root:
        return open_root(url)


WRITERS = 6
VALID_S = 3.0
FILE = """
version: 1
service: {http: {listen: "127.0.0.1:1"}}  # no service answers there
spark: {master: "local[2]"}
stores: {local: {rocksdb: {path: ./data}}}
tables: {t: {families: {f: {}}}, copy: {families: {f: {}}}}
pipelines: {any: {source: {files: {path: ./in}}, sinks: [{attr2hbase: {table: t}}]}}
"""


def at_once(url: str) -> list[Lease]:
    """The locks that were acquired by processes that start at the same time."""
    barrier = threading.Barrier(WRITERS)

    def acquired(number: int) -> Lease | None:
        register = RootRegister(open_root(url), LOCK)
        register.read()  # connects
        lock = Lease(register, what="", hint="", timing=Timing(valid_s=VALID_S))
        barrier.wait()
        try:
            lock.acquire()
        except ConflictError:
            return None
        return lock

    with ThreadPoolExecutor(WRITERS) as pool:
        return [lock for lock in pool.map(acquired, range(WRITERS)) if lock is not None]


def test_one_of_several_processes_gets_the_lock(url: str) -> None:
    (first,) = at_once(url)
    first.check()
    first.release()
    killed = left_lease(RootRegister(open_root(url), LOCK))
    (lock,) = at_once(url)
    lock.check()
    with pytest.raises(ConflictError, match="has taken it"):
        require_grant(RootRegister(open_root(url), LOCK), killed)
    lock.release()
    assert RootRegister(open_root(url), LOCK).read() is None


def test_large_file_is_uploaded_in_parts(url: str) -> None:
    root = open_root(url)
    content = bytes(range(256)) * (120 << 12)  # 120 MiB: more than two parts
    root.write("large", content)
    assert root.read("large") == content
    root.rename("large", "renamed")
    assert [(entry.name, entry.size) for entry in root.entries("")] == [("renamed", len(content))]


def test_dump_is_resumed_after_the_server_was_away(s3: S3, url: str) -> None:
    root = open_root(url)
    make_dump(root, {"t": [rows_of(b"a")]}, at_ms=START_MS - 1_000)
    parts = [rows_of(b"a", b"b"), rows_of(b"c")]

    def add(run: DumpRun, part: int) -> None:
        run.add("t", part, write_table_file(root, run.folder, "t", part, parts[part]))

    with DumpRun(root, "again", clock_ms=lambda: START_MS) as run:
        run.start(["t"])
        add(run, 0)
        s3.kill()
        with pytest.raises(OSError, match="Could not connect to the endpoint URL"):
            add(run, 1)
    with pytest.raises(StoreUnavailableError) as unread:
        DumpReader(url).latest()
    assert unread.value.code == "state_unavailable"
    s3.start()
    assert DumpReader(url).latest().name != DUMP
    taken_over(RootRegister(root, LOCK))  # the lease could not be released
    with DumpRun(root, "again", clock_ms=lambda: START_MS + 1) as run:
        run.resume()
        assert list(run.done("t")) == [0]
        add(run, 1)
        run.finish({"t": DumpedTable((), families=FAMILIES)})
    with DumpReader(url) as reader:
        reader.lock(DUMP)
        with reader.scan("t") as found:
            assert [row.to_row() for row in found] == parts[0] + parts[1]


def test_errors_name_the_reason_and_no_secret(s3: S3, tmp_path: Path, url: str) -> None:
    def refused(root: str, code: int, **variables: str) -> str:
        done = Folder(tmp_path, **variables)("dump", "ls", root, code=code)
        assert SECRET not in done.stdout + done.stderr
        return done.stderr

    assert "credentials" in refused(url, 2, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
    assert "signature" in refused(url, 3, AWS_SECRET_ACCESS_KEY=SECRET[::-1])
    assert "credentials" in refused(f"s3://tester:{SECRET}@{BUCKET}/dumps", 2)
    with pytest.raises(StoreUnavailableError, match="bucket does not exist"):
        make_dump(open_root("s3://no-such-bucket/dumps"), {"t": [rows_of(b"a")]})


def test_commands_of_dumps_and_a_bootstrap(url: str, tmp_path: Path) -> None:
    """Spark writes the newest dump, and each command is a process."""
    ingest = Folder(tmp_path)
    (tmp_path / "pipeline.yaml").write_text(FILE)
    with closing(RocksDBStore(RocksDBSettings(path=str(tmp_path / "data")))) as store:
        store.open()
        store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
        store.apply("t", [Put(row, {b"f:q": b"v"}, 1_000) for row in (b"a", b"b", b"c")])
    make_dump(open_root(url), {"t": [rows_of(b"a", b"b")]})

    def json_of(*arguments: str) -> Any:
        return json.loads(ingest(*arguments, "--output", "json").stdout)

    def listed() -> list[str]:
        lines = ingest("dump", "ls", url, "--output", "json").stdout.splitlines()
        return [json.loads(line)["dump"] for line in lines]

    newest = json_of("dump", "run", "--root", url, "--tables", "t")["dump"]
    assert listed() == [DUMP, newest]
    rows = ingest("dump", "cat", url, "t").stdout.splitlines()
    assert [json.loads(row)["~id"] for row in rows] == ["a", "b", "c"]
    ingest("dump", "verify", url)
    assert ingest("dump", "diff", url, DUMP, newest, "t").stdout == "+ c\n"
    loaded = json_of("dump", "bootstrap", "--dump", url, "--to", "local:copy", "--table", "t")
    assert loaded["rows"] == 3
    pin = ingest("admin", "dump", "pin", url, "--at", DUMP).stdout.strip()
    ingest("admin", "dump", "expire", url, "--keep", "1d")
    assert listed() == [DUMP, newest]
    ingest("admin", "dump", "unpin", url, pin)
    ingest("admin", "dump", "expire", url, "--keep", "1d")
    assert listed() == [newest]
    assert not open_root(url).exists(DUMP)


def test_archive_by_the_service_and_its_commands(kafka: Kafka, url: str, tmp_path: Path) -> None:
    archived = ArchivedTopic(kafka, tmp_path, archive=url)
    with Service(tmp_path, archived.content("old")) as service:
        for _batch in range(2):
            archived.produce(40)
            assert service.run_once() == 0, service.last_lines()
        archived.assert_complete()
        first = archived.partition(0).current()
        service.write(archived.content("new"))
        done = rerun(service, FIRST_DAY)
        assert (done["before"], done["rows"]) == (first, 40)
        assert archived.labels(0) == {"new": 40}
        history = service.ingest("archive history", "customer", "--output", "json")
        assert history.returncode == 0, history.stderr
        assert str(done["version"]) in history.stdout
        cleaned = service.ingest("admin archive cleanup", "customer", "--older-than", "0s", "--force")
        assert cleaned.returncode == 0, cleaned.stderr
        assert archived.partition(0).version_ids() == [done["version"]]
    archived.assert_complete()
