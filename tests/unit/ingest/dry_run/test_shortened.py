"""Differences of limited size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api.notation import from_notation, to_notation
from ingest.dry_run.shortened import Limit, limited, shortened
from ingest.masks import Masks


def write(value):
    return {"value": value, "timestamp_ms": 1, "writes": 1}


def difference(*cells):
    changed = [{"row": f"{number}", "cells": [cell]} for number, cell in enumerate(cells)]
    return {"events": len(cells), "tables": [{"table": "t", "rows": {"changed": len(cells)}, "changed_rows": changed}]}


def cells_of(found):
    return [cell for row in found["tables"][0]["changed_rows"] for cell in row["cells"]]


def cut(old, new, most=50, masks=None):
    (cell,) = cells_of(shortened(difference({"old": old, "new": new}), most, masks or Masks()))
    return cell["old"], cell["new"]


def test_long_values_are_cut_around_their_first_difference():
    old, new = cut(write("a" * 100 + "x" + "b" * 100), write("a" * 100 + "y" + "b" * 100))
    assert old == write("a" * 20 + "x" + "b" * 29) | {"part": {"from": 80, "to": 130, "of": 201}}
    assert new["value"] == "a" * 20 + "y" + "b" * 29


def test_one_value_alone_is_cut_at_its_end():
    assert cut(write("x" * 60), None) == (write("x" * 50) | {"part": {"from": 0, "to": 50, "of": 60}}, None)


def test_short_values_and_numbers_stay():
    for old, new in ((write("x" * 50), write("y")), (write(5), write(None)), (None, write({"b64": "/w=="}))):
        assert cut(old, new) == (old, new)


def test_a_value_that_is_no_text_is_cut_as_json():
    assert cut(None, write([1, 2] * 50))[1]["value"] == ("[1," + "2,1," * 50)[:50]


def test_secret_is_masked_before_a_part_of_it_is_left():
    masks = Masks(["s3cret"])
    assert cut(None, write("x" * 47 + "s3cret" + "y"), masks=masks)[1]["value"] == "x" * 47 + "***"


@given(st.binary(max_size=60), st.binary(max_size=60), st.integers(25, 40))
def test_values_that_differ_still_do_and_parts_are_of_their_value(old, new, most):
    found = cut(write(to_notation(old)), write(to_notation(new)), most)
    for whole, shown in zip((old, new), found, strict=True):
        part = from_notation(shown["value"])
        assert part in whole
        assert "part" in shown or part == whole
    assert (old == new) == (found[0] == found[1])


@pytest.mark.parametrize(("answer_bytes", "rows"), [(10_000, 3), (250, 1), (100, 0)])
def test_answer_has_fewer_rows_rather_than_too_many_bytes(answer_bytes, rows):
    def found(most):
        whole = difference(*[{"old": None, "new": write("x" * 500)}] * 3)
        del whole["tables"][0]["changed_rows"][most:]
        return whole

    answer = limited(found, Limit(3, answer_bytes, 50), Masks())
    assert (len(cells_of(answer)), answer["tables"][0]["rows"]) == (rows, {"changed": 3})
