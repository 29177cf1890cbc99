"""Tests start Spark with the class path of an archive, and without the archive while another worker writes it."""

import fcntl
import os
from pathlib import Path

import pytest

from tests.support import short_lived


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "spark-classes" / "classes.jsa"
    path.parent.mkdir()
    monkeypatch.setattr(short_lived, "_path_of_archive", lambda: path)
    return path


def test_no_process_waits_for_an_archive_that_another_one_writes(archive: Path) -> None:
    with archive.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert short_lived.java_options() == short_lived.COMPILE_LITTLE
        archive.touch()
        assert short_lived.java_options() == f"{short_lived.COMPILE_LITTLE} -XX:SharedArchiveFile={archive}"


def test_each_spark_of_the_tests_has_the_class_path_of_the_archive() -> None:
    assert short_lived.variables().items() <= os.environ.items()
    assert "kafka-clients" in os.environ["SPARK_DIST_CLASSPATH"]


@pytest.mark.parametrize("variable", ["SPARK_DIST_CLASSPATH", "HADOOP_CONF_DIR"])
def test_archive_is_not_used_with_another_class_path(
    archive: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    archive.touch()
    monkeypatch.setenv(variable, "/elsewhere")
    assert short_lived.java_options() == short_lived.COMPILE_LITTLE
