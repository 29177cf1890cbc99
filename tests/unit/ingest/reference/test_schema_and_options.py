"""The JSON Schema, the reference pages and `config show` agree with the models."""

import json

import pytest

from ingest.api import CatalogError
from ingest.catalog import Catalog, table_features
from ingest.config import Kind, load
from ingest.config.keys import TOP_KEYS
from ingest.config.options import ErrorBudgetOptions, PipelineOptions, SparkOptions
from ingest.config.pipelines import PIPELINE_KEYS
from ingest.config.show import effective_yaml
from ingest.config.tables import table_options
from ingest.reference.error_pages import errors_page
from ingest.reference.options import configuration_page, option_rows, options_table
from ingest.reference.schema import json_schema

CATALOG = Catalog()


class TestSchema:
    schema = json_schema(CATALOG)

    def refs(self, node):
        if isinstance(node, dict):
            if "$ref" in node:
                yield node["$ref"]
            for child in node.values():
                yield from self.refs(child)
        elif isinstance(node, list):
            for child in node:
                yield from self.refs(child)

    def test_has_every_key(self):
        assert tuple(self.schema["properties"]) == tuple(TOP_KEYS)
        assert set(self.schema["$defs"]["pipeline"]["properties"]) == set(PIPELINE_KEYS)

    @pytest.mark.parametrize("component_type", ["decorators", "sinks", "stores", "sources"])
    def test_has_every_component(self, component_type):
        mapping, names = self.schema["$defs"][f"any_{component_type}"]["anyOf"]
        assert tuple(sorted(mapping["properties"])) == CATALOG.names(component_type)
        assert tuple(names["enum"]) == CATALOG.names(component_type)

    def test_every_reference_has_a_definition(self):
        assert set(self.refs(self.schema)) <= {f"#/$defs/{name}" for name in self.schema["$defs"]}

    def test_schema_is_json(self):
        assert json.loads(json.dumps(self.schema)) == self.schema

    def test_variable_is_allowed_for_a_number(self):
        port = self.schema["$defs"]["SplitSettings"]["properties"]["index"]
        assert {"type": "string", "pattern": r"\$\{"} in port["anyOf"][0]["anyOf"]

    def test_component_that_cannot_be_imported_has_no_restrictions(self):
        class Broken(Catalog):
            def __call__(self, component_type, name):
                if name == "split":
                    raise CatalogError("not today")
                return super().__call__(component_type, name)

        found = json_schema(Broken())
        assert found["$defs"]["any_decorators"]["anyOf"][0]["properties"]["split"] == {}


class TestPages:
    def test_rows_of_nested_options(self):
        assert [(row.name, row.type, row.default) for row in option_rows(table_options(table_features()))] == [
            ("store", "text", "none"),
            ("families", "mapping to mapping", "{}"),
            ("families.*.versions", "whole number", "1"),
            ("families.*.ttl", "duration", "none"),
            ("families.*.compression", "none, gz, snappy, lz4, zstd", "none"),
            ("families.*.bloom", "none, row, rowcol", "row"),
            ("families.*.attributes", "mapping to text", "{}"),
            ("splits", "list of text or mapping to text", "[]"),
            ("distribute", "mapping", "none"),
            ("distribute.hash", "whole number", "required"),
            ("columns", "mapping to utf8, bool8, int8, int16, int32, int64, float32, float64, json", "{}"),
            ("updates", "mapping", "none"),
            ("updates.processor", "text or mapping to any", "required"),
            ("updates.columns", "list of text", "[]"),
            ("updates.compact", "mapping", "none"),
            ("updates.compact.older_than", "duration", "1h"),
            ("updates.compact.window", "duration", "1h"),
            ("updates.compact.every", "duration", "required"),
            ("feed", "mapping", "none"),
            ("feed.expiration", "duration", "24h"),
            ("feed.shards", "whole number", "4"),
            ("feed.before", "true or false", "false"),
            ("feed.heartbeat", "duration", "0s"),
            ("bulk_load", "mapping", "none"),
            ("bulk_load.from", "never, auto or whole number", "required"),
            ("bulk_load.replicated", "true or false", "false"),
            ("bulk_load.coprocessors", "true or false", "false"),
            ("blobs", "mapping", "none"),
            ("blobs.name", "text", "none"),
            ("blobs.threshold", "size", "none"),
            ("blobs.block_size", "size", "1MB"),
            ("blobs.read_ahead", "size", "4MiB"),
            ("blobs.compression", "none, lz4, zstd", "none"),
            ("blobs.sweep_after", "duration", "24h"),
            ("blobs.sweep_at", "text", "none"),
        ]

    def test_rows_with_units(self):
        assert [(row.type, row.default) for row in option_rows(ErrorBudgetOptions)] == [
            ("percentage", "5%"),
            ("whole number", "1000"),
            ("duration", "5m"),
        ]
        assert next(row for row in option_rows(SparkOptions) if row.name == "driver_memory").type == "size"

    def test_table_of_options(self):
        assert "| `on_error` | dead_letter, drop, stop | `dead_letter` | Failure action" in options_table(
            option_rows(PipelineOptions)
        )

    def test_page_of_the_file(self):
        page = configuration_page()
        assert all(f"| `{key}` |" in page for key in TOP_KEYS)
        assert "| `error_budget.share` | percentage | `5%` |" in page

    def test_page_of_errors(self):
        page = errors_page()
        assert all(f"| `{kind.value}` |" in page for kind in Kind)
        assert "| `store_busy` | retry | 1 | The store is overloaded and requests a lower rate. |" in page
        assert "| `no_match` | divert |  |" in page


FILE = """\
version: 1
include: part.yaml
stores: {logs: memory}
pipelines:
  p:
    source: {files: {path: "${FILES}"}}
    decorators: [{value: {attribute: "true", value: "%{a} 'b'\\n", when: "%{a} == '1'"}}]
    sinks: [{attr2hbase: {table: "007", rules: [], write_to_wal: false}}]
"""


def test_effective_configuration_is_read_back_unchanged(tmp_path):
    root, part, shown = tmp_path / "root.yaml", tmp_path / "part.yaml", tmp_path / "shown.yaml"
    root.write_text(FILE)
    part.write_text("state_dir: /tmp/x\n")
    found = load(root, env={"FILES": "${x} # y"}, lookup=CATALOG)
    text = effective_yaml(found)
    assert f"state_dir: /tmp/x  # {part}:1\n" in text
    assert f'      files:\n        path: "${{x}} # y"  # {root}:6\n' in text
    shown.write_text(text.replace("${", "$${").replace("include:", "# include:"))
    again = load(shown, env={}, lookup=CATALOG)
    assert {**again.effective, "include": "part.yaml"} == found.effective


def test_effective_configuration_keeps_text_beyond_the_basic_plane(tmp_path):
    root, shown = tmp_path / "root.yaml", tmp_path / "shown.yaml"
    root.write_text(FILE.replace("include: part.yaml\n", "").replace("'b'", "\U0001f600"), "utf-8")
    found = load(root, env={"FILES": "x"}, lookup=CATALOG)
    shown.write_text(effective_yaml(found), "utf-8")
    assert load(shown, env={}, lookup=CATALOG).effective == found.effective
