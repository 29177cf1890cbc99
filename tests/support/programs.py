"""Programs that tests need. Without one, its tests are skipped; where the variable `CI` is set, they fail."""

import os
import shutil
import sys
from pathlib import Path

import pytest

MISSING = "missing program: "
"""Start of the reason why a test is skipped for want of a program."""


def path_of(program: str) -> str | None:
    """Where a program is: beside this Python, on the path, or among those of the administrator; None if nowhere."""
    beside = Path(sys.executable).with_name(program)
    return str(beside) if beside.exists() else shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")


def needs(*programs: str) -> pytest.MarkDecorator:
    """Mark of a test that cannot run without these programs."""
    missing = [program for program in programs if path_of(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{MISSING}{', '.join(missing)}")


def problem_of_skip(reason: str) -> str | None:
    """Why a test may not be skipped here; None if it may."""
    if not reason.startswith(MISSING) or not os.environ.get("CI"):
        return None
    return f"{reason}; deploy/setup/programs.sh installs what CI needs"
