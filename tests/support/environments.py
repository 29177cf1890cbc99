"""Environments of their own, with wheels in them and nothing of the source tree in reach."""

import os
import site
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def wheel_of(project: Path, folder: Path) -> Path:
    """The wheel of a project, built into an empty folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def environment_with(folder: Path, *wheels: Path) -> Path:
    """
    An environment with wheels in it.

    Their dependencies are those of ours, but without what makes this project importable in place.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", *wheels], check=True, capture_output=True)
    # a path file only adds to the path, whereas a site folder would run the one of our editable install too
    (packages_of(folder) / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return folder


def packages_of(environment: Path) -> Path:
    """Where an environment has its packages."""
    return environment / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def run_in(folder: Path, *command: str | Path) -> str:
    """What a command says that does well, in a folder and without what our own environment sets."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, (done.stdout + done.stderr) if done.returncode else "") == (0, "")
    return done.stdout
