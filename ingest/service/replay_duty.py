"""A replay as a duty of a service."""

import math
from collections.abc import Callable, Collection
from dataclasses import replace

from pydantic import ValidationError

from ingest.api import ConfigError, ConflictError, Model, NotFoundError
from ingest.reference.readable import moment_of
from ingest.service.duty import Duty, DutyRun, Progress
from ingest.service.range_replay import RangeReplay
from ingest.service.replay_host import RunningService
from ingest.service.replay_state import RangeRequest, ReplayTotals


class ReplayRequest(Model):
    """
    The content of a request for a replay, with the meanings of the options of `ingest replay`.

    Attributes:
        start: `--from`.
        end: `--to`.
        fingerprint: of the pipeline that the sender means, since the service may run an older file; None for any.
    """

    start: str
    end: str
    at: str | None = None
    overwrite: bool = False
    rate: float | None = None
    fingerprint: str | None = None

    @classmethod
    def of(cls, content: bytes) -> "ReplayRequest":
        """
        A request from its JSON.

        Raises:
            ConfigError: it is none.
        """
        try:
            return cls.model_validate_json(content)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the request"
            raise ConfigError(f"{place}: {first['msg']}", hint='send JSON as {"start": TIME, "end": TIME}') from error

    def range(self) -> RangeRequest:
        """
        The records to replay.

        Raises:
            ConfigError: a time has another format, the range is empty, or options exclude each other.
        """
        if self.at is not None and self.overwrite:
            raise ConfigError("--at and --overwrite were both given", hint="choose one of them")
        if self.rate is not None and not (math.isfinite(self.rate) and self.rate > 0):
            raise ConfigError("the rate must be above 0")
        at_ms = None if self.at is None else moment_of(self.at)
        return RangeRequest(moment_of(self.start), moment_of(self.end), at_ms, self.overwrite)


class ReplayDuty(Duty):
    """
    Replays a time range of a pipeline, through the stores of the running service; see `RangeReplay`.

    Args:
        pipeline: its name.
        request: which records.

    Raises:
        ConfigError: as `ReplayRequest.range`.
    """

    kind = "replay"

    def __init__(self, pipeline: str, request: ReplayRequest) -> None:
        self.subject = pipeline
        self.request = request
        self._range = request.range()
        self._is_checked = False

    def uses(self, pipelines: Collection[str]) -> bool:
        """Whether its pipeline is one of them."""
        return self.subject in pipelines

    def is_same(self, other: Duty) -> bool:
        """Whether the other one replays the same records in the same way."""
        return isinstance(other, ReplayDuty) and (self.subject, self.request) == (other.subject, other.request)

    def run(self, run: DutyRun) -> None:
        """
        Run the replay, or what an interrupted run has left of it.

        Raises:
            NotFoundError: the service has no such pipeline any more.
            ConflictError: the pipeline of the service is not the one that the request means.
            IngestError: as `RangeReplay.run`.
        """
        shared = run.context.shared
        pipeline = shared.configuration.pipelines.get(self.subject)
        if pipeline is None:
            raise NotFoundError(f'there is no pipeline "{self.subject}"')
        if self.request.fingerprint not in (None, pipeline.fingerprint) and not self._is_checked:
            raise ConflictError(
                f'the service runs another version of pipeline "{self.subject}" than the file has',
                code="other_version",
                hint=f"apply the file with 'ingest reload {shared.configuration.path}', then run the command again",
            )
        self._is_checked = True  # a later run resumes with the configuration of a reload, as a restarted command would
        host = RunningService(run)
        replayed = RangeReplay(shared.configuration, pipeline, shared.catalog, self._range, host)
        progress = _Reporter(run.report)
        totals = replayed.run(
            rate=self.request.rate,
            on_progress=progress.advanced,
            on_blocked=progress.blocked,
            cancellation=run.cancellation,
        )
        progress.advanced(totals, totals.batches)


class _Reporter:
    """Reports the progress of a replay as that of a duty."""

    def __init__(self, report: Callable[[Progress], None]) -> None:
        self._report = report
        self._progress = Progress()

    def advanced(self, totals: ReplayTotals, batches: int) -> None:
        self._progress = Progress(totals.batches, batches, totals.to_json())
        self._report(self._progress)

    def blocked(self, reason: str) -> None:
        self._progress = replace(self._progress, blocked=reason)
        self._report(self._progress)
