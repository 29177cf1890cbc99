"""Values written as YAML are read back unchanged, with quotes only where needed."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ingest.config.nodes import compose, plain
from ingest.config.writing import flow, plain_or_quoted, quoted, single_quoted

AWKWARD = [
    "", " ", "a ", " a", "no", "1", "1e5", "null", "~", "true", ".inf", "0x1f", "- a", "-", "a: b", "a:", "a #", "#",
    "*a", "&a", "!a", "%{a}", "@a", "`a`", "{", "[a]", "a, b", "'", '"', "\\d'", "?", "...", "---", "=", "<<", "${A}",
    "\ufeff", "\x85", "\u2028", "\U0001f600", "\x00", "2hb_", "2026-01-31", "1:30",
]  # fmt: skip
TEXTS = st.text(max_size=12) | st.sampled_from(AWKWARD)
LEAVES = TEXTS | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8
)


def read(written):
    problems = []
    root = compose(f"x: {written}\ny: [{written}, 1]\n", "file", problems)
    assert problems == []
    content = plain(root)
    assert repr(content["y"]) == repr([content["x"], 1])
    return content["x"]


@given(VALUES, st.sampled_from([None, quoted]))
def test_every_value_is_read_back_unchanged(value, text):
    written = flow(value, text)
    assert "\n" not in written
    assert read(written) == value


@pytest.mark.parametrize("text", AWKWARD)
def test_awkward_text_is_read_back_unchanged(text):
    assert read(plain_or_quoted(text)) == read(quoted(text)) == text
    assert plain(compose(f"{plain_or_quoted(text)}: 1\n", "file", [])) == {text: 1}


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)))
def test_printable_text_in_single_quotes_is_read_back_unchanged(text):
    assert read(single_quoted(text)) == text


@given(st.text(max_size=12).filter(lambda text: text.isprintable() or text.isascii()))
def test_pyyaml_reads_quoted_text_back_unchanged(text):
    assert yaml.safe_load(quoted(text)) == text


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("words and numbers 5", "words and numbers 5"),
        ("./data/store", "./data/store"),
        ("32KiB", "32KiB"),
        ("5%", "5%"),
        ("198.51.100.7", "198.51.100.7"),
        ("1.5", '"1.5"'),
        ("2hb_f:ts", '"2hb_f:ts"'),
        ("2hb_", '"2hb_"'),
        ("%{key}", '"%{key}"'),
        (r"(\d+) x", r"'(\d+) x'"),
        (r"\d'", '''"\\\\d'"'''),
        ("a\nb\t\x07\u2028", r'"a\nb\t\x07\u2028"'),
        ("\U0001f600", '"\U0001f600"'),
        (math.inf, ".inf"),
        (-math.inf, "-.inf"),
        (1.0, "1.0"),
        ({"a b": [1, None, True], "x:y": {}}, '{a b: [1, null, true], "x:y": {}}'),
        ((), "[]"),
    ],
)
def test_value_is_written_as(value, written):
    assert flow(value) == written


def test_text_can_be_quoted_always():
    assert flow({"a": ["b", 1]}, quoted) == '{a: ["b", 1]}'


def test_not_a_number():
    assert math.isnan(read(flow(math.nan)))


@pytest.mark.parametrize("length", [999, 1_001, 1_024, 5_000])
def test_key_of_any_length_is_read_back_unchanged(length):
    value = {"a" * length: 1, "b": {"\n" * length: 2}}
    assert read(flow(value)) == value
