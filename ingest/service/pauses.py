"""Which pipelines are paused, in the state of a service."""

from ingest.durable import StatePath, file_errors, make_folder
from ingest.durable.marker import Marker


class Pauses:
    """
    Which pipelines are paused: a marker for each in the state, so that a pause survives a restart.

    Each method raises StoreUnavailableError if the disk is full or permission is denied, and IntegrityError if the disk
    fails.

    Args:
        state: root of the state.
    """

    def __init__(self, state: StatePath) -> None:
        self._folder = state / "paused"

    def is_set(self, pipeline: str) -> bool:
        """Whether a pipeline is paused."""
        return self._marker(pipeline).read() is not None

    def set(self, pipeline: str) -> None:
        """Pause a pipeline; durable when this returns."""
        with file_errors(self._folder):
            make_folder(self._folder)
        self._marker(pipeline).write()

    def clear(self, pipeline: str) -> None:
        """End the pause of a pipeline; durable when this returns."""
        with file_errors(self._folder):
            is_any_set = self._folder.exists()
        if is_any_set:
            self._marker(pipeline).remove()

    def _marker(self, pipeline: str) -> Marker:
        return Marker(self._folder / pipeline)
