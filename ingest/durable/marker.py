"""A fact that is recorded once, such as that a dump is complete."""

from ingest.api import ConflictError
from ingest.durable.files import create_durably, file_errors, sync_folder
from ingest.durable.remote import StatePath


class Marker:
    """
    A file that is missing or complete, and never changes.

    Each method raises StoreUnavailableError if the disk is full or permission is denied, and IntegrityError if the disk
    fails.

    Args:
        path: in a folder that exists.
    """

    def __init__(self, path: StatePath) -> None:
        self._path = path

    def write(self, content: bytes = b"") -> None:
        """
        Create the marker; durable when this returns. It may exist with the same content.

        Raises:
            ConflictError: it exists with other content.
        """
        with file_errors(self._path):
            try:
                create_durably(self._path, content)
            except FileExistsError:
                if self._path.read_bytes() != content:
                    raise ConflictError(
                        f'"{self._path}" exists with other content', hint="write under another name"
                    ) from None

    def read(self) -> bytes | None:
        """The content, or None if there is no marker."""
        with file_errors(self._path):
            try:
                return self._path.read_bytes()
            except FileNotFoundError:
                return None

    def remove(self) -> None:
        """Remove the marker, if it exists; durable when this returns."""
        with file_errors(self._path):
            self._path.unlink(missing_ok=True)
            sync_folder(self._path.parent)
