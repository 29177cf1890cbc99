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
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

WORKER = "pyspark.worker"
"""Spark's module of tasks with data; others list, create and plan data sources."""

PRELOADED = (
    WORKER,
    "pyspark.sql.pandas.serializers",
    "pandas",  # pyarrow imports it for the first array
    "ingest.spark.streaming.worker",
    "ingest.spark.jobs.slices",
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
    daemon: Any = import_module("pyspark.daemon")  # only now, else it would be that of an archive
    if sys.argv[1:2] == [WORKER]:
        preload()
    daemon.worker = ending_quietly(daemon.worker)
    daemon.manager()


def ending_quietly(worker: Callable[[Any, bool], int]) -> Callable[[Any, bool], int]:
    """
    The function that serves the connection of a worker, without a traceback if the JVM closes it.

    The JVM does so when it ends or gives a task up, and knows about it. Spark's daemon prints the traceback of the
    failed flush, and the JVM, which copies it to the log, may have ended after its first line.

    Args:
        worker: serves a connection; returns 0 if it can serve another task, else the exit code.
    """

    def serve(connection: Any, authenticated: bool) -> int:  # noqa: FBT001 - as Spark's daemon calls it
        try:
            return worker(connection, authenticated)
        except (BrokenPipeError, ConnectionResetError):
            return 1

    return serve


def without_archives(paths: Iterable[str]) -> list[str]:
    """
    A module path without the archives that Spark puts on it, if the same modules are imported without them.

    Python reads the directory of each archive again in every worker, and compiles a module of an archive at each
    import. They are Spark's own jar, which has no Python module, and `pyspark.zip` inside of a `pyspark` that pip has
    installed on this path. The `pyspark.zip` of another Spark stays, also if pip has installed that for another Python,
    and so do jars of packages.
    """
    kept = [each for each in paths if not _SPARKS_JAR.search(each)]
    for archive in [each for each in kept if each.endswith("/pyspark.zip")]:
        others = [each for each in kept if each != archive]
        if _is_imported_from(Path(archive).parent.parent.parent, others):
            kept = others
    return kept


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


def _is_imported_from(package: Path, path: list[str]) -> bool:
    """Whether `import pyspark` takes this folder, the one of `pyspark/python/lib/pyspark.zip`, from a module path."""
    found = PathFinder.find_spec("pyspark", path)
    origin = None if found is None else found.origin
    with suppress(OSError):
        return origin is not None and Path(origin).parent.samefile(package)
    return False


if __name__ == "__main__":
    main()
