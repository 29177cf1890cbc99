"""Who has the CPU: seconds by process and by what its threads are for."""

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

from tests.support.local import jars

Seconds = Mapping[tuple[int, int], float]
"""Of CPU so far, by process and thread."""
Shares = dict[str, dict[str, float]]
"""Seconds by process, then by what they went for."""

REST = "the rest"
JVMS = {
    "kafka.Kafka": "Kafka",
    "org.apache.hadoop.hbase.thrift": "Thrift server",
    "org.apache.hadoop.hbase": "HBase",
    "org.apache.flume": "Flume",
    "org.apache.spark": "Spark's JVM",
}
"""What stands in the command line of a JVM, the special before the general -> what it is called."""
KINDS = {
    r"C[12] CompilerThread": "compiling",
    r"G1 |GC Thread|VM Thread": "collecting garbage",
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
    r"PollableSourceRunner|SourceRunner": "source",
    r"Log-BackgroundWorker": "checkpoints",
}
"""Pattern in the name of a thread of a JVM -> what it is for."""
_THREAD = re.compile(r'^"(?P<name>.*?)" .*\bnid=(?P<id>0x[0-9a-f]+|\d+)', re.MULTILINE)


def seconds(processes: Iterable[psutil.Process]) -> dict[tuple[int, int], float]:
    """What each thread that runs has used by now."""
    found = {}
    for process in processes:
        try:
            for thread in process.threads():
                found[process.pid, thread.id] = thread.user_time + thread.system_time
        except psutil.Error:  # it ended: what it used is nobody's
            continue
    return found


def shares(processes: Iterable[psutil.Process], before: Seconds, after: Seconds) -> Shares:
    """What was used between two looks, by process and by what its threads are for."""
    found: Shares = defaultdict(lambda: defaultdict(float))
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
    """What a JVM's thread of that name is for."""
    return next((kind for pattern, kind in KINDS.items() if re.search(pattern, name)), REST)


def _called(command: list[str]) -> str:
    line = " ".join(command)
    if Path(command[0]).name == "java":
        return next((called for part, called in JVMS.items() if part in line), "another JVM")
    return "workers" if "pyspark.daemon" in line else "driver"


def _names(pid: int) -> dict[int, str]:
    """Thread -> its name, as the JVM tells; nothing of one that ended."""
    jcmd = Path(jars.java()).with_name("jcmd")
    dump = subprocess.run([jcmd, str(pid), "Thread.print"], capture_output=True, text=True, check=False).stdout
    return {int(match["id"], 0): match["name"] for match in _THREAD.finditer(dump)}
