"""Where the commands find the running service of a folder."""

from pathlib import Path

from ingest.durable import file_errors, write_durably
from ingest.durable.lock import FolderLock, is_held


class ServiceAddress:
    """
    The URL of a service's endpoint, in `control/url` of its folder: the configured port may be 0.

    The URL is that of the service while a process has the lock of `control`. After the end of the service another
    program may listen there, so nothing is sent to it.

    Order in a service: `take`, `publish`, `release`. Commands send only if `unreachable` is empty.

    Args:
        local_dir: folder of the service on this machine.
    """

    def __init__(self, local_dir: Path) -> None:
        self._folder = local_dir / "control"
        self._file = self._folder / "url"
        self._lock = FolderLock(
            self._folder,
            kind="folder of the commands",
            hint="stop that service first, or give each service another state_dir (with state in HDFS: local_dir)",
        )

    def take(self) -> None:
        """
        Take the folder, and remove the URL of an earlier service.

        Raises:
            ConflictError: another service has it.
            StoreUnavailableError: the disk is full or permission is denied.
        """
        self._lock.acquire()
        with file_errors(self._file):
            self._file.unlink(missing_ok=True)

    def publish(self, url: str) -> None:
        """
        Write the URL of the endpoint for the commands.

        Raises:
            StoreUnavailableError: the disk is full or permission is denied.
        """
        with file_errors(self._file):
            write_durably(self._file, url.encode())

    def release(self) -> None:
        """Release the folder; may be called twice, or without `take`."""
        self._lock.release()

    @property
    def has_started(self) -> bool:
        """Whether a service with this folder has ever started."""
        with file_errors(self._folder):
            return (self._folder / "lock").exists() or self._file.exists()

    @property
    def has_service(self) -> bool:
        """Whether a service with this folder runs on this machine."""
        return self.has_started and is_held(self._folder)

    @property
    def url(self) -> str | None:
        """The URL of the newest service; None if none has written one."""
        with file_errors(self._file):
            try:
                return self._file.read_text().strip()
            except FileNotFoundError:
                return None

    def unreachable(self) -> str:
        """Why no service has the URL; "" if one has, or if none has ever started."""
        if not self.has_started:
            return ""
        if not is_held(self._folder):
            if self.url is None:  # the port was in use, or it was killed before
                return "none with this state_dir runs, and the last start has published no address"
            return "the last service of this state_dir has ended"
        return "" if self.url else "the service of this state_dir has no endpoint yet"
