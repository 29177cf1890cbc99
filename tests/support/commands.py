"""Runs the command `attr2hbase` in a folder."""

import subprocess
import sys
from pathlib import Path

from tests.support.in_process import run_here
from tests.support.service import environment

INGEST = Path(sys.executable).with_name("attr2hbase")
# the default port of the endpoint may be in use on this machine
ANY_PORT = '\nservice: {http: {listen: "127.0.0.1:0"}}\nspark: {master: "local[2,4]"}\n'


class Folder:
    """A folder in which commands run."""

    def __init__(self, path: Path, **variables: str) -> None:
        self.path = path
        self.environment = environment() | variables
        self._variables = variables

    def __call__(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run `attr2hbase` with these arguments; checks the exit code."""
        done = subprocess.run(
            [INGEST, *arguments], cwd=self.path, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def here(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """As a call, in this process; for commands that start no JVM."""
        done = run_here(arguments, self.path, self._variables)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def add(self, text: str) -> None:
        """Append to the pipeline file."""
        with (self.path / "pipeline.yaml").open("a") as file:
            file.write(text)
