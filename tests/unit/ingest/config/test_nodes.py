"""Nodes: YAML 1.2 scalars, places, merging."""

import math
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ingest.config.nodes import MappingNode, ScalarNode, compose, locations, plain
from ingest.config.reading import merge
from ingest.config.scalars import resolve

CORE = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    "0": 0, "-1": -1, "+12": 12, "007": 7, "0o17": 15, "0x1F": 31,
    "1.5": 1.5, "-.5": -0.5, "1.": 1.0, "1e3": 1000.0, "1.5E-3": 0.0015, ".inf": math.inf, "-.Inf": -math.inf,
    "no": "no", "yes": "yes", "on": "on", "off": "off", "y": "y", "1:30": "1:30", "1_000": "1_000",
    "2026-01-31": "2026-01-31", "0b1": "0b1", "1.2.3": "1.2.3", ".": ".", "-": "-", "+": "+", "e3": "e3",
    "nULL": "nULL", "tRUE": "tRUE", "=": "=", "<<": "<<", "0o8": "0o8", "0xG": "0xG", "inf": "inf", "nan": "nan",
}  # fmt: skip


@pytest.mark.parametrize("text", CORE)
def test_unquoted_scalar_means(text):
    value = resolve(text)
    assert (type(value), value) == (type(CORE[text]), CORE[text])


def test_not_a_number_is_one_of_the_numbers():
    assert all(math.isnan(resolve(text)) for text in (".nan", ".NaN", ".NAN"))


def test_digits_without_end_are_text():
    assert resolve("9" * 10_000) == "9" * 10_000


def node_of(text):
    problems = []
    node = compose(text, "f", problems)
    assert problems == []
    return node


def test_quotes_make_text():
    assert plain(node_of("[\"1\", '1', !!str 1, 1, |\n  1\n]".replace("|\n  1\n", "x"))) == ["1", "1", "1", 1, "x"]


def test_every_node_has_its_place():
    node = node_of("a:\n  - b: 'x'\n    ü: [1, {c: 2}]\n")
    assert {path: (place.line, place.column) for path, place in locations(node).items()} == {
        (): (1, 1),
        ("a",): (2, 3),
        ("a", 0): (2, 5),
        ("a", 0, "b"): (2, 8),
        ("a", 0, "ü"): (3, 8),
        ("a", 0, "ü", 0): (3, 9),
        ("a", 0, "ü", 1): (3, 12),
        ("a", 0, "ü", 1, "c"): (3, 16),
    }


@pytest.mark.parametrize(
    ("text", "column"), [("abc", 3), ("'abc'", 4), ('"abc"', 4), ('"a\\x62c"', 1), ("|\n  abc", 1)]
)
def test_place_inside_a_scalar(text, column):
    node = node_of(text)
    assert isinstance(node, ScalarNode)
    assert node.at(3).column == column


def test_alias_repeats_its_anchor():
    assert plain(node_of("a: &x {b: 1}\nc: *x\nd: [*x, *x]")) == {
        "a": {"b": 1},
        "c": {"b": 1},
        "d": [{"b": 1}, {"b": 1}],
    }


def test_merge_overrides_values_and_merges_mappings():
    merged = merge(node_of("{a: {b: 1, c: 2}, d: [1, 2], e: 1}"), node_of("{a: {b: 3}, d: [4], e: {f: 1}}"))
    assert plain(merged) == {"a": {"b": 3, "c": 2}, "d": [4], "e": {"f": 1}}


ONLY_IN_12 = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)[eE][-+]?\d+|0o[0-7]+")  # numbers of YAML 1.2 that are text in 1.1
texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Co")), max_size=8).filter(
    lambda text: not ONLY_IN_12.fullmatch(text)
)
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(trees, st.booleans())
def test_output_of_pyyaml_is_read_back(tree, flow):
    """PyYAML writes YAML 1.1, whose quotes preserve the types of YAML 1.2, too."""
    text = yaml.safe_dump({"root": tree}, default_flow_style=flow, allow_unicode=True)
    node = node_of(text)
    assert isinstance(node, MappingNode)
    assert plain(node)["root"] == tree
