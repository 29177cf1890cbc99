"""The Spark session, and the settings that the pipelines depend on."""

import contextlib
import os
import re
import signal
import sys
import threading
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from ingest.api import ConfigError, NotFoundError
from ingest.observe.drain import caught_stderr
from ingest.observe.logs import logger
from ingest.spark.master import DEFAULT_MASTER
from ingest.spark.signals import ignore_signals, interrupt_held
from ingest.spark.streaming.rows import ARROW_BYTES, ARROW_ROWS
from ingest.spark.streaming.timed_caller import JVM_GONE

REQUIRED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_ROWS),
    "spark.sql.execution.arrow.maxBytesPerBatch": str(ARROW_BYTES),
    # live pipelines, compiled patterns and store connections stay in the worker process
    "spark.python.worker.reuse": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # a first batch that was killed during planning leaves part of a file, which must not prevent a restart;
    # `Checkpoint` verifies the folder
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
    # speculation would write every slow partition twice
    "spark.speculation": "false",
}

LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}

_CHECKPOINT_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"

_SOCKETS = "spark.python.unix.domain.socket.enabled"
_SOCKET_FOLDER = "spark.python.unix.domain.socket.dir"
_MAX_SOCKET_FOLDER = 61
"""
Longest path, in bytes, of a folder with sockets: of the 104 that a path may have on every Unix, Spark's names take 43.
Source: the limit that Spark 4.2 has for `spark.python.unix.domain.socket.dir`.
"""

DEFAULTS = {
    "spark.python.daemon.module": "ingest.spark.worker_daemon",
    # Spark's default starts two processes for each file that it writes, which takes 30 ms
    "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINT_FILES,
    # over TCP a small batch waits 40 ms for a delayed ACK on its way to a worker and back
    _SOCKETS: "true",
    # how long a stream without new records waits before it asks its source again; 10 ms is Spark's default
    "spark.sql.streaming.pollingDelay": "50ms",
    # each attempt of a blocked micro-batch leaves what its tasks have fetched and not read; with large events, five
    # minutes of it (Spark's default) exhaust the memory of the JVM
    "spark.kafka.consumer.fetchedData.cache.timeout": "5s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "5s",
    # files of a checkpoint; Hadoop sets their permissions itself, whatever the umask of the process
    "spark.hadoop.fs.permissions.umask-mode": "077",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

_REDACTION = "spark.redaction.regex"
DEFAULT_REDACTION = "(?i)secret|password|token|access[.]?key"  # Spark's default

STOP_S = 5.0  # Spark usually stops within a second

_log = logger(__name__)


class SessionOptions(TypedDict):
    """
    Options of a session.

    Attributes:
        master: DEFAULT_MASTER if None.
        driver_memory_bytes: Spark's default if None.
        conf: Spark settings.
        secret_names: names in `conf` whose values contain a secret; these values are not on any command line, and
            Spark's UI and event log redact them.
        jars: for driver and executors.
        java_properties: system properties of their JVMs.
    """

    master: str | None
    driver_memory_bytes: int | None
    conf: Mapping[str, str]
    secret_names: Collection[str]
    jars: Sequence[Path]
    java_properties: Mapping[str, str]


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
    Start the JVM of a session, if this process has none yet; arguments and errors as of `open_session`.

    Returns:
        The settings of the session.
    """
    conf, secret_names = options["conf"], options["secret_names"]
    for key, value in conf.items():
        if REQUIRED.get(key, value) != value:
            raise ConfigError(
                f'spark.conf may not set "{key}" to "{value}"', hint=f'the pipelines need "{REQUIRED[key]}"'
            )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    settings = {"spark.app.name": name} | DEFAULTS | dict(conf) | REQUIRED
    if secret_names:
        settings[_REDACTION] = _redaction(settings.get(_REDACTION, DEFAULT_REDACTION), secret_names)
    if not is_submitted():
        chosen = options["master"] or DEFAULT_MASTER
        if chosen.startswith("local"):
            settings = LOCAL | settings
            # else Spark resolves the host name, and warns if that is the loopback address
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        java_properties = options["java_properties"]
        add_properties(settings, "spark.driver.extraJavaOptions", quiet_properties() | dict(java_properties))
        add_properties(settings, "spark.executor.extraJavaOptions", java_properties)
        settings["spark.master"] = chosen
        if options["driver_memory_bytes"] is not None:
            # in KiB: passed to Java, which has no suffix for bytes
            settings["spark.driver.memory"] = f"{options['driver_memory_bytes'] // 1024}k"
        if options["jars"]:
            settings["spark.jars"] = ",".join(str(jar) for jar in options["jars"])
    try:
        with caught_stderr(), interrupt_held():
            # PySpark puts all settings that it has at this point on Java's command line
            SparkContext._ensure_initialized(  # noqa: SLF001 - there is no public way to start Java alone
                conf=SparkConf().setAll([each for each in settings.items() if each[0] not in secret_names])
            )
            if not is_submitted():
                ignore_signals()  # held too: at its first call PySpark imports modules, and swallows an interrupt
    except PySparkRuntimeError as error:
        raise NotFoundError(
            f"Spark's Java process did not start: {error}",
            hint="see Java's message above; Java 17 is required (`apt-get install openjdk-17-jre-headless`)",
        ) from error
    return settings


def with_usable_sockets(settings: dict[str, str], master: str, folder: str) -> dict[str, str]:
    """
    The settings of a session, with TCP between Spark and its Python workers if the paths of Unix sockets would be too
    long, so that no worker could start.

    Args:
        settings: of the session.
        master: of the session; the containers of YARN have temporary folders with paths of over 100 bytes.
        folder: for temporary files of the JVM; Spark puts the sockets there.
    """
    if settings.get(_SOCKETS) != "true" or _SOCKET_FOLDER in settings:
        return settings
    if master.startswith("yarn"):
        return settings | {_SOCKETS: "false"}
    if len(os.fsencode(folder)) <= _MAX_SOCKET_FOLDER:
        return settings
    _log.warning(
        "the path of the temporary folder is too long for Unix sockets; Spark uses TCP, which is slower",
        folder=folder,
        limit_bytes=_MAX_SOCKET_FOLDER,
        hint=f"set a shorter java.io.tmpdir, or {_SOCKET_FOLDER} under spark: conf",
    )
    return settings | {_SOCKETS: "false"}


def _temporary_folder() -> str:
    """Of the JVM of this process."""
    jvm: Any = SparkContext._jvm  # noqa: SLF001 - PySpark has no public way to its JVM before a session
    return str(jvm.java.lang.System.getProperty("java.io.tmpdir"))


def _redaction(pattern: str, secret_names: Collection[str]) -> str:
    """The pattern with more names to redact; Spark matches Hadoop settings without their prefix."""
    names = sorted(re.escape(name.removeprefix("spark.hadoop.")) for name in secret_names)
    return "|".join([pattern, *names])


def quiet_properties() -> dict[str, str]:
    """System properties that limit the log of Spark's JVM to errors."""
    return {"log4j2.configurationFile": Path(__file__).with_name("log4j2.properties").as_uri()}


def add_properties(settings: dict[str, str], name: str, properties: Mapping[str, str]) -> None:
    """Add system properties of a JVM, before the options that the configuration has for it."""
    options = [f"-D{key}={value}" for key, value in properties.items()]
    if options:
        settings[name] = " ".join([*options, *([settings[name]] if name in settings else [])])


def max_tasks(session: SparkSession) -> int | None:
    """Number of tasks that can run at a time; None on a cluster, where the number of executors changes."""
    context = session.sparkContext
    return context.defaultParallelism if str(context.master).startswith("local") else None


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
