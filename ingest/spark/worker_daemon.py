"""
The process from which Spark forks its Python workers, in place of its own `pyspark.daemon`.

It imports what every task needs before it forks, so that a worker starts in a tenth of the CPU time and shares this
memory with the others; see the ADR on it. Spark imports after the fork, since a fork of a process with several threads
is unsafe; here environment variables keep numpy and pyarrow from starting any.
"""

import gc
import os
import re
import sys
from collections.abc import Container, Iterable, Mapping
from importlib import import_module
from pathlib import Path

WORKER = "pyspark.worker"
"""Spark's module of tasks with data; others list, create and plan data sources."""

PRELOADED = (
    WORKER,
    "pyspark.sql.pandas.serializers",
    "pandas",  # pyarrow imports it for the first array
    "ingest.spark.streaming.worker",
    "ingest.spark.jobs.units",
    # of almost every pipeline; a worker imports what else its plan has
    "decorators.template",
    "sinks.mapping.attr2hbase",
)

_SPARKS_JAR = re.compile(r"/spark-core_[^/]*\.jar$")
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Of numpy, and of pyarrow's jemalloc; they are read when the libraries are loaded."""


def main() -> None:
    """Fork a worker for each connection of the JVM until it closes this process's standard input."""
    sys.path[:] = without_archives(sys.path)
    daemon = import_module("pyspark.daemon")  # only now, else it would be that of an archive
    if sys.argv[1:2] == [WORKER]:
        preload()
    daemon.manager()


def without_archives(paths: Iterable[str]) -> list[str]:
    """
    A module path without the archives that Spark puts on it, if they have nothing that is not installed here.

    Python reads the directory of each archive again in every worker, and compiles a module of an archive at each
    import. They are Spark's own jar, which has no Python module, and `pyspark.zip` inside of a `pyspark` that pip has
    installed on this path: the same modules. The `pyspark.zip` of another Spark stays, also if pip has installed that
    for another Python, and so do jars of packages.
    """
    path = list(paths)
    folders = {os.path.realpath(each) for each in path}
    return [each for each in path if not _SPARKS_JAR.search(each) and not _is_installed_as_well(Path(each), folders)]


def preload() -> None:
    """Import what every task needs, without starting a thread."""
    before: Mapping[str, str | None] = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(_ONE_THREAD)
    try:
        for module in PRELOADED:
            import_module(module)
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    # a collection in a worker would copy the pages of all these objects
    gc.collect()
    gc.freeze()


def _is_installed_as_well(archive: Path, folders: Container[str]) -> bool:
    """Whether an archive is that of a package in one of these folders: `pyspark/python/lib/pyspark.zip`."""
    package = archive.parent.parent.parent
    is_of_package = archive.name == "pyspark.zip" and package.name == "pyspark" and (package / "__init__.py").is_file()
    return is_of_package and os.path.realpath(package.parent) in folders


if __name__ == "__main__":
    main()
