"""Kills a service at a failpoint, with proof that the failpoint was reached."""

from collections.abc import Mapping
from pathlib import Path

from tests.support.ledger.run import LedgerRun

REACHED_S = 180.0  # a start on a busy machine, and some batches


class Failpoint:
    """
    One of the product's failpoints, for one start of a service.

    Args:
        run: the service and its ledger.
        hit: number of the call that acts, from 1.
        action: `kill` all processes, `die` for one process, or `hold`.
    """

    def __init__(self, run: LedgerRun, point: str, *, hit: int = 1, action: str = "kill") -> None:
        self.point = point
        self._run = run
        self._hit = hit
        self._action = action
        number = len(list(run.service.folder.glob("failpoint-*")))
        self._folder = run.service.folder / f"failpoint-{number}-{point}"
        self._folder.mkdir()

    @property
    def file(self) -> Path:
        """Created when the point is reached; a held process continues when it is removed."""
        return self._folder / self.point

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment of the service."""
        return {
            "INGEST_FAILPOINT": f"{self.point}:{self._hit}:{self._action}",
            "INGEST_FAILPOINT_FOLDER": str(self._folder),
        }

    @property
    def pid(self) -> int:
        """Pid of the process that reached it."""
        return int(self.file.read_text().split()[0])

    def wait_reached(self) -> None:
        """Wait until the failpoint is reached."""
        self._run.service.wait_for(
            lambda: self.file.exists() and self.file.read_text().endswith("\n"), f"{self.point} reached", REACHED_S
        )

    def wait_killed(self) -> None:
        """Wait until the failpoint has killed the service, and record the proof."""
        service = self._run.service
        code = service.wait_for_exit(REACHED_S)
        assert code == -9, f"ended with {code}, expected a kill at {self.point}\n{service.last_lines()}"
        service.wait_until_gone()
        who = "driver" if self.pid == service.pid else "task"
        self._run.proven(f"SIGKILL {self.point}#{self._hit} by {who} {self.pid}")


def killed_at(run: LedgerRun, point: str, *, hit: int = 1) -> None:
    """Start a service, wait until a failpoint kills it, and audit it."""
    failpoint = Failpoint(run, point, hit=hit)
    run.begin(env=failpoint.environment)
    failpoint.wait_killed()
    run.check_while_dead()
