"""
Test modules whose assertions pytest has rewritten: each worker of pytest-xdist writes a part of them.

In a clone without these files every worker would rewrite all modules, which takes each of them half a minute of CPU.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _rewrite_test, _write_pyc, assertstate_key, get_cache_dir, try_makedirs


def modules_of(config: pytest.Config) -> list[Path]:
    """The test modules that are to be collected, in an order that all workers have."""
    paths = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    return sorted({file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else [path])})


def write_part(config: pytest.Config, modules: Sequence[Path], part: int, parts: int) -> None:
    """
    Rewrite the modules of one part that have changed since, or were never rewritten.

    A module that is missing when it is collected, because another worker is late, is rewritten as usual.

    Args:
        config: of pytest.
        modules: those of all parts.
        part: number of the worker, from 0.
        parts: number of workers.
    """
    if sys.dont_write_bytecode:
        return
    for module in modules[part::parts]:
        written = written_for(module)
        if not written.exists() or written.stat().st_mtime < module.stat().st_mtime:
            try_makedirs(written.parent)
            source_hash, code = _rewrite_test(module, config)
            _write_pyc(config.stash[assertstate_key], code, source_hash, written)


def written_for(module: Path) -> Path:
    """Where pytest looks for the rewritten module."""
    return get_cache_dir(module) / f"{module.stem}{PYC_TAIL}"
