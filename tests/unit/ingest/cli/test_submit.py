import shlex
import stat
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from ingest.spark.environment import Environment


@pytest.fixture
def command(ingest, pipeline, monkeypatch):
    """A function that returns the command for the pipeline with additional lines."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)

    def build(lines="", *options):
        text = (pipeline / "pipeline.yaml").read_text()
        # an embedded store is refused on a cluster
        (pipeline / "p.yaml").write_text(text.replace("rocksdb: {path: ./data}", "hbase: {host: localhost}") + lines)
        result = ingest("submit", "p.yaml", "--print", "--output", "json", *options)
        assert result.code == 0, result.err
        return result.json["command"]

    return build


def test_script_file_and_options_come_last(command):
    found = command("", "--once", "--start-from", "earliest", "--take-over", "--recount", "--log-level", "debug")
    assert found[0].endswith("/bin/spark-submit")
    assert found[-9].endswith("/attr2hbase_submit.py")
    options = ["--once", "--start-from", "earliest", "--log-level", "debug", "--take-over", "--recount"]
    assert found[-8:] == ["p.yaml", *options]


def settings_of(found):
    return dict(value.split("=", 1) for option, value in pairwise(found) if option == "--conf")


def test_master_memory_and_settings_of_the_file(command):
    found = command(
        "\nspark: {master: 'spark://host:7077', driver_memory: 1GiB, conf: {spark.executor.memory: 600m}}\n"
    )
    assert found[1:9] == [
        *("--master", "spark://host:7077", "--deploy-mode", "client", "--name", "attr2hbase"),
        *("--driver-memory", "1048576k"),
    ]
    settings = settings_of(found)
    assert settings["spark.executor.memory"] == "600m"
    assert "spark.driver.host" not in settings


def test_setting_with_a_secret_is_in_a_file_and_not_in_the_command(command, pipeline):
    (pipeline / "key").write_text("hunter2: \\=é\U0001f511")
    lines = '\nsecrets: {directory: .}\nspark: {conf: {spark.hadoop.a.b: "${secret:key}", spark.c: d}}\n'
    (pipeline / "data" / "state").mkdir(parents=True)
    earlier = pipeline / "data" / "state" / "spark-submit.properties"
    earlier.write_text("")
    found = command(lines)
    settings = settings_of(found)
    assert ("spark.hadoop.a.b" in settings, settings["spark.c"]) == (False, "d")
    path = Path(found[found.index("--properties-file") + 1])
    assert found[found.index("--properties-file") + 2] == "--load-spark-defaults"
    assert path == earlier
    assert path.read_text() == "spark.hadoop.a.b=hunter2\\u003a\\u0020\\u005c\\u003d\\u00e9\\ud83d\\udd11\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_without_a_secret_there_is_no_file(command, pipeline):
    assert "--properties-file" not in command()
    assert not (pipeline / "data" / "state").exists()


CLUSTER = "\nspark: {master: 'spark://host:7077'}\n"


def test_archive_is_packed_and_its_interpreter_is_used(command, pipeline, monkeypatch):
    packed = []
    monkeypatch.setattr("ingest.spark.environment.pack", lambda path, content: packed.append((path, content)) or True)
    monkeypatch.setattr(
        "ingest.spark.environment.environment", lambda jars, script: Environment({}, {script.name: script})
    )
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    found = command(CLUSTER, "--archive", "env.tar.gz")
    assert found[found.index("--archives") + 1] == f"{(pipeline / 'env.tar.gz').as_uri()}#environment"
    ((path, content),) = packed
    assert (str(path), list(content.files)) == ("env.tar.gz", ["attr2hbase_submit.py"])
    settings = settings_of(found)
    assert settings["spark.pyspark.python"] == "./environment/bin/python"
    assert settings["spark.pyspark.driver.python"] == sys.executable


def test_archive_at_a_url_is_not_packed(command, pipeline):
    found = command(CLUSTER, "--archive", "hdfs:///attr2hbase/env.tar.gz")
    assert found[found.index("--archives") + 1] == "hdfs:///attr2hbase/env.tar.gz#environment"


def test_archive_is_refused_for_a_local_master(ingest, pipeline):
    result = ingest("submit", "pipeline.yaml", "--print", "--archive", "env.tar.gz")
    assert (result.code, "omit --archive" in result.err) == (2, True)
    assert not (pipeline / "env.tar.gz").exists()


def test_interpreter_is_ours_unless_the_user_chose_one(command, monkeypatch):
    assert settings_of(command())["spark.pyspark.python"] == sys.executable
    assert (
        settings_of(command("\nspark: {conf: {spark.pyspark.python: /opt/python}}\n"))["spark.pyspark.python"]
        == "/opt/python"
    )
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    assert "spark.pyspark.python" not in settings_of(command())


def test_local_master_listens_on_the_loopback_interface(command):
    assert settings_of(command())["spark.driver.bindAddress"] == "127.0.0.1"


def test_spark_of_the_user(command, monkeypatch, tmp_path):
    (tmp_path / "spark" / "bin").mkdir(parents=True)
    (tmp_path / "spark" / "bin" / "spark-submit").write_text("")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    assert command()[0] == str(tmp_path / "spark" / "bin" / "spark-submit")


def test_missing_spark_is_reported(ingest, pipeline, monkeypatch):
    monkeypatch.setenv("SPARK_HOME", "/nowhere")
    result = ingest("submit", "pipeline.yaml", "--print")
    assert (result.code, 'there is no "/nowhere/bin/spark-submit"' in result.err) == (3, True)


def test_stdin_is_refused(ingest):
    assert ingest("submit", "-", "--print").code == 2


def pasted(text):
    """The words that a shell parses from it."""
    return shlex.split(text.replace("\\\n", ""))


def test_shown_command_can_be_pasted(ingest, pipeline):
    text = (pipeline / "pipeline.yaml").read_text() + "\nspark: {conf: {spark.x: it's y z}}\n"
    (pipeline / "it's a file.yaml").write_text(text)
    arguments = ("submit", "it's a file.yaml", "--print", "--once", "--start-from", "earliest")
    command = ingest(*arguments, "--output", "json").json["command"]
    assert {"spark.x=it's y z", "it's a file.yaml"} <= set(command)
    assert pasted(ingest(*arguments).out) == command
