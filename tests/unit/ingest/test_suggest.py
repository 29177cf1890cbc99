"""Suggestions for unknown names of options, components and functions."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import decorators
import ingest
import sinks
from ingest.catalog import COMPONENT_TYPES, Catalog
from ingest.expressions import suggestion
from ingest.suggest import COMPONENTS_ELSEWHERE, OPTIONS_ELSEWHERE, closest, did_you_mean, did_you_mean_ours, misspelled

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
def test_most_similar_name_is_suggested(name, meant):
    assert closest(name, KNOWN) == meant
    assert did_you_mean(name, iter(KNOWN)) == ("" if meant is None else f'did you mean "{meant}"?')
    assert suggestion(name, iter(KNOWN)) == ("" if meant is None else f'; did you mean "{meant}"?')


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ofset", "offset"),
        ("kye", "key"),
        ("hoost", "host"),
        ("timstamp", "timestamp"),
        ("key", None),
        ("keys", None),
        ("time", None),
        ("vhost", None),
        ("host_name", None),
        ("id_key", None),
        ("hot", None),
        ("", None),
    ],
)
def test_only_a_slip_of_the_keyboard_is_a_misspelled_name(name, meant):
    assert misspelled(name, iter(["host", "hostname", "key", "offset", "timestamp"])) == meant


def test_no_suggestion_without_known_names():
    assert (closest("split", []), did_you_mean("split", []), suggestion("split", [])) == (None, "", "")


@given(st.text(max_size=120), st.lists(st.text(max_size=12), max_size=6))
def test_suggestion_is_a_known_name_in_any_order(name, known):
    found = closest(name, known)
    assert found is None or found in known
    assert found == closest(name, reversed(known))


def test_no_other_module_looks_for_similar_names():
    folders = [Path(package.__file__).parent for package in (ingest, decorators, sinks)]
    users = [file.name for folder in folders for file in folder.rglob("*.py") if "close_matches" in file.read_text()]
    assert users == ["suggest.py"]


def test_names_of_other_tools_lead_to_existing_components_and_options():
    catalog = Catalog(with_packages=False)
    components = {(each, name) for each in COMPONENT_TYPES for name in catalog.names(each)}
    options = {field for each, name in components for field in catalog.settings(each, name).model_fields}
    assert COMPONENTS_ELSEWHERE.keys() - {name for _, name in components} == set()
    assert OPTIONS_ELSEWHERE.keys() - options == set()


def test_no_component_name_is_mapped_to_another_component():
    names = {name for component_type in COMPONENT_TYPES for name in Catalog(with_packages=False).names(component_type)}
    assert names & {name for others in COMPONENTS_ELSEWHERE.values() for name in others.split()} == set()


def test_name_of_another_tool_is_mapped_to_the_known_name():
    assert did_you_mean_ours("bootstrap.servers", ["brokers", "topics"]) == 'did you mean "brokers"?'
    assert did_you_mean_ours("parse_json", ["json", "kv"]) == 'did you mean "json"?'
    stores = ["host", "port", "bootstrap_servers", "zookeeper"]
    assert did_you_mean_ours("zookeeper_quorum", stores) == 'did you mean "zookeeper"?'
    assert did_you_mean_ours("bootstrap.servers", ["host"]) == ""
    assert did_you_mean_ours("grop", ["group"]) == 'did you mean "group"?'


def test_names_of_ours_that_are_hardly_similar_are_not_suggested():
    assert closest("tokenized", ["token"]) is not None
    assert did_you_mean_ours("clones", ["convert", "cost"]) == ""


def test_further_names_come_after_the_tables():
    more = {"gsub": "replace_pattern", "plus": "add"}
    assert did_you_mean_ours("plus", ["add"], more) == 'did you mean "add"?'
    assert did_you_mean_ours("gsub", ["replace"], more) == 'did you mean "replace"?'
