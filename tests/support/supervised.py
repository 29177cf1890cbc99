"""A supervisor with a fake pipeline, whose query has the state that a test sets."""

import time
from collections.abc import Callable
from pathlib import Path

from ingest.api import IngestError
from ingest.observe.activity import Activity
from ingest.observe.health import Health, State
from ingest.observe.metrics import Metrics
from ingest.service.control import Control
from ingest.service.jobs.loans import Loans
from ingest.service.jobs.scheduler import Jobs
from ingest.service.lifecycle import Stop
from ingest.service.member import Member, Running
from ingest.service.observer import PipelineObserver, Totals
from ingest.service.pauses import Pauses
from ingest.service.supervisor import Supervisor

NOWHERE = Path("/nowhere")
"""A state folder that does not exist: no pipeline is paused."""


class Query:
    """A fake of a Spark query; its attributes are its results."""

    def __init__(self) -> None:
        self.has_ended = False
        self.error: BaseException | None = None
        self.is_drained = True
        self.refuses = False
        self.has_no_data = False
        self.running_s = 0.0
        self.stops = 0

    def ended(self) -> bool:
        return self.has_ended

    def failure(self) -> BaseException | None:
        return self.error

    def failure_of_batch(self) -> BaseException | None:
        return self.error

    def is_reading(self) -> bool:
        return not self.has_ended

    def is_waiting(self) -> bool:
        return self.has_no_data

    def refuse_batches(self) -> None:
        self.refuses = True

    def drained(self) -> bool:
        return self.is_drained

    def accept_batches(self) -> None:
        self.refuses = False

    def wait_drained(self, timeout_s: float) -> bool:
        return self.is_drained

    def stage_s(self) -> float:
        return self.running_s

    def is_idle(self) -> bool:
        return True

    @property
    def stopped(self) -> bool:
        return self.stops > 0

    def stop(self) -> None:
        self.stops += 1


class Pipeline:
    """A fake of a pipeline, with the query above."""

    name = "p"

    def __init__(self, bench: "Bench") -> None:
        self.query = bench.query
        self.observer = bench.observer
        self.every_s = 0.0
        self.start: Callable[[], None] = bench.start
        self._bench = bench

    def fatal(self) -> IngestError | None:
        return self._bench.fatal

    def unavailable(self) -> str | None:
        return self._bench.unavailable

    def stop(self) -> None:
        self.query.stop()
        self._bench.stops += 1

    def has_stopped(self) -> bool:
        return True

    def lend(self, borrow: Callable[[str], object]) -> None:
        borrow("its checkpoint")


class Bench:
    """A supervisor with one pipeline."""

    def __init__(
        self,
        start: Callable[["Bench"], None],
        *,
        once: bool = False,
        stop_timeout_s: float = 0.05,
        state_dir: Path = NOWHERE,
        loans: Loans | None = None,
    ) -> None:
        self.health = Health(["p"])
        self.query = Query()
        self.control = Control(Pauses(state_dir), ["p"])
        self.control.read_pauses()
        self.observer = PipelineObserver(
            "p", self.health, Metrics(process=False), Activity(), lambda _pipeline, _totals: None, Totals()
        )
        self.stop = Stop()
        self.jobs = Jobs(Metrics(process=False))
        self.starts = 0
        self.stops = 0
        self._start = start
        self.fatal: IngestError | None = None
        self.unavailable: str | None = None
        self.wall_offset_s = 1_000.0
        self.pipeline = Pipeline(self)
        self.member = Member(self.pipeline)
        self.supervisor = Supervisor(
            [self.member],
            self.control,
            once=once,
            jobs=self.jobs,
            stop=self.stop,
            stop_timeout_s=stop_timeout_s,
            loans=loans,
            is_alive=lambda: self.is_alive,
            unresponsive_s=lambda: self.unresponsive_s,
            wall_s=lambda: time.monotonic() + self.wall_offset_s,
        )
        self.is_alive = True
        self.unresponsive_s = 0.0

    def start(self) -> None:
        self.starts += 1
        self._start(self)

    @property
    def running(self) -> Running:
        """The state of a pipeline whose query runs; a new one if it does not."""
        return self.member.state if isinstance(self.member.state, Running) else Running()

    @property
    def state(self) -> State:
        return self.health.snapshot()[0].state
