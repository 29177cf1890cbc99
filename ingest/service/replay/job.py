"""A replay as a job of a service."""

from collections.abc import Collection

from ingest.api import ConflictError, NotFoundError
from ingest.service.jobs.job import Job, JobReporter, JobRun
from ingest.service.offsets import kafka_source_of
from ingest.service.replay.host import RunningService
from ingest.service.replay.range_replay import RangeReplay
from ingest.service.replay.request import ReplayRequest
from ingest.service.shared import Shared


class ReplayJob(Job):
    """
    Replays a time range of a pipeline, through the stores of the running service; see `RangeReplay`.

    Args:
        pipeline: its name.
        request: which records.
    """

    kind = "replay"

    def __init__(self, pipeline: str, request: ReplayRequest) -> None:
        self.subject = pipeline
        self.request = request
        self._is_checked = False

    def uses(self, pipelines: Collection[str]) -> bool:
        """Whether its pipeline is one of them."""
        return self.subject in pipelines

    def is_same(self, other: Job) -> bool:
        """
        Whether the other one replays the same records in the same way.

        This one may have started with an earlier version of the pipeline, or another rate: it would leave nothing to
        the other one, which would write the records once more.
        """
        if not isinstance(other, ReplayJob) or self.subject != other.subject:
            return False
        is_selected = self.request.selection() == other.request.selection()
        return is_selected and (self._is_checked or self.request.fingerprint == other.request.fingerprint)

    def check(self, shared: Shared) -> None:
        """
        Refuse a pipeline whose source has no offsets, or that the service runs in another version.

        Raises:
            ConfigError: the source is not Kafka.
            ConflictError: the pipeline of the service is not the one that the request means.
        """
        pipeline = shared.configuration.pipelines.get(self.subject)
        if pipeline is None:
            return  # `run` reports one that a reload has removed
        kafka_source_of(pipeline)
        if self.request.fingerprint not in (None, pipeline.fingerprint) and not self._is_checked:
            raise ConflictError(
                f'the service runs another version of pipeline "{self.subject}" than the file has',
                code="other_version",
                hint=f"run 'ingest reload {shared.configuration.path}', then the command with that file",
            )

    def run(self, run: JobRun) -> None:
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
        self.check(shared)
        self._is_checked = True  # a later run resumes with the configuration of a reload, as a restarted command would
        host = RunningService(run)
        replayed = RangeReplay(shared.configuration, pipeline, shared.catalog, self.request, host)
        reporter = JobReporter(run.report)
        totals = replayed.run(
            on_progress=lambda totals, planned: reporter.advanced(totals, totals.batches, planned),
            on_blocked=reporter.blocked,
            cancellation=run.cancellation,
        )
        reporter.advanced(totals, totals.batches, totals.batches)
