"""CPU seconds by process and by purpose of its threads."""

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

from tests.support.local import jars

Seconds = Mapping[tuple[int, int], float]
"""(pid, thread id) -> CPU seconds so far."""
CpuByThread = dict[str, dict[str, float]]
"""Process -> purpose of its threads -> CPU seconds."""

REST = "other"
JVMS = {
    "FlinkJob.java": "Flink",
    "kafka.Kafka": "Kafka",
    "org.apache.hadoop.hbase.thrift": "Thrift server",
    "org.apache.hadoop.hbase": "HBase",
    "org.apache.flume": "Flume",
    "org.apache.spark": "Spark's JVM",
}
"""Text in the command line of a JVM, the most specific first -> name of the process."""
KINDS = {
    r"C[12] CompilerThread": "JIT compilation",
    r"G1 |GC Thread|VM Thread": "garbage collection",
    r"RpcServer\..*handler|thrift-worker|TBoundedThreadPoolServer": "calls",
    r"(short|long)Compactions": "compactions",
    r"MemStoreFlusher": "flushes",
    r"FSWAL|sync\.\d": "WAL",
    r"EventLoop|data-plane-kafka-network|data-plane-kafka-socket": "network",
    r"data-plane-kafka-request": "requests",
    r"hconnection|htable-pool|Connection-": "HBase's client",
    r"Executor task|stdout writer|stdout reader": "tasks",
    r"stream execution": "micro-batches",
    r"SinkRunner|PollingRunner": "sinks",
    r"PollableSourceRunner|SourceRunner|Source Data Fetcher": "source",
    r"\(\d+/\d+\)#\d+$": "tasks",
    r"Log-BackgroundWorker": "checkpoints",
}
"""Pattern in the name of a JVM's thread -> purpose of the thread."""
_THREAD = re.compile(r'^"(?P<name>.*?)" .*\bnid=(?P<id>0x[0-9a-f]+|\d+)', re.MULTILINE)


def seconds(processes: Iterable[psutil.Process]) -> dict[tuple[int, int], float]:
    """CPU seconds of each running thread so far."""
    found = {}
    for process in processes:
        try:
            for thread in process.threads():
                found[process.pid, thread.id] = thread.user_time + thread.system_time
        except psutil.Error:  # it has ended
            continue
    return found


def usage(processes: Iterable[psutil.Process], before: Seconds, after: Seconds) -> CpuByThread:
    """CPU seconds between two measurements, by process and by purpose of its threads."""
    found: CpuByThread = defaultdict(lambda: defaultdict(float))
    for process in processes:
        try:
            command = process.cmdline()
        except psutil.Error:
            continue
        called = _called(command)
        names = _names(process.pid) if called in JVMS.values() else {}
        for (pid, thread), used in after.items():
            if pid == process.pid:
                found[called][kind_of(names.get(thread, ""))] += used - before.get((pid, thread), 0.0)
    return {called: dict(kinds) for called, kinds in found.items()}


def kind_of(name: str) -> str:
    """Purpose of a JVM's thread with that name."""
    return next((kind for pattern, kind in KINDS.items() if re.search(pattern, name)), REST)


def _called(command: list[str]) -> str:
    line = " ".join(command)
    if Path(command[0]).name == "java":
        return next((called for part, called in JVMS.items() if part in line), "another JVM")
    if "happybase_consumer.py" in line:
        return "happybase"
    return "workers" if "pyspark.worker" in line else "driver"


def _names(pid: int) -> dict[int, str]:
    """Thread id -> name, as jcmd reports it; empty if the JVM has ended."""
    jcmd = Path(jars.java()).with_name("jcmd")
    dump = subprocess.run([jcmd, str(pid), "Thread.print"], capture_output=True, text=True, check=False).stdout
    return {int(match["id"], 0): match["name"] for match in _THREAD.finditer(dump)}
