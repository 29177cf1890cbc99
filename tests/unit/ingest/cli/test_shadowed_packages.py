"""A user's module with the name of one of our packages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ingest import cli

ROOT = Path(cli.__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "file"), [("decorators", "decorators/__init__.py"), ("decorators", "decorators.py"), ("sinks", "sinks.py")]
)
def test_module_that_shadows_a_package_is_named(tmp_path, name, file):
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text("raise SystemExit('it was imported')")
    done = subprocess.run(
        [sys.executable, "-m", "ingest", "describe"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f'error[config]: "{path}" shadows the package "{ROOT / name}"\n  hint: rename it' in done.stderr


def test_folder_without_code_shadows_nothing(tmp_path):
    (tmp_path / "decorators").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "ingest", "describe", "regex"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
