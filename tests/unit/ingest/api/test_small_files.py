"""Files that options name: read with the configuration, and not again."""

import json
import pickle

import pytest

from ingest.api import ConfigError, Event
from ingest.api.files import MAX_FILE_BYTES
from ingest.catalog import Catalog
from ingest.config import load
from ingest.plan.assemble import live_chain, plan_of

PIPELINE = """\
version: 1
stores: {logs: {memory: {}}}
pipelines:
  p:
    source: {files: {path: x}}
    decorators:
      - avro:
          prefix: "a."
          schema_file: "%s"
    sinks: [{attr2hbase: {table: t}}]
"""
SCHEMA = json.dumps({"type": "record", "name": "R", "fields": [{"name": "x", "type": "string"}]})


def loaded(folder, schema):
    file = folder / "pipeline.yaml"
    file.write_text(PIPELINE % schema)
    return load(file, env={}, lookup=Catalog())


def problems(folder, schema):
    with pytest.raises(ConfigError) as caught:
        loaded(folder, schema)
    return [(problem["line"], problem["column"], problem["kind"]) for problem in caught.value.report.to_json()]


def test_the_plan_has_the_content_so_workers_need_no_file(tmp_path):
    schema = tmp_path / "r.avsc"
    schema.write_text(SCHEMA)
    configuration = loaded(tmp_path, schema)
    plan = pickle.dumps(plan_of(configuration, configuration.pipelines["p"], Catalog()))
    schema.unlink()
    (outcome,) = live_chain(pickle.loads(plan)).run(Event(b"\x02y"))  # noqa: S301 - our own
    assert isinstance(outcome, Event)
    assert outcome.attributes == {"a.x": b"y"}


def test_a_changed_file_makes_another_plan(tmp_path):
    schema = tmp_path / "r.avsc"
    plans = []
    for text in (SCHEMA, SCHEMA, SCHEMA.replace("string", "long")):
        schema.write_text(text)
        configuration = loaded(tmp_path, schema)
        plans.append(pickle.dumps(plan_of(configuration, configuration.pipelines["p"], Catalog())))
    assert plans[0] == plans[1] != plans[2]


def test_a_missing_file_is_a_problem_with_its_place(tmp_path):
    assert problems(tmp_path, tmp_path / "none.avsc") == [(9, 24, "unknown-reference")]


def test_a_folder_is_no_file(tmp_path):
    assert problems(tmp_path, tmp_path) == [(9, 24, "unknown-reference")]


def test_a_path_that_can_be_none_is_no_file(tmp_path):
    assert problems(tmp_path, r"a\0b") == [(9, 24, "unknown-reference")]


def test_a_file_has_a_largest_size(tmp_path):
    (tmp_path / "large").write_bytes(b" " * (MAX_FILE_BYTES + 1))
    assert problems(tmp_path, tmp_path / "large") == [(9, 24, "too-large")]
    with pytest.raises(ConfigError, match=r'cannot use ".*large": it has more than 4 MiB'):
        loaded(tmp_path, tmp_path / "large")


def test_a_broken_schema_is_a_problem_with_its_place(tmp_path):
    (tmp_path / "broken.avsc").write_text(SCHEMA[:-1])
    assert problems(tmp_path, tmp_path / "broken.avsc") == [(9, 24, "wrong-type")]
