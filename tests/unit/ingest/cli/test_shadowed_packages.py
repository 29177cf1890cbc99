"""A user's module with the name of one of our packages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ingest import __version__, cli

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


def test_copy_that_runs_in_place_of_the_installed_one_is_named(tmp_path):
    installed = tmp_path / "packages"
    (installed / "ingest").mkdir(parents=True)
    (installed / "ingest" / "__init__.py").touch()
    code = f"import sys; from ingest.cli import main; sys.path.append({str(installed)!r}); main(['--version'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("attr2hbase ")
    assert done.stderr.startswith(f'warning: attr2hbase {__version__} of "{ROOT}" runs, not the one that is installed')
    assert f'installed in "{installed}"' in done.stderr


def test_installed_copy_needs_no_word(ingest):
    assert ingest("--version").err == ""
