"""
Options of a Spark JVM that lives for a minute. Most tests of a service start one, and the start is most of their CPU.

It compiles little. It maps its classes from an archive (class data sharing) instead of reading and verifying 12,000 of
them: a start takes 5 s of CPU instead of 9.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tests.support.environments import ROOT
from tests.support.local import jars

INSTALLED_SPARK = Path(__file__).with_name("installed_spark")
"""Folder for PYTHONPATH: Spark's Python processes import `pyspark` as it is installed."""
COMPILE_LITTLE = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
PIPELINE = """\
version: 1
state_dir: ./state
service: {http: {listen: "127.0.0.1:0"}}
spark: {master: "local[2,4]"}
stores: {kept: {rocksdb: {path: ./store}}}
pipelines:
  lines:
    source: {files: {path: "./*.log"}}
    decorators:
      - value: {attribute: 2hb_, value: "%{offset}"}
      - value: {attribute: "2hb_f:line", value: "%{body}"}
    sinks: [attr2hbase: {table: lines}]
"""


def java_options() -> str:
    """For SPARK_SUBMIT_OPTS; without the archive while another process writes it."""
    archive = _path_of_archive()
    return f"{COMPILE_LITTLE} -XX:SharedArchiveFile={archive}" if _is_written(archive) else COMPILE_LITTLE


@cache
def _path_of_archive() -> Path:
    """Of the classes of a small run, for this Java and this Spark; a JVM ignores an archive that does not fit."""
    java = Path(jars.java()).resolve()
    installed = find_spec("pyspark")  # to import it takes most of the time of a small script of tests
    assert installed is not None
    assert installed.origin is not None
    spark = Path(installed.origin).resolve().parent / "jars"
    identity = repr([(str(path), path.stat().st_mtime_ns) for path in (java, spark)])
    folder = jars.cache_folder() / "spark-classes"
    return folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:12]}.jsa"


def _is_written(archive: Path) -> bool:
    """Whether an archive is there; the first caller writes it, and the others do not wait half a minute for it."""
    if archive.exists():
        return True
    archive.parent.mkdir(parents=True, exist_ok=True)
    with archive.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        if not archive.exists():
            _write(archive)
    return True


def _write(archive: Path) -> None:
    with tempfile.TemporaryDirectory(dir=archive.parent) as temporary:
        home, written = Path(temporary), Path(temporary) / "classes.jsa"
        (home / "pipeline.yaml").write_text(PIPELINE)
        (home / "a.log").write_text("a line\n")
        # Java writes it as it ends; until then it holds the output that it has inherited
        done = subprocess.run(
            [sys.executable, "-m", "ingest", "run", "--once", "pipeline.yaml"],
            cwd=home,
            env=os.environ
            | {"SPARK_SUBMIT_OPTS": f"{COMPILE_LITTLE} -XX:ArchiveClassesAtExit={written}", "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert written.exists(), done.stdout
        written.rename(archive)
