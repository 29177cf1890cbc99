"""Pipelines that a guide shows."""

import subprocess
import sys
from pathlib import Path

from tests.support.environments import ROOT


def run_tests(pipeline: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `ingest test` on the text of a pipeline file."""
    (folder / "pipeline.yaml").write_text(pipeline)
    return subprocess.run(
        [sys.executable, "-m", "ingest", "test", "pipeline.yaml"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
