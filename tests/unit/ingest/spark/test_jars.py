"""Jars of the connector: found, verified and downloaded."""

import os
import stat

import pytest

from ingest.api import ConfigError, IngestError, IntegrityError, NotFoundError
from ingest.spark import jars

# stands in for Maven: writes the artifact's file to the output directory; its content starts with FAKE_JAR
_MAVEN = """#!/bin/sh
for argument in "$@"; do
    case "$argument" in
    -Dartifact=*) artifact=${argument#-Dartifact=} ;;
    -DoutputDirectory=*) folder=${argument#-DoutputDirectory=} ;;
    esac
done
if [ -n "$FAKE_ERROR" ]; then echo "[INFO] x"; echo "[ERROR] $FAKE_ERROR"; exit 1; fi
file=$(echo "$artifact" | cut -d: -f2)-$(echo "$artifact" | cut -d: -f3).jar
printf '%s' "$FAKE_JAR$artifact" > "$folder/$file"
"""


@pytest.fixture
def two_jars(monkeypatch):
    """Two jars whose content is their coordinates."""
    import hashlib

    found = tuple(jars.Jar(name, hashlib.sha256(name.encode()).hexdigest()) for name in ("g:one:1.0", "g:two_2.13:2"))
    monkeypatch.setattr(jars, "required", lambda: found)
    return found


@pytest.fixture
def maven(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "mvn"
    script.write_text(_MAVEN)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return script


def test_each_jar_is_listed_once_with_its_checksum():
    found = jars.required()
    assert [jar.file_name.partition("-")[0] for jar in found] == ["spark", "spark", "kafka", "commons"]
    assert {len(jar.sha256) for jar in found} == {64}
    assert len({jar.file_name for jar in found}) == len(found)


def test_connector_has_the_version_of_pyspark():
    from importlib.metadata import version

    assert f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version('pyspark')}" == jars.required()[0].coordinates


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"ATTR2HBASE_CACHE": "/c"}, "/c/jars/spark"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/attr2hbase/jars/spark"),
        ({"HOME": "/h"}, "/h/.cache/attr2hbase/jars/spark"),
    ],
)
def test_cache_folder_follows_the_environment(monkeypatch, environment, folder):
    for name in ("ATTR2HBASE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert str(jars.cache_folder()) == folder


def test_error_of_missing_jars_names_the_command(tmp_path):
    with pytest.raises(NotFoundError) as caught:
        jars.connector_jars(tmp_path)
    assert caught.value.hint == "run `attr2hbase jars fetch`"


def test_fetched_jars_are_found(two_jars, maven, tmp_path):
    reported = []
    fetched = jars.fetch(tmp_path / "cache", reported.append)
    assert [path.name for path in fetched] == ["one-1.0.jar", "two_2.13-2.jar"]
    assert jars.connector_jars(tmp_path / "cache") == fetched
    assert reported == ["fetching g:one:1.0", "fetching g:two_2.13:2"]


def test_only_damaged_jars_are_fetched_again(two_jars, maven, tmp_path):
    cache = tmp_path / "cache"
    jars.fetch(cache)
    (cache / "one-1.0.jar").write_text("damaged")
    with pytest.raises(IntegrityError) as caught:
        jars.connector_jars(cache)
    assert caught.value.hint == "run `attr2hbase jars fetch`"
    reported = []
    jars.fetch(cache, reported.append)
    assert reported == ["fetching g:one:1.0", "two_2.13-2.jar is up to date"]
    assert len(jars.connector_jars(cache)) == 2


def test_jar_with_a_wrong_checksum_is_not_cached(two_jars, maven, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_JAR", "evil")
    with pytest.raises(IntegrityError):
        jars.fetch(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_output_of_maven_is_reported(two_jars, maven, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_ERROR", "no such artifact")
    with pytest.raises(IngestError) as caught:
        jars.fetch(tmp_path / "cache")
    assert caught.value.code == "jars_fetch"
    assert caught.value.message == 'Maven could not fetch "g:one:1.0": [ERROR] no such artifact'


def test_error_without_maven_names_the_package(two_jars, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotFoundError) as caught:
        jars.fetch(tmp_path / "cache")
    assert "apt-get install maven" in str(caught.value)


def test_jars_are_fetched_from_a_folder_without_maven(two_jars, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    origin = tmp_path / "from"
    origin.mkdir()
    for jar in two_jars:
        (origin / jar.file_name).write_text(jar.coordinates)
    fetched = jars.fetch(tmp_path / "cache", origin=str(origin))
    assert jars.connector_jars(tmp_path / "cache") == fetched


def test_jar_of_a_folder_with_a_wrong_checksum_is_not_cached(two_jars, tmp_path):
    origin = tmp_path / "from"
    origin.mkdir()
    (origin / "one-1.0.jar").write_text("evil")
    with pytest.raises(IntegrityError) as caught:
        jars.fetch(tmp_path / "cache", origin=str(origin))
    assert caught.value.message.startswith(f'"one-1.0.jar" from "{origin}" has SHA-256 ')
    assert caught.value.hint == "replace it there by the file of Maven Central"
    assert list((tmp_path / "cache").iterdir()) == []


def test_cache_is_not_created_for_a_refused_url(two_jars, tmp_path):
    with pytest.raises(ConfigError):
        jars.fetch(tmp_path / "cache", origin="http://repo.example/maven2")
    assert not (tmp_path / "cache").exists()
