"""The spark-submit command that runs the pipelines of a configuration."""

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from ingest.api import NotFoundError
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.spark.session import DEFAULT_MASTER, LOCAL, add_properties, quiet_properties

_SCRIPT = "attr2hbase_submit.py"


def submit_command(
    configuration: Configuration, catalog: Catalog, file: str, arguments: Sequence[str], environment: Mapping[str, str]
) -> list[str]:
    """
    The command, with all that takes effect only before Spark's Java process starts.

    The driver runs where the command does (client mode), because it holds the checkpoint and the embedded stores.
    Settings that hold a secret are not in the command, which every user of the machine can read: the driver, which
    reads the same file, gives them to Spark.

    Args:
        configuration: of the file.
        catalog: knows its sources.
        file: as the script is to be given it.
        arguments: of `ingest run`.
        environment: where SPARK_HOME and PYSPARK_PYTHON may choose another Spark and interpreter than ours.

    Raises:
        NotFoundError: the jars of the connector, Spark or the script are not there.
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
    What spark-submit runs.

    Raises:
        NotFoundError: it was not installed.
    """
    locations = [
        Path(__file__).parents[2] / "deploy" / "spark" / _SCRIPT,
        Path(sys.prefix, "share", "attr2hbase", _SCRIPT),
    ]
    for place in locations:
        if place.is_file():
            return place
    raise NotFoundError(
        f'there is no "{_SCRIPT}"', hint=f'it belongs to "{locations[-1].parent}"; install attr2hbase again'
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
