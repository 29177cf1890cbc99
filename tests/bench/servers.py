"""The servers of the benchmarks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ingest.spark.jars import fetch
from tests.bench import hbase
from tests.bench.workload import Workload, dealt
from tests.support.hbase_cluster import HBaseCluster
from tests.support.local import HBaseServer
from tests.support.servers import HBase, Kafka, TestFolder

PARTITIONS = 4


@contextmanager
def servers(console: Console) -> Iterator[tuple[Path, Kafka, Progress]]:
    """A temporary folder, a broker without the JVM options of tests, and a progress display; fetches jars of Spark."""
    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
    )  # fmt: skip
    fetch()
    folder = TestFolder()
    kafka = Kafka(folder.path / "kafka", java_options=())
    try:
        with Progress(*columns, console=console) as progress:
            progress.add_task("starting Kafka", total=None)
            kafka.start()
            yield folder.path, kafka, progress
    finally:
        kafka.close()
        folder.close()


def produced(kafka: Kafka, events: int, progress: Progress) -> str:
    """A new topic with this number of lines."""
    progress.add_task(f"producing {events:,} lines", total=None)
    topic = kafka.create_topic("bench", partitions=PARTITIONS)
    kafka.produce(topic, dealt(Workload().lines(events), PARTITIONS))
    return topic


@contextmanager
def hbase_server(folder: Path) -> Iterator[HBase]:
    """A running HBase with the recommended settings, in this folder."""
    at = folder / "hbase"
    yield from _running(
        at, HBaseServer(at, heap=hbase.HEAP, thrift_heap=hbase.THRIFT_HEAP, properties=hbase.PROPERTIES)
    )


@contextmanager
def hbase_cluster(folder: Path) -> Iterator[HBase]:
    """A running HBase whose master and three region servers are processes of their own, with the same settings."""
    at = folder / "hbase"
    heap, properties = hbase.CLUSTER_HEAP, hbase.PROPERTIES
    yield from _running(at, HBaseCluster(at, region_servers=3, thrift2=True, heap=heap, properties=properties))


def _running(folder: Path, program: HBaseServer) -> Iterator[HBase]:
    server = HBase(folder, program)
    try:
        server.start()
        yield server
    finally:
        server.close()
