"""The spark-submit command that runs the pipelines of a configuration."""

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from ingest.api import NotFoundError
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.spark.master import DEFAULT_MASTER
from ingest.spark.session import LOCAL, add_properties, quiet_properties

_SCRIPT = "attr2hbase_submit.py"


def submit_command(
    configuration: Configuration, catalog: Catalog, file: str, arguments: Sequence[str], environment: Mapping[str, str]
) -> list[str]:
    """
    The command, with all settings that take effect only before Spark's JVM starts.

    The driver runs on this machine (client mode), because it owns the checkpoint and the embedded stores. Settings that
    contain a secret are not in the command, which every user of the machine can read; the driver reads the same file
    and passes them to Spark.

    Args:
        configuration: of the file.
        catalog: of its sources.
        file: path of the file, for the script.
        arguments: of `ingest run`.
        environment: SPARK_HOME and PYSPARK_PYTHON in it replace our Spark and interpreter.

    Raises:
        NotFoundError: the connector jars, Spark or the script do not exist.
    """
    spark = configuration.spark
    master = spark.master or DEFAULT_MASTER
    sources = [pipeline.source for pipeline in configuration.pipelines.values()]
    jars = dict.fromkeys(jar for source in sources for jar in catalog.load("sources", source.kind).jars())
    settings = (LOCAL if master.startswith("local") else {}) | {
        name: value for name, value in spark.conf.items() if name not in configuration.secret_settings
    }
    if "PYSPARK_PYTHON" not in environment:
        settings = {"spark.pyspark.python": sys.executable, "spark.pyspark.driver.python": sys.executable} | settings
    java = {name: value for source in sources for name, value in source.settings.java_properties().items()}
    add_properties(settings, "spark.driver.extraJavaOptions", quiet_properties() | java)
    add_properties(settings, "spark.executor.extraJavaOptions", java)
    command = [_spark_submit(environment), "--master", master, "--name", "attr2hbase"]
    if spark.driver_memory is not None:
        command += ["--driver-memory", f"{spark.driver_memory // 1024}k"]
    if jars:
        command += ["--jars", ",".join(map(str, jars))]
    for name, value in sorted(settings.items()):
        command += ["--conf", f"{name}={value}"]
    return [*command, str(entry_script()), file, *arguments]


def entry_script() -> Path:
    """
    The script that spark-submit runs.

    Raises:
        NotFoundError: it is not installed.
    """
    locations = [
        Path(__file__).parents[2] / "deploy" / "spark" / _SCRIPT,
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
