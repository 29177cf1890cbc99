"""The build of another commit, which runs beside this one in the same turns: what a change has won or lost."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILDS = ROOT / "build" / "base"
_SUFFIX = ", base build"


def of_base(rung: str) -> str:
    """The name of a benchmark of the product if the base build runs it."""
    return f"{rung}{_SUFFIX}"


def is_of_base(rung: str) -> bool:
    """Whether the base build runs a benchmark."""
    return rung.endswith(_SUFFIX)


def without_base(rung: str) -> str:
    """The name of a benchmark as this build runs it."""
    return rung.removesuffix(_SUFFIX)


def with_base(rungs: Sequence[str], compared: Sequence[str], commit: str) -> list[str]:
    """The benchmarks, and those of the base build; only those if the commit is empty."""
    return [*rungs, *(of_base(rung) for rung in compared if commit and rung in rungs)]


def python_of(commit: str) -> str:
    """
    The Python of a build of this commit, with the dependencies that it locks; built at the first call, in a minute.

    Raises:
        subprocess.CalledProcessError: this repository has no such commit, or it cannot be built.
    """
    folder = BUILDS / commit
    python, ready = folder / ".venv" / "bin" / "python", folder / ".built"
    if not ready.exists():
        folder.mkdir(parents=True, exist_ok=True)
        files = subprocess.run(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
        subprocess.run(["tar", "-x"], cwd=folder, input=files, check=True)
        subprocess.run(["deploy/setup/venv.sh"], cwd=folder, check=True)
        ready.touch()
    return str(python)
