"""The settings of a Spark session: those that the pipelines depend on, and those of the configuration."""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from ingest.config.spark_conf import REQUIRED
from ingest.observe.logs import logger
from ingest.spark.master import DEFAULT_MASTER

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

WHEN_FULL = "-XX:+ExitOnOutOfMemoryError"
"""Option of the driver's JVM: it ends, which the driver notices, where else only one of its threads would end."""

_REDACTION = "spark.redaction.regex"
_DEFAULT_REDACTION = "(?i)secret|password|token|access[.]?key"  # Spark's default

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


def session_settings(name: str, *, is_submitted: bool, **options: Unpack[SessionOptions]) -> dict[str, str]:
    """
    The settings of a session.

    Args:
        name: of the application.
        is_submitted: spark-submit has started the JVM, and was given master, memory, jars and system properties.
        options: of the session.
    """
    conf, secret_names = options["conf"], options["secret_names"]
    settings = {"spark.app.name": name} | DEFAULTS | dict(conf) | REQUIRED
    if secret_names:
        settings[_REDACTION] = _redaction(settings.get(_REDACTION, _DEFAULT_REDACTION), secret_names)
    if is_submitted:
        return settings
    master = options["master"] or DEFAULT_MASTER
    if master.startswith("local"):
        settings = LOCAL | settings
    java_properties = options["java_properties"]
    add_properties(settings, "spark.driver.extraJavaOptions", quiet_properties() | dict(java_properties), WHEN_FULL)
    add_properties(settings, "spark.executor.extraJavaOptions", java_properties)
    settings["spark.master"] = master
    if options["driver_memory_bytes"] is not None:
        # in KiB: passed to Java, which has no suffix for bytes
        settings["spark.driver.memory"] = f"{options['driver_memory_bytes'] // 1024}k"
    if options["jars"]:
        settings["spark.jars"] = ",".join(str(jar) for jar in options["jars"])
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


def _redaction(pattern: str, secret_names: Collection[str]) -> str:
    """The pattern with more names to redact; Spark matches Hadoop settings without their prefix."""
    names = sorted(re.escape(name.removeprefix("spark.hadoop.")) for name in secret_names)
    return "|".join([pattern, *names])


def quiet_properties() -> dict[str, str]:
    """System properties that limit the log of Spark's JVM to errors."""
    return {"log4j2.configurationFile": Path(__file__).with_name("log4j2.properties").as_uri()}


def add_properties(settings: dict[str, str], name: str, properties: Mapping[str, str], *others: str) -> None:
    """Add options and system properties of a JVM, before the options that the configuration has for it."""
    options = [*others, *(f"-D{key}={value}" for key, value in properties.items())]
    if options:
        settings[name] = " ".join([*options, *([settings[name]] if name in settings else [])])
