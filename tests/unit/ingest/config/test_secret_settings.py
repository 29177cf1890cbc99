"""Spark properties that contain a secret."""

import pytest

from ingest.api import ConfigError
from ingest.catalog import Catalog
from ingest.config import load

FILE = """\
version: 1
secrets: {directory: FOLDER}
spark: {conf: {spark.x: plain, NAME: "a${secret:word}"}}
stores: {m: {memory: {}}}
pipelines:
  p:
    source: {files: {path: in}}
    decorators: [value: {attribute: "2hb_", value: "%{offset}"}, value: {attribute: "2hb_f:a", value: "1"}]
    sinks: [attr2hbase: {table: t}]
"""


@pytest.fixture
def configuration(tmp_path):
    def make(name):
        (tmp_path / "word").write_text("hunter2")
        (tmp_path / "p.yaml").write_text(FILE.replace("NAME", name).replace("FOLDER", str(tmp_path)))
        return load(tmp_path / "p.yaml", env={}, lookup=Catalog())

    return make


def test_properties_with_a_secret_are_listed(configuration):
    assert configuration("spark.hadoop.fs.account.key").secret_settings == {"spark.hadoop.fs.account.key"}


@pytest.mark.parametrize(
    "name",
    ["spark.driver.extraJavaOptions", "spark.executor.defaultJavaOptions", "spark.jars.repositories", "spark.files"],
)
def test_secret_on_a_command_line_is_rejected(configuration, name):
    with pytest.raises(ConfigError) as raised:
        configuration(name)
    (problem,) = raised.value.report.problems
    assert (problem.location.line, problem.location.column) == (3, 16 + len("spark.x: plain, ") + len(f"{name}: "))
    assert problem.message == f'"{name}" becomes part of a command line, and its value contains a secret'
    assert problem.hint.startswith("refer to a file that contains the secret")
