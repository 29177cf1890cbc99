"""What operators ask of the running pipelines."""

import dataclasses
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from pydantic import ConfigDict

from ingest.api import ConflictError, Model, NotFoundError, option
from ingest.clock import now_ms
from ingest.config.model import no_pipeline
from ingest.durable.files import StateUnavailableError
from ingest.service.pauses import Pauses
from ingest.service.request import request_of

KEPT_RELOADS = 10
"""Reloads whose status can be read."""
RECORDING_S = 1.0
"""Longest wait of a command for another one that is being recorded; on a disk it takes milliseconds."""


MAX_CHECKED = 10_000
"""Records of a check: those of a large topic take seconds to read and run."""


class ReloadRequest(Model):
    """
    A reload. In JSON: `{}`, or `{"check": 1000}`.

    Attributes:
        check: as in `ReloadStatus`.
    """

    model_config = ConfigDict(extra="forbid")

    check: int = option("Records with which each changed pipeline is compared.", default=0, ge=0, le=MAX_CHECKED)

    @classmethod
    def of(cls, content: bytes) -> Self:
        """
        A request from its JSON; without content there is no check.

        Raises:
            ConfigError: it is none.
        """
        return request_of(cls, content, 'send JSON as {"check": 1000}')


class Phase(StrEnum):
    """How far a reload has come."""

    NONE = "none"
    REQUESTED = "requested"
    READING = "reading"
    REPLACING = "replacing"
    BUILDING = "building"
    DONE = "done"
    REFUSED = "refused"

    @property
    def is_active(self) -> bool:
        """Whether the reload has begun and not ended."""
        return self in (Phase.READING, Phase.REPLACING, Phase.BUILDING)


@dataclass(frozen=True, slots=True)
class ReloadStatus:
    """
    The newest reload of a service.

    Attributes:
        at_ms: when it was requested or began, ms since the epoch; 0 if there was none.
        changed, added, removed: names of pipelines.
        reason: why it is refused; "" otherwise.
        hint: what to do about it; "" if the problems say that, or it is not refused.
        problems: of the file, as `Report.to_json` has them.
        failed: pipeline -> why it could not be built; the others were.
        id: number of the reload since the start of the service, from 1; 0 if there was none.
        check: number of records with which each changed pipeline is compared with its running version; the file is
            refused if a result differs. 0 without a check.
        differences: what the check has found, for each changed pipeline: numbers of events, outcomes, rows and cells,
            without contents. `limit_bytes` is None, or the size after which it has left out records.
    """

    phase: Phase = Phase.NONE
    at_ms: int = 0
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    reason: str = ""
    hint: str = ""
    problems: tuple[Mapping[str, object], ...] = ()
    failed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    id: int = 0
    check: int = 0
    differences: tuple[Mapping[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return dataclasses.asdict(self)


class Control:
    """
    The wanted state of the pipelines of a service; the supervisor compares it with the actual one several times a
    second.

    Thread-safe.

    Args:
        pauses: written with each change.
        pipelines: their names.
        can_reload: whether the service reads its file again.
        file: its absolute path.

    Attributes:
        started_ms: when this object was made, ms since the epoch: reloads are numbered from then on.
        compared: id of the newest reload with a check, and for each changed pipeline its difference from the running
            version, as `ingest.dry_run.diff.Diff.to_json` returns it.
    """

    def __init__(self, pauses: Pauses, pipelines: Iterable[str], *, can_reload: bool = True, file: str = "") -> None:
        self._pauses = pauses
        self._can_reload = can_reload
        self.file = file
        self._lock = threading.Lock()
        # of its own: the supervisor takes the other one, and must not wait for a file system that does not answer
        self._recording = threading.Lock()
        self._paused = dict.fromkeys(pipelines, False)
        self._flushes: set[str] = set()
        self._must_reload = False
        self._check_of_next = 0
        self._reloads: dict[int, ReloadStatus] = {}
        self.compared: tuple[int, list[dict[str, Any]]] = (0, [])
        self.started_ms = now_ms()

    def read_pauses(self) -> None:
        """
        Read which pipelines are paused.

        Raises:
            StoreUnavailableError, IntegrityError: as `Pauses`.
        """
        with self._recording:
            found = {pipeline: self._pauses.is_set(pipeline) for pipeline in self._paused}
            with self._lock:
                self._paused |= found

    def add(self, pipeline: str) -> None:
        """
        Take commands for a pipeline; a known one keeps its wanted state.

        Raises:
            StoreUnavailableError, IntegrityError: as `Pauses`.
        """
        with self._recording:
            if pipeline not in self._paused:
                is_paused = self._pauses.is_set(pipeline)
                with self._lock:
                    self._paused[pipeline] = is_paused

    def remove(self, pipeline: str) -> None:
        """Take no more commands for a pipeline; its pause stays."""
        with self._recording, self._lock:
            self._paused.pop(pipeline, None)
            self._flushes.discard(pipeline)

    def reload(self, check: int = 0) -> int:
        """
        Read the file again, and replace the pipelines that have changed; one reload runs after the other.

        Requests before a reload begins are one reload; without a check if one of them has none.

        Args:
            check: as in `ReloadStatus`.

        Returns:
            The id of the reload that reads the file as it is now: an active one may have read it before.

        Raises:
            ConflictError: this service does not read its file again.
        """
        if not self._can_reload:
            raise ConflictError("a run over the existing records (--once) does not read its file again")
        with self._lock:
            if self._must_reload:
                check = max(check, self._check_of_next) if check and self._check_of_next else 0
            self._check_of_next = check
            self._must_reload = True
            if self.reload_status.phase.is_active:
                return self.reload_status.id + 1
            self._request()
            return self.reload_status.id

    @property
    def reload_status(self) -> ReloadStatus:
        """How far the newest reload has come."""
        return next(reversed(self._reloads.values()), ReloadStatus())

    @reload_status.setter
    def reload_status(self, status: ReloadStatus) -> None:
        # one writer at a time: a command while no reload is active, and the thread of the reload while it is
        self._reloads = dict([*(self._reloads | {status.id: status}).items()][-KEPT_RELOADS:])

    def reload_of(self, number: int) -> ReloadStatus:
        """
        How far a reload has come.

        Raises:
            NotFoundError: there was none of this number since the service started, or it was long ago.
        """
        with self._lock:
            found, newest = self._reloads.get(number), self.reload_status
            if found is None and self._must_reload and number == newest.id + 1:
                # begins after the one that runs
                return ReloadStatus(Phase.REQUESTED, id=number, check=self._check_of_next)
        if found is None:
            raise NotFoundError(f"the service has no reload {number}", hint=f"the newest one is {newest.id}")
        return found

    def differences_of(self, number: int) -> list[dict[str, Any]]:
        """
        What the check of a reload has found, with contents of events; see `compared`.

        Raises:
            NotFoundError: there was no such reload, it had no check, or a later one had.
        """
        checked, found = self.compared
        if number != checked:
            raise NotFoundError(
                f"the service has no comparison of reload {number}",
                hint=f"the newest reload with a check is {checked}" if checked else "no reload had a check",
            )
        return found

    def pop_reload(self) -> bool:
        """Whether a reload was requested since the last call, and begins now."""
        with self._lock:
            must_reload, self._must_reload = self._must_reload, False
            if must_reload:
                self._request()
                self._check_of_next = 0
            return must_reload

    def _request(self) -> None:
        newest = self.reload_status
        if newest.phase is Phase.REQUESTED:
            self.reload_status = dataclasses.replace(newest, check=self._check_of_next)
        else:
            self.reload_status = ReloadStatus(Phase.REQUESTED, now_ms(), id=newest.id + 1, check=self._check_of_next)

    def pause(self, pipeline: str) -> None:
        """
        Pause a pipeline after its running batch; it keeps its checkpoint. Durable when this returns.

        Raises:
            NotFoundError: there is no such pipeline.
            StoreUnavailableError: the pause cannot be recorded now, and has no effect.
            IntegrityError: the disk fails.
        """
        self._set_paused(pipeline, self._pauses.set, is_paused=True)

    def resume(self, pipeline: str) -> None:
        """
        Resume a paused pipeline where it stopped. Durable when this returns.

        Raises: as `pause`.
        """
        self._set_paused(pipeline, self._pauses.clear, is_paused=False)

    def flush(self, pipeline: str) -> None:
        """
        Start the next batch of a pipeline now, not at its next interval.

        Raises:
            NotFoundError: there is no such pipeline.
            ConflictError: it is paused.
        """
        with self._lock:
            self._check(pipeline)
            if self._paused[pipeline]:
                raise ConflictError(
                    f'pipeline "{pipeline}" is paused and starts no micro-batch',
                    hint="resume it with 'attr2hbase resume'",
                )
            self._flushes.add(pipeline)

    def check(self, pipeline: str) -> None:
        """
        Check that there is a pipeline.

        Raises:
            NotFoundError: there is not.
        """
        with self._lock:
            self._check(pipeline)

    def is_paused(self, pipeline: str) -> bool:
        """Whether a pipeline is to be paused."""
        with self._lock:
            return self._paused.get(pipeline, False)

    def pop_flush(self, pipeline: str) -> bool:
        """Whether a flush was requested since the last call."""
        with self._lock:
            has_flush = pipeline in self._flushes
            self._flushes.discard(pipeline)
            return has_flush

    def _set_paused(self, pipeline: str, record: Callable[[str], None], *, is_paused: bool) -> None:
        # each waiting command takes one of the few connections of the endpoint
        if not self._recording.acquire(timeout=RECORDING_S):
            raise StateUnavailableError("an earlier command still waits for the file system of the state")
        try:
            self.check(pipeline)
            record(pipeline)
            with self._lock:
                self._paused[pipeline] = is_paused
        finally:
            self._recording.release()

    def _check(self, pipeline: str) -> None:
        if pipeline not in self._paused:
            raise no_pipeline(pipeline, self._paused)
