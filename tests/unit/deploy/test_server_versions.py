"""The versions of the local servers."""

import subprocess
import sys

import pytest

from tests.support.local import HBaseServer, KafkaServer, ServerError, jars, versions

MISSING = "[ERROR] Failed to execute goal: Could not find artifact org.apache.hbase:{}:jar:{} in central -> [Help 1]"


@pytest.fixture
def maven(tmp_path, monkeypatch):
    """A Maven that knows some artifacts, and writes the properties that it was given into a jar's name."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "mvn").write_text(
        f"""#!{sys.executable}
import pathlib, sys
given = dict(each[2:].partition("=")[::2] for each in sys.argv if each.startswith("-D"))
hbase = given.get("hbase.version", "2.6.1")
thrift = given.get("thrift.version", hbase)
if hbase in ("2.6.4", "2.6.1", "2.7.0") and thrift in ("2.6.1",):
    out = pathlib.Path(given["outputDirectory"])
    out.mkdir()
    (out / f"hbase-{{hbase}}-thrift-{{thrift}}.jar").touch()
else:
    name, version = ("hbase-server", hbase) if hbase == "9.9.9" else ("hbase-thrift", thrift)
    print({MISSING!r}.format(name, version))
    sys.exit(1)
"""
    )
    (folder / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("ATTR2HBASE_CACHE", str(tmp_path / "cache"))


def names(class_path):
    return [path.rpartition("/")[2] for path in class_path.split(":")]


def test_jars_are_those_of_the_version(maven):
    assert names(jars.class_path("hbase", version="2.6.1")) == ["hbase-2.6.1-thrift-2.6.1.jar"]


def test_thrift_server_of_the_same_line_replaces_one_that_is_not_served(maven, capsys):
    assert names(jars.class_path("hbase", version="2.6.4")) == ["hbase-2.6.4-thrift-2.6.1.jar"]
    assert "no Thrift server of hbase 2.6.4 is served; taking that of 2.6.1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("version", "missing"), [("9.9.9", "org.apache.hbase:hbase-server:jar:9.9.9"), ("2.7.0", "hbase-thrift:jar:2.7.0")]
)
def test_version_that_cannot_be_had_is_refused_with_the_jar_that_is_missing(maven, version, missing):
    with pytest.raises(ServerError) as caught:
        jars.class_path("hbase", version=version)
    assert f"the jars of hbase {version} cannot be had: there is no " in str(caught.value)
    assert missing in str(caught.value)
    assert str(caught.value).endswith("; set HBASE_VERSION to a version that Maven finds whole")


@pytest.mark.parametrize(("server", "variable"), [(KafkaServer, "KAFKA_VERSION"), (HBaseServer, "HBASE_VERSION")])
def test_argument_is_chosen_before_the_environment_and_that_before_the_pom(server, variable, tmp_path, monkeypatch):
    monkeypatch.delenv(variable, raising=False)
    assert server(tmp_path).version == versions.default(server.name)
    monkeypatch.setenv(variable, "3.0.0-alpha-4")
    assert server(tmp_path).version == "3.0.0-alpha-4"
    assert server(tmp_path, version="2.5.8").version == "2.5.8"


@pytest.mark.parametrize("wrong", ["2.6", "latest", "2.6.1/../x", "v2.6.1"])
def test_word_that_is_not_a_version_is_refused(wrong):
    with pytest.raises(ServerError, match=r"is not a version of hbase; write one such as \d+\.\d+\.\d+"):
        versions.chosen("hbase", wrong)


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        ("2.6.1", "2.6.1", False),
        ("2.6.1", "2.10.0", False),
        ("2.6.1", "3.0.0-alpha-4", False),
        ("3.0.0-alpha-4", "3.0.0", False),
        ("3.0.0", "3.0.0-beta-1", True),
        ("2.6.1", "2.5.8", True),
        ("2.10.0", "2.9.0", True),
    ],
)
def test_data_of_a_newer_version_are_refused(before, after, refused, tmp_path):
    versions.remember(tmp_path, before, is_running=False)
    if refused:
        with pytest.raises(ServerError, match=f"version {after} cannot read the data of version {before}"):
            versions.remember(tmp_path, after, is_running=False)
    else:
        versions.remember(tmp_path, after, is_running=False)
    assert versions.of_data(tmp_path) == (before if refused else after)


def test_another_version_that_runs_is_refused(tmp_path):
    versions.remember(tmp_path, "2.6.1", is_running=False)
    versions.remember(tmp_path, "2.6.1", is_running=True)
    with pytest.raises(ServerError, match=r"version 2\.6\.1 runs on the data .*; stop it before you start 2\.6\.4"):
        versions.remember(tmp_path, "2.6.4", is_running=True)


def test_data_without_a_version_are_of_any(tmp_path):
    assert versions.of_data(tmp_path / "none") is None
    versions.remember(tmp_path, "2.4.18", is_running=True)
    assert versions.of_data(tmp_path) == "2.4.18"


def test_command_refuses_a_word_that_is_not_a_version(tmp_path):
    done = subprocess.run(
        [sys.executable, "deploy/local/services.py", "start", "--hbase-version", "2.6", "--dir", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, 'error: "2.6" is not a version of hbase; write one such as 2.6.1\n')
    assert list(tmp_path.iterdir()) == []
