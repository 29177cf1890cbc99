"""
Ends the test servers in a folder and removes it, once the process that started it is gone.

Runs as a process of its own in its own session: `python watchdog.py FOLDER`, with standard input a pipe from pytest.
The pipe closes however pytest ends, also by SIGKILL, and so nothing is ever left running. Only processes with a pid
file in the folder are touched.
"""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "deploy" / "local"))

from local_servers.processes import ServerProcess


def main(folder: Path) -> None:
    """Wait for the end of input, then clear up."""
    sys.stdin.read()
    for pid_file in sorted(folder.glob("*/*.pid")):
        ServerProcess(pid_file.stem, pid_file.parent).kill()  # the data goes too, so there is nothing to end gently
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
