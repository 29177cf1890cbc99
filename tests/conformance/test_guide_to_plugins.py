"""The commands of the guide to plugins give the documented results."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guides" / "plugins.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    plugin, file, test, processor, processor_test = re.findall(
        r"^```(?:python|yaml)\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "steps.py").write_text(plugin)
    (tmp_path / "pipeline.yaml").write_text(file)
    (tmp_path / "test_steps.py").write_text(test)
    (tmp_path / "longest.py").write_text(processor)
    (tmp_path / "test_longest.py").write_text(processor_test)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("ingest", "validate", "pipeline.yaml"), 'decorator "level" is from "steps.py"'),
        (("ingest", "test", "pipeline.yaml"), "1 test passed"),
        (("pytest", "-q", "-p", "no:cacheprovider", "test_steps.py"), " passed"),
        (("pytest", "-q", "-p", "no:cacheprovider", "test_longest.py"), " passed"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_command_of_the_guide_succeeds(folder: Path, command: tuple[str, ...], expected: str) -> None:
    # safe path: no modules are imported from the folder, as with the installed command
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, expected in done.stdout + done.stderr) == (0, True), done.stdout + done.stderr
