"""Files that steps name: what is wrong with one is told at the place that names it, for all in the same words."""

import pytest

from ingest.api import ConfigError
from ingest.catalog import Catalog
from ingest.config import load
from tests.support.mmdb import database
from tests.support.problems import chain_file, problems_of

FILE = chain_file("STEP", 'value: {attribute: "2hb_", value: "%{key}-%{nanos}"}')


@pytest.mark.parametrize(
    ("step", "place", "reason"),
    [
        ("geoip: {path: none.mmdb, fields: {a: b}}", "7:23", 'cannot use "none.mmdb": No such file or directory'),
        ("geoip: {path: p.yaml, fields: {a: b}}", "7:23", "it is not a MaxMind database, or truncated"),
        ("lookup: {path: none.csv, source: id}", "7:24", 'cannot use "none.csv": No such file or directory'),
        ("avro: {schema_file: none.avsc}", "7:29", 'cannot use "none.avsc": No such file or directory'),
        ('geoip: {path: "a\\0b", fields: {a: b}}', "7:23", 'cannot use "a\\x00b": embedded null byte'),
        ('avro: {schema_file: "a\\0b"}', "7:29", 'cannot use "a\\x00b": embedded null byte'),
        ("geoip: {path: ., fields: {a: b}}", "7:23", 'cannot use ".": Is a directory'),
        ("avro: {schema_file: .}", "7:29", 'cannot use ".": Is a directory'),
        ("lookup: {source: id, path: people.csv}", "7:36", "line 3 has 1 fields, there are 2 columns"),
    ],
)
def test_place_and_reason(tmp_path, monkeypatch, step, place, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("id,team\n1,red\n2\n")
    (tmp_path / "p.yaml").write_text(FILE.replace("STEP", step))
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "p.yaml", env={}, lookup=Catalog())
    (problem,) = caught.value.report.problems
    assert str(problem).startswith(f"{tmp_path / 'p.yaml'}:{place}: unknown-reference: ")
    assert reason in str(problem)
    assert "replace it by a valid file" in str(problem)


HBASE = "{hbase: {table: t, row_key: {template: 'ROW'}, cells: [{family: f, qualifier: x, value: '%{body}'}]}}"
STEPS = """\
lookup: {path: people.csv, columns: {team: color}}
      - copy: {source: color, attribute: shade}
      - geoip: {path: a.mmdb, fields: {city: town}}"""


@pytest.mark.parametrize(
    ("row", "refused"), [("%{offset}", 0), ("%{color}", 1), ("%{shade}-%{offset}", 0), ("%{town}", 1)]
)
def test_no_row_key_is_made_of_what_files_say(tmp_path, monkeypatch, row, refused):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("id,team\n1,red\n")
    (tmp_path / "a.mmdb").write_bytes(database({}))
    text = FILE.replace("STEP", STEPS).replace("{attr2hbase: {table: t}}", HBASE.replace("ROW", row))
    (tmp_path / "p.yaml").write_text(text)
    problems = problems_of(tmp_path / "p.yaml")
    assert sum("a replay adds a row" in problem for problem in problems) == refused


def test_what_a_file_says_is_told_where_a_row_key_takes_it_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("id,team\n1,red\n")
    (tmp_path / "p.yaml").write_text(FILE.replace("STEP", "lookup: {path: people.csv}"))
    assert load(tmp_path / "p.yaml", env={}, lookup=Catalog()).report.problems == ()
