"""Reference files of decorators: all report problems at the option with the path, in the same words."""

import pytest

from ingest.api import ConfigError
from ingest.catalog import Catalog
from ingest.config import load
from tests.support.mmdb import database
from tests.support.problems import chain_file, problems_of

FILE = chain_file("DECORATOR", 'value: {attribute: "2hb_", value: "%{key}-%{nanos}"}')


@pytest.mark.parametrize(
    ("decorator", "place", "reason"),
    [
        ("geoip: {path: none.mmdb, fields: {a: b}}", "7:23", 'cannot use "none.mmdb": No such file or directory'),
        ("geoip: {path: p.yaml, fields: {a: b}}", "7:23", "it is not a MaxMind database, or truncated"),
        ("lookup: {path: none.csv, source: id}", "7:24", 'cannot use "none.csv": No such file or directory'),
        ("avro: {schema_file: none.avsc}", "7:29", 'cannot use "none.avsc": No such file or directory'),
        ('geoip: {path: "a\\0b", fields: {a: b}}', "7:23", 'cannot use "a\\x00b": '),  # the reason is Python's
        ('avro: {schema_file: "a\\0b"}', "7:29", 'cannot use "a\\x00b": embedded null byte'),
        ("geoip: {path: ., fields: {a: b}}", "7:23", 'cannot use ".": Is a directory'),
        ("avro: {schema_file: .}", "7:29", 'cannot use ".": Is a directory'),
        ("lookup: {source: id, path: people.csv}", "7:36", "line 3 has 1 fields, there are 2 columns"),
    ],
)
def test_invalid_reference_file(tmp_path, monkeypatch, decorator, place, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("id,team\n1,red\n2\n")
    (tmp_path / "p.yaml").write_text(FILE.replace("DECORATOR", decorator))
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "p.yaml", env={}, lookup=Catalog())
    (problem,) = caught.value.report.problems
    assert str(problem).startswith(f"{tmp_path / 'p.yaml'}:{place}: unknown-reference: ")
    assert reason in str(problem)
    assert "replace it by a valid file" in str(problem)


HBASE = "{hbase: {table: t, row_key: {template: 'ROW'}, cells: [{family: f, qualifier: x, value: '%{body}'}]}}"
DECORATORS = """\
lookup: {path: people.csv, columns: {team: color}}
      - copy: {source: color, attribute: shade}
      - geoip: {path: a.mmdb, fields: {city: town}}"""


@pytest.mark.parametrize(
    ("row", "refused"), [("%{offset}", 0), ("%{color}", 1), ("%{shade}-%{offset}", 0), ("%{town}", 1)]
)
def test_row_key_that_reads_a_reference_file_is_rejected(tmp_path, monkeypatch, row, refused):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("id,team\n1,red\n")
    (tmp_path / "a.mmdb").write_bytes(database({}))
    text = FILE.replace("DECORATOR", DECORATORS).replace("{attr2hbase: {table: t}}", HBASE.replace("ROW", row))
    (tmp_path / "p.yaml").write_text(text)
    problems = problems_of(tmp_path / "p.yaml")
    assert sum("a replay adds a row" in problem for problem in problems) == refused


def test_reference_file_that_the_row_key_does_not_read_is_no_problem(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("id,team\n1,red\n")
    (tmp_path / "p.yaml").write_text(FILE.replace("DECORATOR", "lookup: {path: people.csv}"))
    assert load(tmp_path / "p.yaml", env={}, lookup=Catalog()).report.problems == ()
