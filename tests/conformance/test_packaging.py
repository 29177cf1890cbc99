"""The content of the wheel, and its commands in an environment without the source tree."""

import pkgutil
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

import ingest
from tests.support.environments import ROOT, environment_with, packages_of, run_in, wheel_of


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel_of(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment_with(tmp_path_factory.mktemp("empty") / "venv", wheel)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder outside the project."""
    (tmp_path / "plain").mkdir()
    return tmp_path / "plain"


def test_wheel_has_the_packages_and_their_data(wheel: Path) -> None:
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
        "pyspark_attr2hbase",
        f"attr2hbase-{ingest.__version__}.dist-info",
        f"attr2hbase-{ingest.__version__}.data",
    }


def test_packages_come_from_the_wheel(installed: Path, outside: Path) -> None:
    code = "import decorators, ingest, sinks; print(*(m.__file__ for m in (decorators, ingest, sinks)), sep='\\n')"
    found = run_in(outside, installed / "bin" / "python", "-c", code)
    packages = packages_of(installed)
    assert found.splitlines() == [str(packages / name / "__init__.py") for name in ("decorators", "ingest", "sinks")]


def test_spark_finds_the_data_source(installed: Path, outside: Path) -> None:
    """By the rule of `pyspark.sql.worker.lookup_data_sources`, and without the libraries of the stores."""
    code = """if True:
        import sys
        from importlib import import_module
        from pkgutil import iter_modules
        names = [module.name for module in iter_modules() if module.name.startswith("pyspark_")]
        print(*(import_module(name).DefaultSource.name() for name in names))
        print(*{"happybase", "rocksdict", "pyarrow"} & sys.modules.keys())
    """
    assert run_in(outside, installed / "bin" / "python", "-c", code).splitlines() == ["attr2hbase", ""]


@pytest.mark.parametrize("command", ["ingest", "attr2hbase"])
def test_commands_work_from_any_folder(installed: Path, outside: Path, command: str) -> None:
    assert run_in(outside, installed / "bin" / command, "--version") == f"attr2hbase {ingest.__version__}\n"
    assert "Usage: attr2hbase validate " in run_in(outside, installed / "bin" / command, "validate", "--help")


def test_module_runs(installed: Path, outside: Path) -> None:
    output = run_in(outside, installed / "bin" / "python", "-m", "ingest", "--version")
    assert output == f"attr2hbase {ingest.__version__}\n"


def test_script_for_spark_submit_is_installed(installed: Path, outside: Path) -> None:
    run_in(outside, installed / "bin" / "attr2hbase", "init", ".")
    command = run_in(outside, installed / "bin" / "attr2hbase", "submit", "pipeline.yaml", "--print")
    assert str(installed / "share" / "attr2hbase" / "attr2hbase_submit.py") in command


@pytest.mark.parametrize("template", ["files", "kafka", "hbase"])
def test_pipeline_of_a_template_passes_its_tests(installed: Path, outside: Path, template: str) -> None:
    command = installed / "bin" / "attr2hbase"
    run_in(outside, command, "init", ".", "--template", template)
    passed = [line for line in run_in(outside, command, "test", "pipeline.yaml").splitlines() if line]
    assert passed
    assert [line for line in passed if not line.startswith("passed")] == []


def test_contracts_on_imports_name_every_module_of_ingest() -> None:
    modules = {f"ingest.{found.name}" for found in pkgutil.iter_modules(ingest.__path__)}
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [layers] = [each["layers"] for each in contracts if "ingest.__main__" in each.get("layers", ())]
    [product] = [each["source_modules"] for each in contracts if each.get("forbidden_modules") == ["ingest.testing"]]

    named = {name for layer in layers for name in layer.split(" | ")} - {"decorators", "sinks"}
    assert named == modules - {"ingest.testing"}
    assert set(product) == named | {"decorators", "sinks"}
