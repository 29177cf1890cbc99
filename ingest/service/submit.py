"""The spark-submit command that runs the pipelines of a configuration."""

import string
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ingest.api import ConfigError, NotFoundError
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.durable import file_errors, make_folder, write_durably
from ingest.spark.environment import FOLDER, INTERPRETER
from ingest.spark.jars import source_jars
from ingest.spark.master import DEFAULT_MASTER
from ingest.spark.settings import LOCAL, WHEN_FULL, add_properties, quiet_properties
from ingest.spark.state import java_properties

_SCRIPT = "attr2hbase_submit.py"
_PLAIN = frozenset((string.ascii_letters + string.digits + "._-/").encode())  # not escaped in a file of properties


@dataclass(frozen=True, slots=True)
class Submission:
    """
    One use of spark-submit.

    Attributes:
        file: path of the pipeline file, for the script.
        arguments: of `attr2hbase run`.
        archive: path or URL of a packed environment for the executors; None if attr2hbase is installed there, or the
            master is local.
    """

    file: str
    arguments: Sequence[str] = ()
    archive: str | None = None


def submit_command(
    configuration: Configuration, catalog: Catalog, submission: Submission, environment: Mapping[str, str]
) -> list[str]:
    """
    The command, with all settings that take effect only before Spark's JVM starts.

    The driver runs on this machine (client mode), because it owns the checkpoint and the embedded stores. Settings that
    contain a secret are not in the command, which every user of the machine can read, but in a file that it names:
    `write_properties` writes it.

    Args:
        configuration: of the file.
        catalog: of its sources.
        submission: what to run.
        environment: SPARK_HOME and PYSPARK_PYTHON in it replace our Spark and interpreter.

    Raises:
        ConfigError: an archive for a local master.
        NotFoundError: the connector jars, Spark or the script do not exist.
    """
    spark = configuration.spark
    master = spark.master or DEFAULT_MASTER
    is_local = master.startswith("local")
    if submission.archive is not None and is_local:
        raise ConfigError(
            f'the local master "{master}" uses the Python of this machine, not an archive', hint="omit --archive"
        )
    jars = source_jars(configuration, catalog)
    settings = (LOCAL if is_local else {}) | {
        name: value for name, value in spark.conf.items() if name not in configuration.secret_settings
    }
    settings = _interpreters(submission.archive, environment) | settings
    java = java_properties(configuration)
    add_properties(settings, "spark.driver.extraJavaOptions", quiet_properties() | java, WHEN_FULL)
    add_properties(settings, "spark.executor.extraJavaOptions", java)
    command = [_spark_submit(environment), "--master", master, "--deploy-mode", "client", "--name", "attr2hbase"]
    if configuration.secret_settings:
        command += ["--properties-file", str(properties_file(configuration)), "--load-spark-defaults"]
    if spark.driver_memory is not None:
        command += ["--driver-memory", f"{spark.driver_memory // 1024}k"]
    if jars:
        command += ["--jars", ",".join(map(str, jars))]
    if submission.archive is not None:
        command += ["--archives", f"{_uri(submission.archive)}#{FOLDER}"]
    for name, value in sorted(settings.items()):
        command += ["--conf", f"{name}={value}"]
    return [*command, str(entry_script()), submission.file, *submission.arguments]


def properties_file(configuration: Configuration) -> Path:
    """The file for settings that contain a secret."""
    return configuration.local_dir.absolute() / "spark-submit.properties"


def write_properties(configuration: Configuration) -> None:
    """
    Write the settings that contain a secret to a file that only its owner can read.

    Raises:
        IngestError: it cannot be written.
    """
    if not configuration.secret_settings:
        return
    path = properties_file(configuration)
    lines = [
        f"{_escaped(name)}={_escaped(value)}\n"
        for name, value in sorted(configuration.spark.conf.items())
        if name in configuration.secret_settings
    ]
    with file_errors(path):
        make_folder(path.parent)
        write_durably(path, "".join(lines).encode("ascii"))


def _interpreters(archive: str | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Settings for the Python of executors and driver."""
    if archive is not None:
        return {
            "spark.pyspark.python": INTERPRETER,
            "spark.pyspark.driver.python": environment.get("PYSPARK_DRIVER_PYTHON", sys.executable),
        }
    if "PYSPARK_PYTHON" in environment:
        return {}
    return {"spark.pyspark.python": sys.executable, "spark.pyspark.driver.python": sys.executable}


def _uri(path: str) -> str:
    """The URI of a path, which Spark would take apart at a blank; a URI stays as it is."""
    return path if "://" in path else Path(path).absolute().as_uri()


def _escaped(text: str) -> str:
    """A name or value for a file of Java properties."""
    units = memoryview(text.encode("utf-16")[2:]).cast("H")  # Java's escapes are UTF-16, of this machine's byte order
    return "".join(chr(unit) if unit in _PLAIN else f"\\u{unit:04x}" for unit in units)


def entry_script() -> Path:
    """
    The script that spark-submit runs.

    Raises:
        NotFoundError: it is not installed.
    """
    locations = [
        Path(__file__).parents[2] / "deploy" / "spark" / _SCRIPT,
        Path(__file__).parents[3] / "share" / "attr2hbase" / _SCRIPT,  # in an unpacked archive
        Path(sys.prefix, "share", "attr2hbase", _SCRIPT),
    ]
    for path in locations:
        if path.is_file():
            return path
    raise NotFoundError(
        f'there is no "{_SCRIPT}"', hint=f'it is installed to "{locations[-1].parent}"; reinstall attr2hbase'
    )


def _spark_submit(environment: Mapping[str, str]) -> str:
    home = environment.get("SPARK_HOME")
    if home is None:
        found = find_spec("pyspark")
        home = str(Path(found.origin).parent) if found is not None and found.origin is not None else ""
    command = Path(home, "bin", "spark-submit")
    if not command.is_file():
        raise NotFoundError(f'there is no "{command}"', hint="set SPARK_HOME to the folder of Spark")
    return str(command)
