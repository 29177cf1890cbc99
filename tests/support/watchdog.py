"""
Kills the test servers in a folder and removes the folder after pytest has ended.

Runs in its own session: `python watchdog.py FOLDER`, with standard input a pipe from pytest. The pipe closes when
pytest ends, even by SIGKILL. Only processes with a pid file in the folder are killed.
"""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "deploy" / "local"))

from local_servers.processes import ServerProcess


def main(folder: Path) -> None:
    """Wait for the end of input, then kill the servers and remove the folder."""
    sys.stdin.read()
    for pid_file in sorted(folder.glob("*/*.pid")):
        ServerProcess(pid_file.stem, pid_file.parent).kill()  # SIGKILL, since the data is removed as well
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
