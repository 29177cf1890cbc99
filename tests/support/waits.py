"""A cancellation that notes how long is waited."""

from ingest.service.jobs.cancellation import Cancellation


class Waits(Cancellation):
    """Notes the waits."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def wait(self, seconds: float) -> bool:
        self.seconds.append(seconds)
        return False
