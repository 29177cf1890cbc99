"""The wheel: what is in it, and that it works where nothing of the source tree is in reach."""

import os
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import ingest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    An environment with the wheel in it. Its dependencies are those of ours, but without what makes this project
    importable in place.
    """
    folder = tmp_path_factory.mktemp("empty") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            folder / "bin" / "python",
            "install",
            "--no-deps",
            "--no-index",
            wheel,
        ],
        check=True,
        capture_output=True,
    )
    packages = _packages(folder)
    # a path file only adds to the path, whereas a site folder would run the one of our editable install too
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder that has nothing to do with the project."""
    (tmp_path / "plain").mkdir()
    return tmp_path / "plain"


def test_the_wheel_holds_the_packages_and_their_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "ingest", "decorators", "sinks"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    expected = {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
    assert expected - names == set()
    assert {"ingest/py.typed", "decorators/py.typed", "sinks/py.typed"} - names == set()
    assert {name.partition("/")[0] for name in names} == {
        "ingest",
        "decorators",
        "sinks",
        f"attr2hbase-{ingest.__version__}.dist-info",
        f"attr2hbase-{ingest.__version__}.data",
    }


def test_packages_come_from_the_wheel(installed: Path, elsewhere: Path) -> None:
    code = "import decorators, ingest, sinks; print(*(m.__file__ for m in (decorators, ingest, sinks)), sep='\\n')"
    found = _run([installed / "bin" / "python", "-c", code], elsewhere)
    packages = _packages(installed)
    assert found.splitlines() == [str(packages / name / "__init__.py") for name in ("decorators", "ingest", "sinks")]


@pytest.mark.parametrize("command", ["ingest", "attr2hbase"])
def test_commands_work_from_any_folder(installed: Path, elsewhere: Path, command: str) -> None:
    assert _run([installed / "bin" / command, "--version"], elsewhere) == f"attr2hbase {ingest.__version__}\n"


def test_module_runs(installed: Path, elsewhere: Path) -> None:
    output = _run([installed / "bin" / "python", "-m", "ingest", "--version"], elsewhere)
    assert output == f"attr2hbase {ingest.__version__}\n"


def test_the_script_for_spark_submit_is_installed(installed: Path, elsewhere: Path) -> None:
    _run([installed / "bin" / "ingest", "init", "."], elsewhere)
    command = _run([installed / "bin" / "ingest", "submit", "pipeline.yaml", "--print"], elsewhere)
    assert str(installed / "share" / "attr2hbase" / "attr2hbase_submit.py") in command


@pytest.mark.parametrize("template", ["files", "kafka", "hbase"])
def test_a_first_pipeline_is_written_and_passes_its_tests(installed: Path, elsewhere: Path, template: str) -> None:
    command = installed / "bin" / "ingest"
    _run([command, "init", ".", "--template", template], elsewhere)
    passed = [line for line in _run([command, "test", "pipeline.yaml"], elsewhere).splitlines() if line]
    assert passed
    assert [line for line in passed if not line.startswith("passed")] == []


def _run(command: list[str | Path], folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr if done.returncode else "") == (0, "")
    return done.stdout


def _packages(folder: Path) -> Path:
    return folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
