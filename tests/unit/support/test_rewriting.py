"""Each worker rewrites a part of the test modules, for all."""

import os
import sys
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import _read_pyc

from tests.support.rewriting import modules_of, write_part, written_for


def is_written(module: Path) -> bool:
    """Whether pytest uses the rewritten module."""
    return _read_pyc(module, written_for(module)) is not None


def test_parts_are_all_modules_and_changed_ones_are_written_again(
    tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    modules = [tmp_path / f"test_{number}.py" for number in range(3)]
    for module in modules:
        module.write_text("def test():\n    assert 1\n")
    for part in (1, 0):
        write_part(pytestconfig, modules, part, 2)
        assert [is_written(module) for module in modules] == [part == 0, True, part == 0]
    modules[1].write_text("def test():\n    assert 2\n")
    os.utime(modules[1], (2**32, 2**32))
    assert not is_written(modules[1])
    write_part(pytestconfig, modules, 1, 2)
    assert is_written(modules[1])


def test_modules_are_those_to_be_collected(pytestconfig: pytest.Config):
    assert Path(__file__) in modules_of(pytestconfig)
