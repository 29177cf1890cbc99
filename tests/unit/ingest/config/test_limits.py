"""A YAML file of any depth, size and number of aliases is read within limits, or is a problem."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.config.nodes import (
    MAX_ALIASED,
    MAX_DEPTH,
    TEXT_OF_A_NODE,
    BadYamlError,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    compose,
)
from ingest.config.problems import Kind

LEVELS = st.lists(
    st.tuples(st.sampled_from(["list", "mapping"]), st.integers(0, 40), st.integers(0, 3_000)), max_size=40
)
"""Kind of each level, how often it repeats the level before, and the length of a text in it."""


def written(levels: list[tuple[str, int, int]]) -> str:
    """A file whose levels repeat each other by aliases."""
    lines = ["a0: &a0 [x]"]
    for number, (kind, count, length) in enumerate(levels, 1):
        items = [f"*a{number - 1} "] * count + ["x" * length]
        if kind == "mapping":
            text = "{" + ", ".join(f"k{index}{'x' * (length // 8)}: {item}" for index, item in enumerate(items)) + "}"
        else:
            text = "[" + ", ".join(items) + "]"
        lines.append(f"a{number}: &a{number} {text}")
    return "\n".join(lines)


def measured(node: Node) -> tuple[int, int, int]:
    """Number of nodes, characters and levels, with aliases expanded."""
    match node:
        case ScalarNode(text=text):
            return 1, len(text), 0
        case SequenceNode(items=items):
            children, keys = items, 0
        case MappingNode(entries=entries):
            children, keys = list(entries.values()), sum(map(len, entries))
    found = [measured(child) for child in children]
    nodes, characters, heights = zip(*found, strict=True) if found else ((), (), ())
    return 1 + sum(nodes), keys + sum(characters), 1 + max(heights, default=0)


@given(LEVELS)
def test_aliases_are_expanded_within_limits_or_refused(levels: list[tuple[str, int, int]]) -> None:
    text = written(levels)
    try:
        root = compose(text, "p.yaml", [])
    except BadYamlError as error:
        assert error.problem.kind is Kind.TOO_LARGE  # noqa: PT017 - other files of the same test are accepted
        return
    assert root is not None
    nodes, characters, height = measured(root)
    assert nodes <= len(text) + MAX_ALIASED
    assert characters <= len(text) + 2 * MAX_ALIASED * TEXT_OF_A_NODE
    assert height <= MAX_DEPTH + 1


@given(st.integers(1, 2_000), st.sampled_from(["[", "{a: ", "- ", "? "]))
def test_nesting_beyond_the_limit_is_refused(depth: int, start: str) -> None:
    if depth <= MAX_DEPTH:
        return
    with pytest.raises(BadYamlError):
        compose(start * depth, "p.yaml", [])


def test_long_text_counts_as_several_values() -> None:
    """40 KB of aliases would repeat 10 GB."""
    text = "a: &a " + "x" * 900_000 + "\nb: [" + "*a ," * 9_000 + "]\n"
    with pytest.raises(BadYamlError, match="aliases repeat more than 10000 values"):
        compose(text, "p.yaml", [])


TEXTS = st.text(max_size=20)
TREES = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


@given(TREES)
def test_json_is_read_or_is_a_problem(tree: object) -> None:
    try:
        compose(json.dumps(tree), "p.yaml", [])
    except BadYamlError as error:
        assert str(error.problem)  # noqa: PT017 - most trees are accepted
