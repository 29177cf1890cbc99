"""What `columns` of a table may say, what is doubtful, and which types columns get."""

import re

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from tests.support.problems import problems_of

FILE = """
version: 1
stores: {s: {memory: {}}}
tables: {t: {OPTIONScolumns: {"COLUMN": TYPE}}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators: [json: {prefix: "2hb_e:"}, value: {attribute: "2hb_", value: "%{topic}:%{offset}"}]
    sinks: [attr2hbase: {table: t}]
"""


@pytest.fixture
def write(tmp_path):
    def written(column, cell_type="int64", options="families: {e: {}, m: {}}, "):
        path = tmp_path / "p.yaml"
        text = FILE.replace("OPTIONS", options).replace("COLUMN", column).replace("TYPE", cell_type)
        path.write_text(text)
        return path

    return written


def types_of(path):
    configuration = load(path, env={}, lookup=Catalog())
    return {name.decode(): each.value for name, each in configuration.column_types("t").types.items()}


@pytest.mark.parametrize("column", ["e:ms", "e", "m:a:b"])
def test_columns_and_families_have_types(write, column):
    path = write(column)
    assert (problems_of(path), types_of(path)) == ([], {column: "int64"})


@pytest.mark.parametrize(
    ("column", "cell_type", "problem"),
    [
        ("ee:ms", "int64", 'doubtful: warning: table "t" declares no family "ee"; did you mean "e"?'),
        ("2hb_e:ms", "int64", 'warning: "2hb_e:ms" is the name of an attribute, not of a column of table "t"; write '),
        ("took", "int64", 'declares no family "took"; write FAMILY:QUALIFIER, or declare the family under `families`'),
        (":ms", "int64", "wrong-type: :ms names no family; write FAMILY:QUALIFIER"),
        ("e:ms", "int46", 'not-one-of: e:ms cannot be "int46"; did you mean "int64"?'),
        ("e:ms", "long", 'not-one-of: e:ms cannot be "long"; '),
    ],
)
def test_mistakes_are_named_at_their_place(write, column, cell_type, problem):
    (found,) = problems_of(write(column, cell_type))
    assert found.startswith("4:")
    assert problem in found


def test_prefix_of_attributes_is_found_without_families(write):
    found = problems_of(write("2hb_e:ms", options=""))
    assert any('write "e:ms", without the prefix "2hb_"' in each for each in found)


def test_prefix_of_attributes_is_found_in_updates(write):
    path = write("e:ms", options='families: {e: {}}, updates: {processor: sum, columns: ["2hb_e:n"]}, ')
    assert any('write "e:n", without the prefix "2hb_"' in each for each in problems_of(path))


@pytest.mark.parametrize(
    ("updates", "types"),
    [
        ("{processor: {sum: {type: int64}}}", {"e:ms": "int64", "": "int64"}),
        ('{processor: {sum: {type: int64}}, columns: ["e:ms"]}', {"e:ms": "int64"}),
        (
            '{processor: {max: {type: float64}}, columns: ["e:top", m]}',
            {"e:ms": "int64", "e:top": "float64", "m": "float64"},
        ),
        ('{processor: sum, columns: ["e:n"]}', {"e:ms": "int64", "e:n": "utf8"}),
        ('{processor: count, columns: ["e:n"]}', {"e:ms": "int64", "e:n": "utf8"}),
        ('{processor: {count: {type: int64}}, columns: ["e:n"]}', {"e:ms": "int64", "e:n": "int64"}),
        ('{processor: {last_n: {n: 2}}, columns: ["e:n"]}', {"e:ms": "int64", "e:n": "json"}),
        ('{processor: merge_json, columns: ["e:n"]}', {"e:ms": "int64", "e:n": "json"}),
        ("{processor: add_cells}", {"e:ms": "int64"}),
    ],
)
def test_columns_of_a_processor_have_its_type(write, updates, types):
    assert types_of(write("e:ms", options=f"families: {{e: {{}}, m: {{}}}}, updates: {updates}, ")) == types


@pytest.mark.parametrize(
    ("column", "updates", "is_conflict"),
    [
        ("e:ms", "{processor: {sum: {type: float64}}}", True),
        ("e:ms", '{processor: sum, columns: ["e:ms"]}', True),
        ("e:ms", "{processor: sum, columns: [e]}", True),
        ("e", "{processor: sum, columns: [e]}", True),
        ("e", '{processor: sum, columns: ["e:n"]}', False),
        ("m:x", "{processor: sum, columns: [e]}", False),
    ],
)
def test_a_type_that_the_processor_does_not_write_is_a_conflict(write, column, updates, is_conflict):
    path = write(column, options=f"families: {{e: {{}}, m: {{}}}}, updates: {updates}, ")
    found = [each for each in problems_of(path) if "conflict: " in each]
    assert bool(found) is is_conflict
    assert all("leave it out: columns that the processor merges have its type" in each for each in found)


def test_types_do_not_change_the_results_of_a_pipeline(write):
    def fingerprint(cell_type):
        return load(write("e:ms", cell_type), env={}, lookup=Catalog()).pipelines["p"].fingerprint

    assert fingerprint("int64") == fingerprint("int32")


def test_a_table_without_options_has_no_types(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(re.sub("{t: .*}}}", "{t: }", FILE))
    assert not load(path, env={}, lookup=Catalog()).column_types("t", "s")


def test_a_table_of_another_store_has_no_types(write):
    configuration = load(write("e:ms"), env={}, lookup=Catalog())
    assert [bool(configuration.column_types("t", store)) for store in (None, "s", "other")] == [True, True, False]
    assert not configuration.column_types("u")
