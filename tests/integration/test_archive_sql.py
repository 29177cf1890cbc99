"""An archived table in Spark's SQL: in the catalog of a session, and in Derby's Hive metastore."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from pyspark.sql import SparkSession

from ingest.api import ConflictError, IngestError
from ingest.spark.archive_tables import SqlTable, Statements
from ingest.spark.session import close_session, open_session
from sinks.archive.partition import Partition
from sinks.archive.rewrite import Rewrite
from sinks.files.local_root import LocalRoot
from sinks.files.root import Root
from tests.support.archives import DAY_MS, Writer, event
from tests.support.service import Service, environment
from tests.support.short_lived import java_options

DAY = 24 * 3_600_000
COUNTS = "SELECT dt, count(*), min(_offset) FROM customer GROUP BY dt ORDER BY dt"
HIVE = """
import json, sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").enableHiveSupport()
for name, value in json.loads(sys.argv[1]).items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
for line in sys.stdin:
    print(json.dumps([list(row) for row in session.sql(line).collect()]), flush=True)
"""


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """Ten rows of one day and five of the next."""
    found = LocalRoot(tmp_path / "archive" / "customer")
    events = [*map(event, range(10)), *(event(number, time_ms=DAY_MS + DAY + number) for number in range(10, 15))]
    Writer(found).run(DAY_MS + DAY, events)
    return found


@pytest.fixture
def partition(root: Root) -> Partition:
    return Partition(root, "dt=20151210")


def content(**conf: str) -> dict[str, Any]:
    """A pipeline that writes the table."""
    return {
        "spark": {"conf": conf},
        "pipelines": {
            "p": {
                "source": {"kafka": {"brokers": "localhost:1", "topics": ["t"]}},
                "sinks": [{"archive": {"root": "./archive", "table": "customer"}}],
            }
        },
    }


def written_again(partition: Partition, *numbers: int) -> int:
    """The partition has another version, with these rows."""
    with Rewrite(partition, "test") as rerun:
        Writer(partition.root).run(DAY_MS + DAY + 1, [event(number) for number in numbers])
        rerun.finish()
    return rerun.version_id


@pytest.mark.slow
class TestSession:
    """The catalog of a session, which is gone with it."""

    @pytest.fixture
    def session(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("SPARK_SUBMIT_OPTS", java_options())
        conf = {"spark.sql.warehouse.dir": str(tmp_path / "warehouse"), "spark.sql.shuffle.partitions": "1"}
        session = open_session(
            "test", master="local[2]", driver_memory_bytes=None, conf=conf, secret_names=[], jars=[], java_properties={}
        )
        yield session
        close_session(session)

    def registered(self, service: Service, session: SparkSession) -> None:
        done = service.command("admin archive register", "customer", "--output", "json")
        assert done.returncode == 0, done.stderr
        for line in done.stdout.splitlines():
            session.sql(json.loads(line)["statement"])

    def test_3c14_table_is_registered_again(self, session: SparkSession, root: Root, tmp_path: Path) -> None:
        service = Service(tmp_path, content())
        for _ in range(2):
            self.registered(service, session)
            assert [tuple(row) for row in session.sql(COUNTS).collect()] == [("20151210", 10, 0), ("20151211", 5, 10)]
        assert "version_id" not in session.table("customer").columns
        (row,) = session.sql("SELECT body, _topic, _time FROM customer WHERE dt = '20151210' AND _offset = 7").collect()
        assert (bytes(row.body), row._topic) == (b"7", "t")

    def test_3c3_query_has_the_rows_of_its_start(
        self, session: SparkSession, partition: Partition, tmp_path: Path
    ) -> None:
        service = Service(tmp_path, content())
        self.registered(service, session)
        session.sql("CACHE TABLE customer")
        # each row takes a while, so the query is still reading when the pointer moves
        (tmp_path / "hold").touch()
        slow = "SELECT count(*) FROM customer WHERE dt = '20151210' AND held(_offset)"
        session.udf.register("held", _held(tmp_path / "hold", tmp_path / "begun"), "boolean")
        session.sql("UNCACHE TABLE customer")
        found: list[int] = []
        query = threading.Thread(target=lambda: found.append(session.sql(slow).first()[0]))
        query.start()
        while not (tmp_path / "begun").exists():
            query.join(0.05)
            assert query.is_alive()
        written_again(partition, 100, 101, 102)
        self.registered(service, session)
        assert session.sql(COUNTS).first()[:3] == ("20151210", 3, 100)
        (tmp_path / "hold").unlink()
        query.join(60)
        assert found == [10]

    def test_3c2_cached_table_follows_the_pointer(
        self, session: SparkSession, partition: Partition, tmp_path: Path
    ) -> None:
        service = Service(tmp_path, content())
        self.registered(service, session)
        session.sql("CACHE TABLE customer")
        assert session.sql(COUNTS).first()[:3] == ("20151210", 10, 0)
        written_again(partition, 100)
        self.registered(service, session)
        assert session.sql(COUNTS).first()[:3] == ("20151210", 1, 100)

    def table(self, folder: Path, **columns: str) -> SqlTable:
        """A table of a folder; the folder's name has a space."""
        return SqlTable("day-by.day", columns, "dt", "json", f"file://{folder}/of days")

    def test_table_of_another_folder_stays_as_it_is(self, session: SparkSession, tmp_path: Path) -> None:
        statements = Statements(session)
        own, other = (self.table(tmp_path / name, n="bigint") for name in ("a", "b"))
        assert statements.locations(own) == {}
        assert statements.register(own, {"1": "dt=1/version=1"}) == 1
        for refused in (
            lambda: statements.register(other, {"1": "dt=1/version=2"}),
            lambda: statements.locations(other),
        ):
            with pytest.raises(ConflictError, match=r"it is in file:.*/a/of days, and the archive") as caught:
                refused()
            assert caught.value.code == "sql_table_differs"
        assert statements.locations(own) == {"1": "dt=1/version=1"}
        session.sql("DROP TABLE day_by_day")
        session.sql("CREATE TEMPORARY VIEW day_by_day AS SELECT 1 AS n")
        with pytest.raises(ConflictError, match="it is without a folder"):
            statements.register(own)
        session.sql("DROP VIEW day_by_day")

    def test_new_column_is_added(self, session: SparkSession, tmp_path: Path) -> None:
        version = tmp_path / "of days" / "dt=1" / "version=1"
        version.mkdir(parents=True)
        (version / "part.json").write_text('{"n": 1}\n')
        statements = Statements(session)
        statements.register(self.table(tmp_path, n="bigint"), {"1": "dt=1/version=1"})
        # a column may have the name of a line of Spark's description
        wider = self.table(tmp_path, n="bigint", Location="string", s="double")
        assert statements.register(wider, {"1": "dt=1/version=1"}) == 0
        assert [tuple(row) for row in session.sql("SELECT n, Location, s, dt FROM day_by_day").collect()] == [
            (1, None, None, "1")
        ]
        assert statements.register(wider, {"1": "dt=1/version=1"}) == 0
        with pytest.raises(ConflictError, match=r'column "n" .* is bigint in SQL, and string in the archive'):
            statements.register(self.table(tmp_path, n="string"))

    def test_only_the_partitions_that_may_move_are_described(self, session: SparkSession, tmp_path: Path) -> None:
        table = self.table(tmp_path, n="bigint")
        paths = {str(day): f"dt={day}/version=1" for day in range(5)}
        assert Statements(session).register(table, paths) == 5
        recorded = Recorded(session)
        assert Statements(recorded).register(table, {"3": "dt=3/version=2"}) == 1  # type: ignore[arg-type]
        described = [each for each in recorded.statements if each.startswith("DESCRIBE")]
        assert [each.partition("`day_by_day`")[2] for each in described] == ["", " PARTITION (`dt` = '3')"]
        assert Statements(session).locations(table) == paths | {"3": "dt=3/version=2"}

    def test_refused_statement_says_how_to_go_on(self, session: SparkSession, tmp_path: Path) -> None:
        with pytest.raises(IngestError, match="the statement is CREATE TABLE") as caught:
            Statements(session, "run X").register(self.table(tmp_path, n="no_type"))
        assert caught.value.code == "archive_sql"
        assert caught.value.hint == "correct the settings of the metastore under `spark: conf`, then run X"


class Recorded:
    """A session that remembers its statements."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self.statements: list[str] = []

    def sql(self, statement: str) -> Any:
        """Run a statement."""
        self.statements.append(statement)
        return self._session.sql(statement)


def _held(hold: Path, begun: Path) -> Any:
    def held(_offset: int) -> bool:
        import time

        begun.touch()
        while hold.exists():
            time.sleep(0.05)
        return True

    return held


class HiveSession:
    """A Spark session with Derby's metastore, in a process of its own."""

    def __init__(self, folder: Path, conf: dict[str, str]) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-c", HIVE, json.dumps(conf)],
            cwd=folder,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._child.communicate()
        assert self._child.returncode == 0

    def sql(self, statement: str) -> list[list[Any]]:
        """The rows of a statement."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(f"{statement}\n")
        self._child.stdin.flush()
        rows: list[list[Any]] = json.loads(self._child.stdout.readline())
        return rows


@pytest.mark.slow
def test_3c7_3c16_metastore_of_derby(partition: Partition, tmp_path: Path) -> None:
    conf = {
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={tmp_path / 'metastore'};create=true",
        "spark.sql.shuffle.partitions": "1",
    }
    service = Service(tmp_path, content(**conf))
    registered = service.ingest("admin archive register", "customer", "--output", "json")
    assert registered.returncode == 0, registered.stderr
    assert json.loads(registered.stdout) == {"table": "customer", "partitions": 2, "changed": 2}
    with HiveSession(tmp_path, conf) as hive:
        assert hive.sql(COUNTS) == [["20151210", 10, 0], ["20151211", 5, 10]]
        version_id = written_again(partition, 100, 101)
        refused = service.ingest("archive point", "customer", "--dt", "20151210")
        assert (refused.returncode, "metastore in use" in refused.stderr) == (4, True), refused.stderr
        assert "Traceback" not in refused.stderr
        assert "then run 'attr2hbase archive point customer --dt 20151210'" in refused.stderr
        # the pointer is the truth; the SQL location is the old one until it is repaired
        assert partition.current() == version_id
        assert hive.sql(COUNTS)[0] == ["20151210", 10, 0]
    differing = service.ingest("archive history", "customer")
    assert (differing.returncode, "differs: dt=20151210" in differing.stderr) == (0, True), differing.stderr
    assert f"next: attr2hbase archive point {service.file} customer --dt 20151210\n" in differing.stderr
    cleaned = service.ingest("admin archive cleanup", "customer", "--older-than", "0s", "--force")
    assert (cleaned.returncode, "an SQL location names it" in cleaned.stderr) == (0, True), cleaned.stderr
    pointed = service.ingest("archive point", "customer", "--dt", "20151210", "--output", "json")
    assert json.loads(pointed.stdout)["sql_changed"] == 1
    with HiveSession(tmp_path, conf) as hive:
        assert hive.sql(COUNTS) == [["20151210", 2, 100], ["20151211", 5, 10]]
        # the folder of a partition has no files, and Spark reads none below it
        hive.sql("ALTER TABLE customer DROP PARTITION (dt = '20151211')")
        hive.sql("MSCK REPAIR TABLE customer")
        assert hive.sql("SHOW PARTITIONS customer") == [["dt=20151210"], ["dt=20151211"]]
        assert hive.sql(COUNTS) == [["20151210", 2, 100]]
    repaired = service.ingest("admin archive register", "customer", "--output", "json")
    assert json.loads(repaired.stdout)["changed"] == 1, repaired.stderr
    with HiveSession(tmp_path, conf) as hive:
        assert hive.sql(COUNTS) == [["20151210", 2, 100], ["20151211", 5, 10]]
        hive.sql("DROP TABLE customer")
    # a recreated table has all partitions, not only the one of the command
    pointed = service.ingest("archive point", "customer", "--dt", "20151210", "--output", "json")
    assert json.loads(pointed.stdout)["sql_changed"] == 2, pointed.stderr
    with HiveSession(tmp_path, conf) as hive:
        assert hive.sql(COUNTS) == [["20151210", 2, 100], ["20151211", 5, 10]]
