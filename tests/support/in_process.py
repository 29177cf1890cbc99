"""Runs commands in the process of a test, which saves seconds: for commands that start no JVM."""

import contextlib
import io
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from unittest.mock import patch

from ingest.cli import main


def run_here(
    words: Sequence[str],
    folder: Path,
    variables: Mapping[str, str] = MappingProxyType({}),
    *,
    is_joined: bool = False,
) -> subprocess.CompletedProcess[str]:
    """
    Run `attr2hbase` with these words.

    Args:
        words: of the command line, without `attr2hbase`.
        folder: working directory of the command.
        variables: of its environment, besides those of this process.
        is_joined: stderr is written to stdout, in the order of the output.
    """
    out, err = io.BytesIO(), io.BytesIO()
    stdout = io.TextIOWrapper(out, "utf-8", write_through=True)
    stderr = stdout if is_joined else io.TextIOWrapper(err, "utf-8", write_through=True)
    with (
        patch.dict(os.environ, variables),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
    ):
        code = main(list(words))
    return subprocess.CompletedProcess(list(words), code, out.getvalue().decode(), err.getvalue().decode())
