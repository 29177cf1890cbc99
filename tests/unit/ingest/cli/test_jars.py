"""`attr2hbase jars fetch`."""

import hashlib

import pytest

from ingest.spark import jars


@pytest.fixture
def one_jar(monkeypatch, folder):
    """A jar with the content `jar`, and an empty cache."""
    monkeypatch.setenv("ATTR2HBASE_CACHE", str(folder / "cache"))
    monkeypatch.setattr(jars, "required", lambda: (jars.Jar("g:one:1.0", hashlib.sha256(b"jar").hexdigest()),))
    (folder / "mirror").mkdir()
    return folder / "mirror" / "one-1.0.jar"


def test_jars_of_a_folder_are_listed(ingest, folder, one_jar):
    one_jar.write_bytes(b"jar")
    done = ingest("jars", "fetch", "--from", "mirror", "--output", "json")
    assert (done.code, done.json) == (0, {"jars": [str(folder / "cache/jars/spark/one-1.0.jar")]})


@pytest.mark.parametrize(("has_file", "command"), [(False, "init --template kafka"), (True, "validate --connect")])
def test_next_command_is_about_the_file_that_is_there(ingest, folder, one_jar, has_file, command):
    one_jar.write_bytes(b"jar")
    if has_file:
        (folder / "pipeline.yaml").touch()
    assert ingest("jars", "fetch", "--from", "mirror").err.endswith(f"\nnext: attr2hbase {command}\n")


@pytest.mark.parametrize(
    ("origin", "code", "error"),
    [
        ("mirror", 3, "has neither"),
        ("none", 3, "hint: name a folder with the jars"),
        ("http://repo.example/", 2, "http is not"),
    ],
)
def test_place_without_the_jars_is_an_error(ingest, one_jar, origin, code, error):
    done = ingest("jars", "fetch", "--from", origin)
    assert done.code == code
    assert error in done.err


def test_other_content_is_an_error(ingest, one_jar):
    one_jar.write_bytes(b"evil")
    done = ingest("jars", "fetch", "--from", "mirror")
    assert done.code == 5
    assert 'error[integrity]: "one-1.0.jar" from "mirror" has SHA-256' in done.err
