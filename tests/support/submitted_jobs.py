"""A fake of the jobs of a service, for tests of schedules."""

from types import SimpleNamespace
from typing import Any

from ingest.service.jobs.job import Job


class SubmittedJobs(list[Job]):
    """
    Keeps what is submitted.

    Args:
        configuration: of the service; None before it has started.

    Attributes:
        error: raised by `submit`; None if it accepts.
    """

    def __init__(self, configuration: Any = None) -> None:
        self.error: Exception | None = None
        self.shared: Any = None
        if configuration is not None:
            self.reload(configuration)

    def reload(self, configuration: Any) -> None:
        """Start the service, or change its configuration."""
        self.shared = SimpleNamespace(configuration=configuration)

    def submit(self, job: Job) -> None:
        """Keep a job, or raise `error`."""
        if self.error is not None:
            raise self.error
        self.append(job)
