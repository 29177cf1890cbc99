"""Names that were probably meant: the same answer for options, components, functions and whatever is asked for."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import decorators
import ingest
import sinks
from ingest.expressions import suggestion
from ingest.spelling import did_you_mean, nearest

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
    assert nearest(name, KNOWN) == meant
    assert did_you_mean(name, iter(KNOWN)) == ("" if meant is None else f'did you mean "{meant}"?')
    assert suggestion(name, iter(KNOWN)) == ("" if meant is None else f'; did you mean "{meant}"?')


def test_nothing_is_near_where_nothing_is_known():
    assert (nearest("split", []), did_you_mean("split", []), suggestion("split", [])) == (None, "", "")


@given(st.text(max_size=120), st.lists(st.text(max_size=12), max_size=6))
def test_what_is_meant_is_known_whatever_the_order(name, known):
    found = nearest(name, known)
    assert found is None or found in known
    assert found == nearest(name, reversed(known))


def test_nobody_else_looks_for_likeness():
    folders = [Path(package.__file__).parent for package in (ingest, decorators, sinks)]
    users = [file.name for folder in folders for file in folder.rglob("*.py") if "difflib" in file.read_text()]
    assert users == ["spelling.py"]
