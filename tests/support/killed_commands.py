"""Commands in a process of their own, in the working directory, that a failpoint kills."""

import signal
import subprocess
import sys

from ingest import failpoint
from tests.support.service import environment


def run(*words: str, kill_at: str = "") -> subprocess.CompletedProcess[str]:
    """A command that is killed at a failpoint, or ends with exit code 0."""
    points = {failpoint.VARIABLE: f"{kill_at}:1:kill", failpoint.FOLDER_VARIABLE: "."} if kill_at else {}
    command = [sys.executable, "-m", "ingest", *words]
    done = subprocess.run(command, env=environment() | points, capture_output=True, text=True, check=False)
    assert done.returncode == (-signal.SIGKILL if kill_at else 0), done.stderr
    return done
