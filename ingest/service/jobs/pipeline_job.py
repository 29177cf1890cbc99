"""The base of jobs that work on one pipeline."""

from ingest.config.model import Configuration, Pipeline
from ingest.service.jobs.job import Job, O


class PipelineJob(Job[O]):
    """Works on one pipeline, which is the one that the command means."""

    runs_pipelines = True

    def __init__(self, subject: str, options: O) -> None:
        super().__init__(subject, options)
        self._pipelines = frozenset([subject])

    def checked(self, configuration: Configuration) -> None:
        """Refuse a pipeline that there is not."""
        self.pipeline(configuration)

    def pipeline(self, configuration: Configuration) -> Pipeline:
        """
        The pipeline of a configuration.

        Raises:
            NotFoundError: a reload has removed it.
        """
        return configuration.pipeline(self.subject)
