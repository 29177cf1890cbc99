"""README.md agrees with the product."""

import re
import subprocess
import sys
from pathlib import Path

from decorators import BUILTIN, FOR_IMPORTS

README = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")


def section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_readme_lists_every_decorator_once() -> None:
    listed = re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| .*", section("Decorators"), re.MULTILINE)))
    assert sorted(listed) == sorted(BUILTIN.keys() - FOR_IMPORTS)


def test_readme_is_read_in_five_minutes() -> None:
    assert len(README.split()) <= 1_600


def test_mistakes_in_the_first_pipeline_are_reported_as_shown(tmp_path: Path) -> None:
    ingest = Path(sys.executable).with_name("attr2hbase")
    subprocess.run([ingest, "init", "."], cwd=tmp_path, check=True, capture_output=True)
    file = tmp_path / "pipeline.yaml"
    text = file.read_text("utf-8")
    for correct, mistaken in (
        ("%{body} matches", "%{body matches"),
        (" pattern:", " patern:"),
        (": error ", ": eror "),
    ):
        assert text.count(correct) == 1
        text = text.replace(correct, mistaken)
    file.write_text(text, "utf-8")
    console = README.partition("$ attr2hbase validate\n")[2].partition("```")[0]
    done = subprocess.run(
        [ingest, "validate", "pipeline.yaml"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == (console, 2)
