"""Each check of a region server gets its inputs by the names of its parameters."""

import inspect

import pytest

from ingest.doctor.examination import Skipped
from ingest.doctor.hbase.checks import CHECKS, Check, examinations
from ingest.doctor.hbase.inputs import UNKNOWN, Inputs
from ingest.doctor.hbase.server import RegionServer

NAMES = {name for name, _ in inspect.getmembers(Inputs) if not name.startswith("_")}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_parameters_are_inputs_with_a_reason_to_skip_the_check(check: Check) -> None:
    parameters = inspect.signature(check.find).parameters.values()
    assert {parameter.name for parameter in parameters} <= NAMES
    needed = {parameter.name for parameter in parameters if parameter.default is inspect.Parameter.empty}
    may_be_unknown = {name for name in needed if getattr(Inputs(), name) is None}
    assert may_be_unknown <= UNKNOWN.keys()


def test_every_reason_is_of_an_input_that_may_be_unknown() -> None:
    assert all(getattr(Inputs(), name) is None for name in UNKNOWN)


def test_check_without_its_inputs_is_skipped_with_the_reason() -> None:
    outcomes = [examination.run() for examination in examinations(Inputs())]
    assert any(isinstance(outcome, Skipped) and outcome.reason in UNKNOWN.values() for outcome in outcomes)


def test_sizes_in_bytes_without_a_heap_skip_the_check_of_the_heap() -> None:
    (check,) = (each for each in examinations(Inputs(server=RegionServer(block_cache_bytes=1))) if each.check == "M1")
    assert check.run() == Skipped(UNKNOWN["memory"])
