"""Tests that need a program are skipped without it, but not in CI."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.environments import ROOT
from tests.support.programs import MISSING, needs, path_of, problem_of_skip


def test_programs_are_found_beside_python_and_among_those_of_the_administrator(tmp_path: Path, monkeypatch) -> None:
    assert path_of("no-such-program") is None
    assert path_of("pip") == str(Path(sys.executable).with_name("pip"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert path_of("chroot") in {"/usr/sbin/chroot", "/sbin/chroot", "/usr/bin/chroot"}


def test_skip_names_the_missing_programs() -> None:
    assert needs("sh").args == (False,)
    mark = needs("sh", "no-such-program", "nor-this")
    assert (mark.args, mark.kwargs["reason"]) == ((True,), f"{MISSING}no-such-program, nor-this")


@pytest.mark.parametrize(("variable", "is_problem"), [("", False), ("true", True)])
def test_only_ci_minds(monkeypatch: pytest.MonkeyPatch, variable: str, is_problem: bool) -> None:
    monkeypatch.setenv("CI", variable)
    assert problem_of_skip("needs Linux") is None
    assert (problem_of_skip(f"{MISSING}x") is not None) == is_problem


def test_skipped_test_fails_in_ci(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/unit/deploy/test_systemd_unit.py"],
        cwd=ROOT,
        env={**os.environ, "CI": "true", "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert " passed, 2 errors" in done.stdout, done.stdout + done.stderr
    assert f"{MISSING}systemd-analyze" in done.stdout


def test_machine_on_which_nothing_can_be_installed_gets_the_command(tmp_path: Path) -> None:
    for program in ("bash", "dirname"):
        (tmp_path / program).symlink_to(str(path_of(program)))
    done = subprocess.run(
        [tmp_path / "bash", "deploy/setup/programs.sh", "test"],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "missing: programs that tests need (there is no apt-get); "
        "get them: apt-get install prometheus systemd openssl chromium-driver\n"
    )


def test_no_test_is_skipped_by_another_search_for_a_program() -> None:
    searches = re.compile(r"skipif\([^)]*which\(")
    assert [file.name for file in (ROOT / "tests").rglob("*.py") if searches.search(file.read_text())] == []
