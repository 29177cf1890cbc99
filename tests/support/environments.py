"""Virtual environments with wheels, without access to the source tree."""

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
    A virtual environment with wheels.

    Their dependencies are those of this environment, without the editable install of this project.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", *wheels], check=True, capture_output=True)
    # a .pth file only adds folders; a site folder would also process the .pth file of the editable install
    (packages_of(folder) / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return folder


def packages_of(environment: Path) -> Path:
    """Folder of the packages of an environment."""
    return environment / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def run_in(folder: Path, *command: str | Path) -> str:
    """Output of a command that must succeed; runs without the variables of this environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, (done.stdout + done.stderr) if done.returncode else "") == (0, "")
    return done.stdout
