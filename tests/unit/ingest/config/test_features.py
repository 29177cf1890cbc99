"""A feature of tables that only the registry knows: its option is read, checked and documented."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.api import ConfigInvalidError, FamilySpec, Finding, Model, TableSpec, option
from ingest.api.declared_table import CheckedFile, CheckedTable, DeclaredTable, Locator, NamedColumn
from ingest.api.table_feature import TableFeature
from ingest.catalog import Catalog, table_features
from ingest.config import Configuration, load
from ingest.config.model import declared_in
from ingest.config.tables import table_options
from ingest.reference.defaults import with_defaults
from ingest.reference.options import option_rows
from ingest.reference.schema import json_schema


class CountedOptions(Model):
    column: str = option("Column of the count.", default="f:n")
    merge: str | None = option("Processor.", default=None)


class Counted(TableFeature[CountedOptions]):
    name = "counted"
    text = "Counts writes."
    example = {"column": "f:n"}  # noqa: RUF012 - as in a plugin
    options_model = CountedOptions
    component_types = {"merge": "processors"}  # noqa: RUF012

    def check(self, options: CountedOptions, table: CheckedTable, file: CheckedFile) -> None:
        if options.column == "f:q":
            table.report(Finding(("counted", "column"), f"{table.name} counts the column of {len(file.sinks)} sinks"))
        for sink in table.sinks:
            if options.column == "f:r":
                sink.report(Finding(("table",), f"pipeline {sink.pipeline} writes it"))
                sink.report_source(Finding(("path",), "reads it", kind="doubtful", is_error=False))

    def columns(self, options: CountedOptions) -> Sequence[NamedColumn]:
        return [NamedColumn(("counted", "column"), options.column, "nothing is counted")]

    def column_types(self, table: DeclaredTable, locator: Locator) -> Mapping[bytes, str]:
        return {b"f:n": "int64"}

    def declared(self, spec: TableSpec, table: DeclaredTable) -> TableSpec:
        return replace(spec, families=(*spec.families, FamilySpec(b"counts")))

    def declared_tables(self, table: DeclaredTable) -> Mapping[str, Mapping[str, object]]:
        return {f"{table.name}_counts": {"families": {"c": {"versions": 2}}}}

    def internal_tables(self, spec: TableSpec) -> Sequence[TableSpec]:
        return [TableSpec(f"{spec.name}_hidden")]

    def planned(self, table: DeclaredTable, locator: Locator) -> Any:
        return None


class WithFeature(Catalog):
    def table_features(self) -> tuple[TableFeature[Any], ...]:
        return (Counted(), *super().table_features())


FILE = """\
version: 1
stores: {s: {memory: {}}}
tables:
  t: {families: {f: {}}, counted: {OPTIONS}}
  plain: {families: {f: {}}}
pipelines:
  p:
    source: {files: {path: ./a.log}}
    decorators: [value: {attribute: 2hb_, value: '%{offset}'}, value: {attribute: '2hb_f:n', value: v}]
    sinks: [{attr2hbase: {table: t}}]
"""


def loaded(folder: Path, options: str = "") -> Configuration:
    (folder / "p.yaml").write_text(FILE.replace("OPTIONS", options))
    return load(folder / "p.yaml", env={}, lookup=WithFeature())


def problems(folder: Path, options: str) -> list[str]:
    try:
        report = loaded(folder, options).report
    except ConfigInvalidError as error:
        report = error.report
    return [str(problem).partition("p.yaml:")[2] for problem in report.problems]


def test_option_is_read_and_says_what_the_table_and_others_are(tmp_path: Path) -> None:
    configuration = loaded(tmp_path, "merge: sum")
    tables = configuration.tables
    assert Counted.options_of(tables["t"]) == CountedOptions(merge="sum")
    assert Counted.options_of(tables["plain"]) is None
    assert tables["t"].components["counted", "merge"].kind == "sum"
    assert configuration.column_types("t").of(b"f:n") == "int64"
    assert [table.name for table in configuration.written_by(configuration.pipelines["p"], Counted)] == ["t"]
    assert declared_in("s", tables.values()) == {
        "t": TableSpec("t", (FamilySpec(b"f"), FamilySpec(b"counts"))),
        "plain": TableSpec("plain", (FamilySpec(b"f"),)),
        "t_counts": TableSpec("t_counts", (FamilySpec(b"c", versions=2),)),
        "t_hidden": TableSpec("t_hidden"),
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", []),
        ("colum: 'f:n'", ['4:36: unknown-field: "colum" is not an option of counted; did you mean "column"?']),
        ("merge: summ", ['4:43: unknown-component: there is no processor "summ"; did you mean "sum"?']),
        ("column: 'g:n'", ['4:44: doubtful: warning: table "t" declares no family "g"; declare it under']),
        ("column: 'f:m'", ['4:44: doubtful: warning: no decorator sets the column "f:m", so nothing is counted; ']),
        ("column: 'f:q'", ["4:44: conflict: t counts the column of 1 sinks"]),
        (
            "column: 'f:r'",
            ["8:28: doubtful: warning: reads it", "10:34: conflict: pipeline p writes it"],
        ),
    ],
)
def test_option_is_checked(tmp_path: Path, options: str, expected: list[str]) -> None:
    found = problems(tmp_path, options)
    assert len(found) == len(expected), found
    assert all(map(str.startswith, found, expected)), found


def test_option_is_in_the_schema_the_reference_and_the_defaults(tmp_path: Path) -> None:
    assert "counted" in json_schema(WithFeature())["$defs"]["TableOptions"]["properties"]
    assert "counted" not in json_schema(Catalog())["$defs"]["TableOptions"]["properties"]
    rows = {row.name: row for row in option_rows(table_options((Counted(), *table_features())))}
    assert (rows["counted"].doc, rows["counted.column"].default) == ("Counts writes.", '"f:n"')
    with_all: Any = with_defaults(loaded(tmp_path, "merge: sum"), WithFeature())
    assert with_all["tables"]["t"]["counted"] == {"column": "f:n", "merge": "sum"}
