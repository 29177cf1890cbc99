"""The patches of mutants match the product; tests/fault shows that the ledger detects them."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ledger.mutants.catalogue import MUTANTS, ROOT, environment


@pytest.mark.parametrize("name", MUTANTS)
def test_patches_can_be_applied(name: str) -> None:
    for module_name, patch in MUTANTS[name].patches.items():
        spec = importlib.util.find_spec(module_name)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)  # a copy, so that nothing of this process is changed
        spec.loader.exec_module(module)
        patch(module)


def test_environment_makes_a_process_the_mutant(tmp_path: Path) -> None:
    code = "from sinks.writing.buffer import WriteBuffer; print(WriteBuffer.add.__qualname__)"
    for env, expected in (
        (environment("tear_rows", tmp_path / "acted"), "tear_rows.<locals>.tearing"),
        ({}, "WriteBuffer.add"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": str(ROOT), **env},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == expected
