"""Pipelines that a guide shows."""

import subprocess
import sys
from pathlib import Path

from tests.support.environments import ROOT


def run_tests(pipeline: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `ingest test` on the text of a pipeline file that uses these environment variables."""
    (folder / "pipeline.yaml").write_text(pipeline)
    return subprocess.run(
        [sys.executable, "-m", "ingest", "test", "pipeline.yaml"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
