"""
Options of a Spark JVM that lives for a minute. Most tests of a service start one, and the start is most of their CPU.

It compiles little. It maps its classes from an archive (class data sharing) instead of reading and verifying 14,000 of
them: a start takes 5 s of CPU instead of 9. An archive has only classes of the class path, so the jars of Spark's Kafka
connector are on it, too.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ingest.spark.jars import cache_folder, fetch, required
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


RUN = """
import contextlib, re, sys, zipfile
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from ingest.cli import main

code = main(["run", "--once", "pipeline.yaml"])
java = SparkContext._jvm.java.lang
loader = java.ClassLoader.getSystemClassLoader()
for jar in sys.argv[1:]:
    for name in zipfile.ZipFile(jar).namelist():
        if name.endswith(".class") and not re.match("META-INF/|module-info|.*/shaded/", name):
            with contextlib.suppress(Py4JJavaError):  # a class that needs a library which is not there
                java.Class.forName(name.removesuffix(".class").replace("/", "."), False, loader)
sys.exit(code)
"""
"""A small run, and the classes of jars that it does not need."""


def variables() -> Mapping[str, str]:
    """
    Of the environment of each Spark: its class path is the one of the archive, and the JVM that composes the command
    of its JVM, in a third of a second, compiles little, too.
    """
    connector = os.pathsep.join(str(cache_folder() / jar.file_name) for jar in required())
    return {"SPARK_DIST_CLASSPATH": connector, "SPARK_LAUNCHER_OPTS": COMPILE_LITTLE}


def java_options() -> str:
    """
    For SPARK_SUBMIT_OPTS; without the archive while another process writes it.

    Also without it if this process has another class path, about which the JVM would print a warning: it lacks
    `variables`, or has a folder of Hadoop's configuration, which comes before these.
    """
    if not variables().items() <= os.environ.items() or "HADOOP_CONF_DIR" in os.environ:
        return COMPILE_LITTLE
    archive = _path_of_archive()
    return f"{COMPILE_LITTLE} -XX:SharedArchiveFile={archive}" if _is_written(archive) else COMPILE_LITTLE


@cache
def _path_of_archive() -> Path:
    """
    Of the classes of a small run and of the connector, for this Java and this Spark.

    A JVM ignores an archive that does not fit.
    """
    java = Path(jars.java()).resolve()
    installed = find_spec("pyspark")  # to import it takes most of the time of a small script of tests
    assert installed is not None
    assert installed.origin is not None
    spark = Path(installed.origin).resolve().parent / "jars"
    files = [(str(path), path.stat().st_mtime_ns) for path in (java, spark)]
    identity = repr([files, variables()["SPARK_DIST_CLASSPATH"]])
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
            [sys.executable, "-c", RUN, *map(str, fetch())],
            cwd=home,
            env=os.environ
            | variables()
            | {"SPARK_SUBMIT_OPTS": f"{COMPILE_LITTLE} -XX:ArchiveClassesAtExit={written}", "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert written.exists(), done.stdout
        written.rename(archive)
