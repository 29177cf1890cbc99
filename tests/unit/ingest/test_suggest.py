"""Names that were probably meant: the same answer for options, components, functions and whatever is asked for."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import decorators
import ingest
import sinks
from ingest.catalog import COMPONENT_TYPES, Catalog
from ingest.expressions import suggestion
from ingest.suggest import COMPONENTS_ELSEWHERE, OPTIONS_ELSEWHERE, closest, did_you_mean, did_you_mean_ours

KNOWN = ["split", "separator", "on_error", "2hb_f:ts", "Europe/Berlin"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("spilt", "split"),
        ("separater", "separator"),
        ("on-error", "on_error"),
        ("ON_ERROR", "on_error"),
        ("SPLIT", "split"),
        ("sepa", "separator"),
        ("europe/berlin", "Europe/Berlin"),
        ("2hb_f:td", "2hb_f:ts"),
        ("x", None),
        ("", None),
        ("separator" * 20, None),
    ],
)
def test_the_nearest_name_is_meant(name, meant):
    assert closest(name, KNOWN) == meant
    assert did_you_mean(name, iter(KNOWN)) == ("" if meant is None else f'did you mean "{meant}"?')
    assert suggestion(name, iter(KNOWN)) == ("" if meant is None else f'; did you mean "{meant}"?')


def test_nothing_is_near_where_nothing_is_known():
    assert (closest("split", []), did_you_mean("split", []), suggestion("split", [])) == (None, "", "")


@given(st.text(max_size=120), st.lists(st.text(max_size=12), max_size=6))
def test_what_is_meant_is_known_whatever_the_order(name, known):
    found = closest(name, known)
    assert found is None or found in known
    assert found == closest(name, reversed(known))


def test_nobody_else_looks_for_likeness():
    folders = [Path(package.__file__).parent for package in (ingest, decorators, sinks)]
    users = [file.name for folder in folders for file in folder.rglob("*.py") if "difflib" in file.read_text()]
    assert users == ["suggest.py"]


def test_other_names_lead_to_components_and_options_that_there_are():
    catalog = Catalog(with_packages=False)
    components = {(room, name) for room in COMPONENT_TYPES for name in catalog.names(room)}
    options = {field for room, name in components for field in catalog.settings(room, name).model_fields}
    assert COMPONENTS_ELSEWHERE.keys() - {name for _, name in components} == set()
    assert OPTIONS_ELSEWHERE.keys() - options == set()


def test_no_component_is_taken_for_another():
    names = {name for room in COMPONENT_TYPES for name in Catalog(with_packages=False).names(room)}
    assert names & {name for others in COMPONENTS_ELSEWHERE.values() for name in others.split()} == set()


def test_a_name_of_another_tool_counts_where_ours_is_known():
    assert did_you_mean_ours("bootstrap.servers", ["brokers", "topics"]) == 'did you mean "brokers"?'
    assert did_you_mean_ours("parse_json", ["json", "kv"]) == 'did you mean "json"?'
    assert did_you_mean_ours("bootstrap.servers", ["host"]) == ""
    assert did_you_mean_ours("grop", ["group"]) == 'did you mean "group"?'
