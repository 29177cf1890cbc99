"""Pipelines that a guide shows."""

import os
import subprocess
from pathlib import Path
from unittest.mock import patch

from tests.support.in_process import run_here


def run_tests(pipeline: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `attr2hbase test` on the text of a pipeline file, with these environment variables and no others."""
    (folder / "pipeline.yaml").write_text(pipeline)
    with patch.dict(os.environ, clear=True):
        return run_here(["test", "pipeline.yaml"], folder, variables)
