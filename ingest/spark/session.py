"""The Spark session: settings the pipelines depend on, each set where it takes effect."""

import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from ingest.api import ConfigError, NotFoundError
from ingest.observe.drain import caught_stderr
from ingest.spark.streaming.files_reader import FilesDataSource
from ingest.spark.streaming.rows import ARROW_BYTES, ARROW_ROWS
from ingest.spark.streaming.timed_caller import JVM_GONE

REQUIRED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_ROWS),
    "spark.sql.execution.arrow.maxBytesPerBatch": str(ARROW_BYTES),
    # live chains, compiled patterns and store connections stay in the worker process
    "spark.python.worker.reuse": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # half a file of a first batch that was killed while it was planned is no reason to never start again; whose the
    # folder is, and that it is whole, is what Checkpoint looks after
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
    # speculation would write every slow partition twice
    "spark.speculation": "false",
}

LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}

_CHECKPOINT_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"

DEFAULTS = {
    # Spark's own choice starts a process twice for each file it writes to a folder, which takes 30 ms
    "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINT_FILES,
    # over TCP a small batch waits 40 ms for an acknowledgement of the kernel's, on its way to a worker and back
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

_REDACTION = "spark.redaction.regex"
DEFAULT_REDACTION = "(?i)secret|password|token|access[.]?key"  # Spark's own

STOP_S = 5.0  # Spark stops in a second

DEFAULT_MASTER = "local[*,4]"  # plain local[*] gives up when one worker process is killed


def open_session(
    name: str,
    *,
    master: str | None,
    driver_memory_bytes: int | None,
    conf: Mapping[str, str],
    secret_names: Collection[str],
    jars: Sequence[Path],
    java_properties: Mapping[str, str],
) -> SparkSession:
    """
    The session all pipelines of a service share.

    Under spark-submit (SPARK_ENV_LOADED is set and a gateway waits) the JVM already runs: master, memory and jars
    were given there and are left alone.

    Args:
        name: of the application.
        master: DEFAULT_MASTER when None.
        driver_memory_bytes: Spark's default when None.
        conf: Spark's settings.
        secret_names: those of `conf` whose values hold a secret: they are on no command line, and Spark's interface and
            event log show stars for them.
        jars: for driver and executors.
        java_properties: system properties of their JVMs.

    Raises:
        ConfigError: the configuration sets a Spark setting the pipelines depend on.
        NotFoundError: there is no Java, or it did not start.
    """
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
        chosen = master or DEFAULT_MASTER
        if chosen.startswith("local"):
            settings = LOCAL | settings
            # else Spark looks up the host's name, and warns when it finds the loopback address
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        add_properties(settings, "spark.driver.extraJavaOptions", quiet_properties() | dict(java_properties))
        add_properties(settings, "spark.executor.extraJavaOptions", java_properties)
        settings["spark.master"] = chosen
        if driver_memory_bytes is not None:
            # in KiB: Java, which gets it as it is, knows no suffix for bytes
            settings["spark.driver.memory"] = f"{driver_memory_bytes // 1024}k"
        if jars:
            settings["spark.jars"] = ",".join(str(jar) for jar in jars)
    interrupted = signal.getsignal(signal.SIGINT)
    try:
        with caught_stderr():
            # PySpark puts all settings that it has by then on the command line of Java
            SparkContext._ensure_initialized(  # noqa: SLF001 - there is no public way to start Java alone
                conf=SparkConf().setAll([each for each in settings.items() if each[0] not in secret_names])
            )
            session = SparkSession.builder.config(map=dict(settings)).getOrCreate()
    except PySparkRuntimeError as error:
        raise NotFoundError(
            f"Spark's Java process did not start: {error}",
            hint="its own message stands above; Java 17 is needed (`apt-get install openjdk-17-jre-headless`)",
        ) from error
    if threading.current_thread() is threading.main_thread():
        # PySpark takes SIGINT for itself and drops all jobs; ours lets the running batch finish first
        signal.signal(signal.SIGINT, interrupted)
    if not is_submitted():
        _leave_signals_to_us(session.sparkContext)
    session.dataSource.register(FilesDataSource)
    return session


def _redaction(pattern: str, secret_names: Collection[str]) -> str:
    """A pattern for the names Spark hides, with some more; Hadoop's settings lose their prefix before Spark asks."""
    names = sorted(re.escape(name.removeprefix("spark.hadoop.")) for name in secret_names)
    return "|".join([pattern, *names])


def _leave_signals_to_us(context: SparkContext) -> None:
    """
    Make our JVM ignore SIGTERM and SIGHUP, which systemd, `timeout` and a terminal send to all processes.

    The running batch needs the JVM. It ends when its standard input does, and that is ours, however we end.
    """
    java = context._jvm.sun.misc  # type: ignore[union-attr]  # noqa: SLF001 - PySpark does this for SIGINT alone
    for name in ("TERM", "HUP"):
        java.Signal.handle(java.Signal(name), java.SignalHandler.SIG_IGN)


def quiet_properties() -> dict[str, str]:
    """What makes Spark's Java process say no more than a reader can act on."""
    return {"log4j2.configurationFile": Path(__file__).with_name("log4j2.properties").as_uri()}


def add_properties(settings: dict[str, str], name: str, properties: Mapping[str, str]) -> None:
    """System properties for a JVM, before the options the configuration has for it."""
    options = [f"-D{key}={value}" for key, value in properties.items()]
    if options:
        settings[name] = " ".join([*options, *([settings[name]] if name in settings else [])])


def max_tasks(session: SparkSession) -> int | None:
    """How many tasks can run at a time; None on a cluster, where executors come and go."""
    context = session.sparkContext
    return context.defaultParallelism if str(context.master).startswith("local") else None


def is_submitted() -> bool:
    """Whether spark-submit started this process, so that a JVM is already there."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def close_session(session: SparkSession) -> None:
    """Stop Spark; a JVM of ours that does not answer is killed, or it would go on when its time comes again."""
    thread = threading.Thread(target=_stop, args=(session,), name="stop-session", daemon=True)
    process = None if is_submitted() else getattr(session.sparkContext._gateway, "proc", None)  # noqa: SLF001 - as below
    thread.start()
    thread.join(STOP_S)
    if thread.is_alive() and process is not None:
        process.kill()


def _stop(session: SparkSession) -> None:
    with contextlib.suppress(*JVM_GONE):  # of spark-submit: whoever ends us may have ended it as well
        session.stop()


def is_alive(session: SparkSession) -> bool:
    """Whether the JVM behind a session still runs and has not stopped its context."""
    context: SparkContext = session.sparkContext
    try:
        return not context._jsc.sc().isStopped()  # noqa: SLF001 - PySpark has no public way to ask
    except (*JVM_GONE, AttributeError):  # the last when the context was stopped from here
        return False
