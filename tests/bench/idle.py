"""
CPU and memory of a service that has nothing to do, for docs/operations/sizing.md: `python -m tests.bench.idle`.

It reads an empty topic into RocksDB. The first minute, in which Java compiles, does not count.
"""

import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from ingest.spark.jars import fetch
from tests.support import ticks
from tests.support.names import unique
from tests.support.servers import Kafka
from tests.support.service import START_S, Service

WARM_UP_S, MEASURED_S = 60.0, 120.0
PIPELINES = (1, 5)
EVERY = ("0s", "1s")


def main() -> None:
    """Print a line for each number of pipelines and interval."""
    console = Console()
    fetch()
    with tempfile.TemporaryDirectory(prefix="attr2hbase-idle-") as name:
        kafka = Kafka(Path(name) / "kafka")
        try:
            kafka.start()
            for every in EVERY:
                for count in PIPELINES:
                    cores, mib = measured(kafka, Path(name) / f"{count}-{every}", count, every)
                    console.print(f"{count} pipelines, every {every}: {cores:.3f} cores, {mib:,.0f} MiB")
        finally:
            kafka.close()


def measured(kafka: Kafka, folder: Path, count: int, every: str) -> tuple[float, float]:
    """Cores and resident MiB of all processes of the service."""
    topic = kafka.create_topic("idle", partitions=4)
    pipelines = {
        f"p{number}": ticks.pipeline(kafka, topic, "embedded", "t", group=unique("group"), trigger={"every": every})
        for number in range(count)
    }
    content = {"stores": {"embedded": ticks.rocksdb(folder / "store")}, "pipelines": pipelines}
    with Service(folder, content) as service:
        service.start()
        for pipeline in pipelines:
            service.wait_for_state("running", pipeline, START_S)
        time.sleep(WARM_UP_S)
        before_s, began = cpu_s(service), time.monotonic()
        time.sleep(MEASURED_S)
        cores = (cpu_s(service) - before_s) / (time.monotonic() - began)
        return cores, sum(process.memory_info().rss for process in service.processes()) / 2**20


def cpu_s(service: Service) -> float:
    """CPU seconds of all processes of the service; those that have ended count with their parents."""
    return sum(sum(process.cpu_times()[:4]) for process in service.processes())


if __name__ == "__main__":
    sys.exit(main())
