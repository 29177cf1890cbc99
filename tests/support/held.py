"""A second process that holds a lock or file until it is killed."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from tests.support.service import ROOT


@contextlib.contextmanager
def held_by_another(code: str) -> Iterator[subprocess.Popen[str]]:
    """Run Python code in another process, which then waits for SIGKILL; the block starts after the code has run."""
    script = f"from pathlib import Path\n{code}\nprint('held', flush=True)\nimport signal\nsignal.pause()\n"
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()
