"""Where the state of a service is: a folder of this machine, or HDFS through Spark's JVM."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.durable import StatePath

if TYPE_CHECKING:
    from ingest.spark.settings import SessionOptions

_HADOOP = "spark.hadoop."
_FILE_MANAGER = {
    # it renames with Hadoop's FileContext, which HDFS does in one act, and refuses to replace a file
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileContextBasedCheckpointFileManager",
}


def state_of(configuration: Configuration) -> StatePath:
    """
    The root of the state that a driver on another machine needs. For HDFS, starts Spark's JVM if it does not run.

    Raises:
        NotFoundError: Java is not installed or did not start.
        StoreUnavailableError: the URL names an unknown host.
    """
    if configuration.state_url is None:
        return configuration.local_dir
    from ingest.spark.hadoop_files import hadoop_path
    from ingest.spark.jars import source_jars
    from ingest.spark.session import is_submitted, start_java

    # the session that may follow uses this JVM, whose class path has the jars
    jars = [] if is_submitted() else source_jars(configuration, Catalog(configuration.plugins))
    start_java("attr2hbase", **session_options(configuration, jars, java_properties(configuration)))
    conf = configuration.spark.conf
    settings = {name.removeprefix(_HADOOP): value for name, value in conf.items() if name.startswith(_HADOOP)}
    return hadoop_path(configuration.state_url, settings)


def checkpoint_folder(configuration: Configuration, pipeline: str) -> StatePath:
    """The folder of a pipeline's checkpoint; raises as `state_of`."""
    return state_of(configuration) / "checkpoints" / pipeline


def java_properties(configuration: Configuration) -> dict[str, str]:
    """The system properties that the sources of all pipelines need; several values of one are joined with commas."""
    values: dict[str, dict[str, None]] = {}
    for pipeline in configuration.pipelines.values():
        for name, value in pipeline.source.settings.java_properties().items():
            values.setdefault(name, {})[value] = None
    return {name: ",".join(found) for name, found in values.items()}


def session_options(
    configuration: Configuration, jars: Sequence[Path] = (), java_properties: Mapping[str, str] = MappingProxyType({})
) -> "SessionOptions":
    """
    The options of a session for a configuration.

    Args:
        configuration: has the master, the memory and the settings.
        jars: for driver and executors.
        java_properties: system properties of their JVMs.
    """
    return {
        "master": configuration.spark.master,
        "driver_memory_bytes": configuration.spark.driver_memory,
        "conf": spark_conf(configuration),
        "secret_names": configuration.secret_settings,
        "jars": jars,
        "java_properties": java_properties,
    }


def spark_conf(configuration: Configuration) -> Mapping[str, str]:
    """The Spark settings of a configuration, with those that its state needs."""
    if configuration.state_url is None:
        return configuration.spark.conf
    from ingest.spark.hadoop_files import SETTINGS

    # Spark's own connection too: without a NameNode a query fails within seconds, and is restarted
    return _FILE_MANAGER | {_HADOOP + name: value for name, value in SETTINGS.items()} | configuration.spark.conf
