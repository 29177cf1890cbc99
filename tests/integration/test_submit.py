"""
The command of `attr2hbase submit --print` runs the service under spark-submit, with local[2,4] and on a standalone
cluster; it is stopped under load by SIGTERM to the pid of spark-submit, which completes the running batch, and
restarted on the cluster.
"""

import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.support import ticks
from tests.support.audit import Table, assert_holds, assert_same_table, hbase_table, rocksdb_table, table_of
from tests.support.names import unique
from tests.support.servers import HBase, Kafka
from tests.support.service import ROOT, Service
from tests.support.spark_cluster import BARE, SparkCluster
from tests.support.ticks import Ticks

PIPELINE = "ticks"
COUNT = 7_500
BATCH = 500


@pytest.fixture(scope="module")
def topic(kafka: Kafka) -> Ticks:
    return Ticks.produced(kafka, COUNT)


@pytest.fixture(scope="module")
def cluster(servers_folder: Path) -> Iterator[SparkCluster]:
    cluster = SparkCluster(servers_folder / "spark")
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def test_printed_command_works_on_local_cores(kafka: Kafka, topic: Ticks, tmp_path: Path) -> None:
    content: dict[str, Any] = {
        "stores": {"target": ticks.rocksdb(tmp_path / "store")},
        "tables": {"mytable": ticks.table("target")},
        "spark": {"master": "local[2,4]"},
    }
    with Service(tmp_path, content) as service:
        check_stop_and_restart(
            service,
            content,
            kafka,
            topic,
            lambda: rocksdb_table(tmp_path / "store", "mytable"),
            "mytable",
            "target",
            restarts=False,
        )


@pytest.mark.slow
@pytest.mark.one_protocol("the submitted command is tested")
def test_printed_command_works_on_a_standalone_cluster(
    kafka: Kafka, hbase: HBase, topic: Ticks, cluster: SparkCluster, tmp_path: Path
) -> None:
    table = unique("submitted")
    content = cluster_content(cluster, hbase, table)
    with Service(tmp_path, content) as service:
        check_stop_and_restart(service, content, kafka, topic, lambda: hbase_table(hbase, table), table, "target")


@pytest.mark.slow
@pytest.mark.one_protocol("the submitted command is tested")
def test_packed_environment_is_enough_for_driver_and_executors(
    kafka: Kafka, hbase: HBase, topic: Ticks, servers_folder: Path, tmp_path: Path
) -> None:
    """Neither has the packages of this environment on its module path."""
    cluster = SparkCluster(servers_folder / "bare-spark", has_product=False)
    table = unique("packed")
    content = cluster_content(cluster, hbase, table)
    archive = tmp_path / "environment.tar.gz"
    machine = tmp_path / "machine"
    variables = {**BARE, "SPARK_HOME": str(Path(pyspark.__file__).parent), "PATH": "/usr/local/bin:/usr/bin:/bin"}

    def from_unpacked_archive(service: Service) -> list[str]:
        packed = service.ingest("submit", "--print", "--archive", str(archive), timeout_s=600)
        assert packed.returncode == 0, packed.stderr
        with tarfile.open(archive) as content:
            content.extractall(machine, filter="data")
        here = [str(ROOT).encode(), sys.prefix.encode()]
        for path in machine.rglob("*"):
            assert not path.is_file() or not any(each in path.read_bytes() for each in here), path
        command = ["submit", str(service.file), "--archive", str(archive)]
        return ["env", *(f"{name}={value}" for name, value in variables.items()), f"{machine}/bin/attr2hbase", *command]

    try:
        cluster.start()
        with Service(tmp_path, content) as service:
            check_stop_and_restart(
                service,
                content,
                kafka,
                topic,
                lambda: hbase_table(hbase, table),
                table,
                "target",
                command_of=from_unpacked_archive,
            )
            assert f"{archive} is up to date" in service.log.read_text()
        assert list(cluster.folder.glob("worker*/app-*/*/environment/bin/python"))
    finally:
        cluster.stop()
        for folder in (cluster.folder, machine):  # some gigabytes
            shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_rocksdb_is_refused_if_the_command_line_names_a_cluster(cluster: SparkCluster, tmp_path: Path) -> None:
    """The pipeline file has a local master, so the cluster is known only after the start."""
    (tmp_path / "in").mkdir()
    content = {
        "stores": {"target": ticks.rocksdb(tmp_path / "store")},
        "pipelines": {
            PIPELINE: {
                "source": {"files": {"path": "./in"}},
                "decorators": [{"value": {"attribute": "2hb_", "value": "%{topic}:%{offset}"}}],
                "sinks": [{"attr2hbase": {"table": "mytable"}}],
            }
        },
    }
    with Service(tmp_path, content) as service:
        printed = service.ingest("submit", "--print").stdout
        assert "'local[2,4]'" in printed
        service.start_command(["bash", "-c", f"exec {printed.replace(repr('local[2,4]'), cluster.master)}"])
        assert service.wait_for_exit(120) == 2, service.last_lines()
        # spark-submit may forward the message to either stream
        assert 'store "target" is embedded' in service.out.read_text() + service.log.read_text()


def cluster_content(cluster: SparkCluster, hbase: HBase, table: str) -> dict[str, Any]:
    """A pipeline file without its pipeline, for a cluster and a table in HBase."""
    return {
        "stores": {"target": {"hbase": {"host": hbase.host, "port": hbase.port}}},
        "tables": {table: ticks.table("target")},
        "spark": {
            "master": cluster.master,
            "conf": {"spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1"},
        },
    }


def printed_command(service: Service) -> list[str]:
    """The printed command, as if pasted into a shell."""
    printed = service.ingest("submit", "--print")
    assert printed.returncode == 0, printed.stderr
    return ["bash", "-c", f"exec {printed.stdout}"]


def check_stop_and_restart(
    service: Service,
    content: Mapping[str, Any],
    kafka: Kafka,
    topic: Ticks,
    found: Callable[[], Table],
    table: str,
    store: str,
    *,
    command_of: Callable[[Service], list[str]] = printed_command,
    restarts: bool = True,
) -> None:
    group = unique("submitted")
    pipeline = ticks.pipeline(kafka, topic.topic, store, table, group=group, max_events_per_batch=BATCH)
    service.write({**content, "pipelines": {PIPELINE: pipeline}})
    applied = service.command("table apply")
    assert applied.returncode == 0, applied.stderr
    command = command_of(service)

    service.start_command(command)
    service.wait_for_batches(3, PIPELINE, 600)  # an archive is sent and unpacked
    service.wait_for_state("running", PIPELINE)
    assert service.metric("attr2hbase_events_stored_total", pipeline=PIPELINE) >= BATCH
    assert service.stop() == 0, service.last_lines()
    service.wait_until_gone(60)
    checkpoint = service.checkpoint(PIPELINE)
    acknowledged = checkpoint.acknowledged(topic.topic)
    assert acknowledged != topic.ends, "it was not stopped under load"
    assert not checkpoint.is_inside_a_batch(), "the running batch was abandoned"
    assert kafka.committed(group, topic.topic) == acknowledged
    assert_holds(expected(service, topic), found())
    if not restarts:
        return

    service.start_command(command)
    service.wait_for_offsets(topic.ends, PIPELINE, topic.topic)
    service.wait_for(
        lambda: kafka.committed(group, topic.topic) == topic.ends, "the group to be at the end", timeout_s=15
    )
    assert service.stop() == 0, service.last_lines()
    service.wait_until_gone(60)
    table_found = found()
    assert len(table_found) == topic.count
    assert_same_table(expected(service, topic), table_found)


def expected(service: Service, topic: Ticks) -> Table:
    return table_of(topic.expected(service.checkpoint(PIPELINE), "t"), "t", versions=ticks.VERSIONS)
