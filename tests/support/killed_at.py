"""Killing a service at a point of the product's own choosing, and proving that it was there."""

from collections.abc import Mapping
from pathlib import Path

from tests.support.ledger.run import LedgerRun

REACHED_S = 180.0  # a start on a busy machine, and then some batches


class Failpoint:
    """
    One of the product's failpoints, for one start of a service.

    Args:
        run: the service and its ledger.
        hit: which call acts, from 1.
        action: kill everything, let one process die, or hold.
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
        """For the service that is to be hurt."""
        return {
            "INGEST_FAILPOINT": f"{self.point}:{self._hit}:{self._action}",
            "INGEST_FAILPOINT_FOLDER": str(self._folder),
        }

    @property
    def pid(self) -> int:
        """Of the process that reached it."""
        return int(self.file.read_text().split()[0])

    def wait_reached(self) -> None:
        """Wait while the service runs."""
        self._run.service.wait_for(
            lambda: self.file.exists() and self.file.read_text().endswith("\n"), f"{self.point} reached", REACHED_S
        )

    def wait_killed(self) -> None:
        """Wait until all of the service is dead by this point, and note it."""
        service = self._run.service
        code = service.wait_for_exit(REACHED_S)
        assert code == -9, f"ended with {code}, was to be killed at {self.point}\n{service.last_lines()}"
        service.wait_until_gone()
        who = "driver" if self.pid == service.pid else "task"
        self._run.proven(f"SIGKILL {self.point}#{self._hit} by {who} {self.pid}")


def killed_at(run: LedgerRun, point: str, *, hit: int = 1) -> None:
    """Start, be killed at a point, and look at what is there."""
    failpoint = Failpoint(run, point, hit=hit)
    run.begin(env=failpoint.environment)
    failpoint.wait_killed()
    run.check_while_dead()
