"""Services of a test run end with it."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.service import ROOT
from tests.support.sessions import processes_of
from tests.support.waiting import reached

# as `faulthandler_exit_on_timeout` ends a run: no `finally`, no `atexit`
_RUN = """
import os, sys
from pathlib import Path
from tests.support.service import Service
with Service(Path(sys.argv[1]), {}) as closed:
    closed.start_command(["sleep", "600"])
left = Service(Path(sys.argv[1]), {})
left.start_command(["sh", "-c", "sleep 600 & wait"])
left.wait_for(lambda: len(left.processes()) == 2, "its processes")
print(left.pid, flush=True)
os._exit(1)
"""


def test_services_end_with_a_run_that_is_cut_off(tmp_path: Path) -> None:
    without_java = os.environ | {"SPARK_SUBMIT_OPTS": ""}  # else the archive of its classes is waited for
    run = subprocess.run(
        [sys.executable, "-c", _RUN, str(tmp_path)],
        cwd=ROOT,
        env=without_java,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1, run.stderr
    session = int(run.stdout)
    assert reached(lambda: not processes_of([session]), 60)
