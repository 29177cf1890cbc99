"""HBase's own load test as a peer."""

import re
import subprocess
from pathlib import Path

from tests.bench.peer import OPENED
from tests.support.local import jars
from tests.support.servers import HBase

_RATE = re.compile(r"Summary of timings \(ms\): \[(?P<timings>[\d, ]+)\]")
PE_S = 600.0
_LOGS = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%m%n
"""
"""It writes its timings only to its log."""


def performance_evaluation(hbase: HBase, rows: int, clients: int) -> float:
    """
    Rows per second that HBase's PerformanceEvaluation writes through HBase's Java client: random rows of nine columns
    of 20 bytes.

    Args:
        hbase: the server.
        rows: number of rows of each client.
        clients: number of threads.

    Raises:
        RuntimeError: it failed, or its output has no timings.
    """
    class_path = jars.class_path("performance-evaluation", Path(__file__).parent)
    logs = hbase.server.folder / "performance-evaluation.properties"
    logs.write_text(_LOGS)
    command = [
        jars.java(), "-Xmx1g", *OPENED, f"-Dlog4j.configuration=file:{logs}",
        "-cp", f"{hbase.server.folder / 'conf'}:{class_path}",
        "org.apache.hadoop.hbase.PerformanceEvaluation", "--nomapred", f"--rows={rows}", "--valueSize=20",
        "--columns=9", "randomWrite", str(clients),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=PE_S, check=False)
    found = _RATE.search(done.stdout + done.stderr)
    if done.returncode != 0 or found is None:
        raise RuntimeError(f"PerformanceEvaluation ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    longest_ms = max(int(part) for part in found["timings"].split(","))
    return rows * clients / (longest_ms / 1000)
