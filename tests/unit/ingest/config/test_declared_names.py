"""The names of a file that is not checked."""

from pathlib import Path

import pytest

from ingest.api import NotFoundError
from ingest.config.declared_names import DeclaredNames, declared_names, declared_sinks

NOTHING = DeclaredNames((), (), ())


def names_of(folder: Path, text: str) -> DeclaredNames:
    (folder / "p.yaml").write_text(text)
    return declared_names(folder / "p.yaml", {"OF_ENV": "seen"})


def test_names_are_each_once_and_in_order(tmp_path: Path):
    text = """\
tables: {t: {}, s: {}}
pipelines:
  b: {sinks: [{attr2hbase: {table: s}}, {hbase: {table: "${OF_ENV}"}}, {archive: {table: x}}]}
  a: {sinks: [{archive: {table: x}}, {archive: {table: y}}, {of_plugin: {table: u}}]}
"""
    assert names_of(tmp_path, text) == DeclaredNames(("t", "s", "seen", "u"), ("x", "y"), ("b", "a"))


def test_sinks_are_named_as_in_the_pipeline(tmp_path: Path):
    text = """\
pipelines:
  b: {sinks: [{attr2hbase: {table: s}}, {hbase: {label: "${OF_ENV}"}}, {hbase: {label: "${ABSENT}"}}]}
  a: {sinks: [{archive: {table: x}}, {archive: {table: y}}, {attr2hbase: {table: u}}]}
  c: {sinks: 1}
"""
    (tmp_path / "p.yaml").write_text(text)
    found = declared_sinks(tmp_path / "p.yaml", {"OF_ENV": "seen"})
    assert found == ["attr2hbase", "seen", "archive#1", "archive#2"]


def test_names_of_included_files(tmp_path: Path):
    (tmp_path / "more.yaml").write_text("pipelines: {a: {}}\ntables: {t: {}}")
    assert names_of(tmp_path, "include: more.yaml\npipelines: {b: {}}") == DeclaredNames(("t",), (), ("a", "b"))


@pytest.mark.parametrize(
    "sink",
    ["{attr2hbase: {table: '%{of}'}}", "{attr2hbase: {table: '${ABSENT}'}}", "{attr2hbase: {table: '${secret:x}'}}"],
)
def test_table_that_is_not_known_has_no_name(tmp_path: Path, sink: str):
    assert names_of(tmp_path, f"pipelines: {{a: {{sinks: [{sink}]}}}}") == DeclaredNames((), (), ("a",))


@pytest.mark.parametrize(
    "text",
    ["", "a: [", "[1]", "pipelines: 1\ntables: [t]"],
)
def test_file_that_is_no_configuration_has_no_names(tmp_path: Path, text: str):
    assert names_of(tmp_path, text) == NOTHING


def test_included_file_that_cannot_be_read_hides_no_name(tmp_path: Path):
    text = "include: absent.yaml\npipelines: {a: {}}"
    assert names_of(tmp_path, text) == DeclaredNames((), (), ("a",))


@pytest.mark.parametrize("sinks", ["1", "[x]", "{a: {table: t}}", "[{attr2hbase: }]", "[{attr2hbase: [t]}]"])
def test_sinks_of_another_form_have_no_tables(tmp_path: Path, sinks: str):
    assert names_of(tmp_path, f"pipelines: {{a: {{sinks: {sinks}}}}}") == DeclaredNames((), (), ("a",))


def test_secret_is_not_read(tmp_path: Path):
    (tmp_path / "secret").write_text("t")
    text = "pipelines: {a: {sinks: [{hbase: {table: '${secret:secret}'}}]}}"
    assert names_of(tmp_path, f"secrets: {{directory: '{tmp_path}'}}\n{text}") == DeclaredNames((), (), ("a",))


def test_file_that_is_not_regular_is_refused(tmp_path: Path):
    with pytest.raises(NotFoundError, match="Is a directory"):
        declared_names(tmp_path, {})
    with pytest.raises(NotFoundError, match="it is no regular file"):
        declared_names("/dev/zero", {})
