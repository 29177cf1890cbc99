"""
Spark parses the commands of `attr2hbase submit` for every kind of master.

Its own parser and its own preparation of a submission run, without YARN or Kubernetes: they decide which settings the
driver and the executors get.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.service.submit import Submission, entry_script, submit_command, write_properties
from tests.support.java_program import JavaProgram, ProgramError

KEY = "hunter2 :=\\é🔑 #!"
ARCHIVE = "a folder/env.tar.gz"
MASTERS = ["spark://one:7077,two:7077", "yarn", "k8s://https://host:6443"]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaProgram]:
    folder = tmp_path_factory.mktemp("spark-arguments")
    source = Path(__file__).resolve().parents[1] / "support" / "SparkArguments.java"
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_CONF_DIR", str(folder))  # required for YARN
        with JavaProgram(["java", "-XX:TieredStopAtLevel=1", "-cp", str(jars), str(source)], folder / "log") as program:
            yield program


def submitted(spark: JavaProgram, folder: Path, master: str, archive: str | None) -> dict[str, Any]:
    """What Spark makes of the command for a file with this master."""
    (folder / "key").write_text(KEY)
    content = {
        "version": 1,
        "state_dir": "state",
        "secrets": {"directory": "."},
        "spark": {
            "master": master,
            "driver_memory": "2GiB",
            "conf": {"spark.executor.memory": "600m", "spark.hadoop.a.b": "${secret:key}", "spark.c": "it's a = b"},
        },
        "stores": {"s": {"hbase": {"host": "localhost"}}},
        "pipelines": {
            "p": {
                "source": {"files": {"path": "."}},
                "decorators": [{"value": {"attribute": "2hb_", "value": "%{offset}"}}],
                "sinks": [{"attr2hbase": {"table": "t"}}],
            }
        },
    }
    (folder / "p.yaml").write_text(json.dumps(content))
    configuration = load(str(folder / "p.yaml"), env={}, lookup=Catalog())
    submission = Submission("p.yaml", ["--start-from", "earliest"], archive)
    command = submit_command(configuration, Catalog(), submission, {})
    write_properties(configuration)
    found: dict[str, Any] = json.loads(spark.ask(json.dumps(command[1:])))
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("master", ["local[2,4]", *MASTERS])
def test_driver_runs_here_with_the_settings_of_the_file(spark: JavaProgram, folder: Path, master: str) -> None:
    found = submitted(spark, folder, master, None)
    settings = found["settings"]
    assert (found["master"], found["deploy_mode"]) == (master, "client")
    assert found["main"] == "org.apache.spark.deploy.PythonRunner"
    script, _python_files, *arguments = found["arguments"]
    assert script == f"file:{entry_script()}"
    assert arguments == ["p.yaml", "--start-from", "earliest"]
    assert settings["spark.master"] == master
    assert settings["spark.driver.memory"] == f"{2 << 20}k"
    assert settings["spark.executor.memory"] == "600m"
    assert settings["spark.c"] == "it's a = b"
    assert settings["spark.hadoop.a.b"] == KEY


@pytest.mark.parametrize("master", MASTERS)
def test_archive_goes_to_the_executors(spark: JavaProgram, folder: Path, master: str) -> None:
    settings = submitted(spark, folder, master, ARCHIVE)["settings"]
    name = "spark.yarn.dist.archives" if master == "yarn" else "spark.archives"
    assert settings[name] == f"{(folder / ARCHIVE).as_uri()}#environment"
    assert settings["spark.pyspark.python"] == "./environment/bin/python"
    assert settings["spark.pyspark.driver.python"].startswith("/")


def test_parser_refuses_an_unknown_option(spark: JavaProgram) -> None:
    with pytest.raises(ProgramError, match="--archive"):
        spark.ask(json.dumps(["--master", "yarn", "--archive", "x", "script.py"]))
