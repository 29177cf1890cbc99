"""Pipelines that a guide shows."""

import io
import os
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from ingest.cli import main


def run_tests(pipeline: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `ingest test` in this process, on the text of a pipeline file that uses these environment variables."""
    (folder / "pipeline.yaml").write_text(pipeline)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    arguments = ["test", "pipeline.yaml"]
    with chdir(folder), patch.dict(os.environ, variables, clear=True), redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return subprocess.CompletedProcess(arguments, code, text_of(out), text_of(err))


def text_of(stream: io.TextIOWrapper) -> str:
    """What was written."""
    stream.seek(0)
    return stream.read()
