"""README.md agrees with the product."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from decorators import BUILTIN, FOR_IMPORTS

README = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")


def section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_readme_lists_every_decorator_once() -> None:
    listed = section("Decorators").partition("\nFor imported Flume configurations:\n")
    found = [sorted(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| .*", part, re.MULTILINE)))) for part in listed]
    assert found == [sorted(BUILTIN.keys() - FOR_IMPORTS), [], sorted(FOR_IMPORTS)]


def test_flume_import_prints_the_shown_output(tmp_path: Path) -> None:
    console = section("Coming from Flume").partition("```console\n")[2].partition("```")[0]
    command, _, shown = console.removeprefix("$ ").partition("\n")
    ingest, *arguments = shlex.split(command)
    done = subprocess.run(
        [Path(sys.executable).with_name(ingest), *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    assert (done.stdout, (tmp_path / "old.yaml").exists()) == (shown, True)
