"""The Spark session."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self, Unpack

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from ingest.api import NotFoundError
from ingest.observe.drain import caught_stderr
from ingest.spark.errors import JVM_GONE
from ingest.spark.late_processes import WithoutLateProcesses
from ingest.spark.settings import SessionOptions, session_settings, with_usable_sockets
from ingest.spark.signals import interrupt_held, stop_signals_ignored_by_children

STOP_S = 5.0  # Spark usually stops within a second


def open_session(name: str, **options: Unpack[SessionOptions]) -> SparkSession:
    """
    The session that all pipelines of a service share.

    Under spark-submit (PYSPARK_GATEWAY_PORT is set) the JVM already runs; master, memory and jars are those given to
    spark-submit.

    Args:
        name: of the application.
        options: of the session.

    Raises:
        ConfigError: `conf` changes a Spark setting that the pipelines depend on.
        NotFoundError: Java is not installed or did not start.
    """
    settings = start_java(name, **options)
    master = settings.get("spark.master") or str(SparkConf().get("spark.master", ""))  # the latter of spark-submit
    settings = with_usable_sockets(settings, master, _temporary_folder())
    interrupted = signal.getsignal(signal.SIGINT)
    with caught_stderr():
        try:
            SparkContext.getOrCreate(SparkConf().setAll(list(settings.items())))
        except KeyboardInterrupt:
            _kill_java(SparkContext)  # one that ends by itself now would log that it cannot create the context
            raise
        if threading.current_thread() is threading.main_thread():
            # PySpark's SIGINT handler cancels all jobs; the previous handler lets the running batch finish. It is back
            # before the session is created: a call of the JVM within a call of the JVM fails, and py4j logs that
            signal.signal(signal.SIGINT, interrupted)
        return SparkSession.builder.config(map={**settings}).getOrCreate()


def start_java(name: str, **options: Unpack[SessionOptions]) -> dict[str, str]:
    """
    Start the JVM of a session, if this process has none yet; arguments and errors as in `open_session`.

    Returns:
        The settings of the session.
    """
    settings = session_settings(name, is_submitted=is_submitted(), **options)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if not is_submitted() and settings["spark.master"].startswith("local"):
        # else Spark resolves the host name, and warns if that is the loopback address
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    try:
        with caught_stderr(WithoutLateProcesses()), interrupt_held(), stop_signals_ignored_by_children():
            # PySpark puts all settings that it has at this point on Java's command line
            SparkContext._ensure_initialized(  # noqa: SLF001 - there is no public way to start Java alone
                conf=SparkConf().setAll([each for each in settings.items() if each[0] not in options["secret_names"]])
            )
    except PySparkRuntimeError as error:
        raise NotFoundError(
            f"Spark's Java process did not start: {error}",
            hint="see Java's message above; Java 17 is required (`apt-get install openjdk-17-jre-headless`)",
        ) from error
    return settings


def _temporary_folder() -> str:
    """Of the JVM of this process."""
    jvm: Any = SparkContext._jvm  # noqa: SLF001 - PySpark has no public way to its JVM before a session
    return str(jvm.java.lang.System.getProperty("java.io.tmpdir"))


def max_tasks(session: SparkSession) -> int | None:
    """Number of tasks that can run at a time; None on a cluster, where the number of executors changes."""
    context = session.sparkContext
    return context.defaultParallelism if str(context.master).startswith("local") else None


def task_memory_bytes(session: SparkSession) -> int:
    """The heap of the JVMs in which tasks run: of the driver's, or of each executor on a cluster."""
    context: Any = session.sparkContext  # PySpark has no public API for this
    if str(context.master).startswith("local"):
        return int(context._jvm.java.lang.Runtime.getRuntime().maxMemory())  # noqa: SLF001
    return int(context._jsc.sc().executorMemory()) << 20  # noqa: SLF001


def has_jars(session: SparkSession, jars: Iterable[Path]) -> bool:
    """Whether a session that `open_session` has opened was given these jars."""
    given = session.sparkContext.getConf().get("spark.jars", "") or ""
    return {str(jar) for jar in jars} <= set(given.split(","))


class JobGroup:
    """
    The Spark jobs that one thread starts in a block, so that another thread can cancel them. Each instance is a group
    of its own.

    Args:
        description: of the jobs, for Spark's UI.
    """

    def __init__(self, session: SparkSession, description: str) -> None:
        self._context = session.sparkContext
        self._description = description
        self._id = f"attr2hbase-{uuid.uuid4()}"

    def __enter__(self) -> Self:
        self._context.setJobGroup(self._id, self._description, interruptOnCancel=True)
        return self

    def __exit__(self, *_exception: object) -> None:
        with contextlib.suppress(*JVM_GONE):
            for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
                self._context.setLocalProperty(name, None)  # type: ignore[arg-type] # None removes it

    def cancel(self) -> None:
        """Cancel the jobs that run and those that start later, without waiting for a JVM that does not answer."""
        threading.Thread(target=self._cancel, name="cancel-jobs", daemon=True).start()

    def _cancel(self) -> None:
        with contextlib.suppress(*JVM_GONE, AttributeError):  # AttributeError: this process has stopped the context
            # PySpark has no method for this; `cancelJobGroup` misses a job that starts just after it (SPARK-46021)
            self._context._jsc.sc().cancelJobGroupAndFutureJobs(self._id)  # noqa: SLF001


def is_submitted() -> bool:
    """Whether spark-submit started this process, so that a JVM is already there."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def close_session(session: SparkSession) -> None:
    """Stop Spark; kill our JVM if it does not answer, so that a suspended JVM cannot resume its work later."""
    thread = threading.Thread(target=_stop, args=(session,), name="stop-session", daemon=True)
    context = session.sparkContext
    thread.start()
    thread.join(STOP_S)
    if thread.is_alive():
        _kill_java(context)


def forget_java() -> None:
    """End the JVM of the last session, if it still runs, so that the next session of this process starts another."""
    gateway: Any = SparkContext._gateway  # noqa: SLF001 - PySpark keeps a JVM for ever; there is no public way
    if gateway is not None:
        with contextlib.suppress(*JVM_GONE):
            gateway.shutdown()
        _end_java(getattr(gateway, "proc", None))
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None  # noqa: SLF001
    SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001


def _end_java(process: subprocess.Popen[bytes] | None) -> None:
    """End a JVM that PySpark has started: it ends with its standard input."""
    if process is None:
        return
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _kill_java(context: SparkContext | type[SparkContext]) -> None:
    """Kill the JVM if this process started it."""
    process = None if is_submitted() else getattr(context._gateway, "proc", None)  # noqa: SLF001 - as below
    if process is not None:
        process.kill()


def _stop(session: SparkSession) -> None:
    with contextlib.suppress(*JVM_GONE):  # a signal may have ended the JVM of spark-submit before it was forwarded
        session.stop()


def is_alive(session: SparkSession) -> bool:
    """Whether the JVM behind a session still runs and has not stopped its context."""
    context: SparkContext = session.sparkContext
    try:
        return not context._jsc.sc().isStopped()  # noqa: SLF001 - PySpark has no public API for this
    except (*JVM_GONE, AttributeError):  # AttributeError: this process has stopped the context
        return False
