"""
Files in another file system, by fsspec: HDFS over WebHDFS, S3, and others that are installed.

- HDFS renames files and folders at once, so a dump becomes visible as on a disk.
- On an object store, such as S3, a file appears when its upload ends. Folders cannot be renamed: the files of a dump
  have their final names at once, and `_SUCCESS`, written last, makes the dump visible. `create` is a conditional write
  (`If-None-Match`): the server refuses all but one. The first `create` is repeated, and a server that does not refuse
  the repetition is refused.
"""

import contextlib
import errno
import io
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from ingest.api import ConfigError
from ingest.retry import Retry
from sinks.files.name_nodes import NameNodes, with_failover
from sinks.files.remote_errors import CREDENTIALS_HINT, remote_errors
from sinks.files.root import TEMPORARY, Entry, Root

_TIMEOUTS_S = (10.0, 120.0)
"""To connect to a server of HDFS, and to wait for its answer; requests waits for ever by default."""
_BUFFER_BYTES = 1 << 20

_PASSWORD = re.compile(r"^((s3a?)?[a-z0-9+.-]*://[^/@:]*:)(?(2).*|[^/@]*)@", re.IGNORECASE)
"""In a URL; a secret key of S3 may have a slash."""
_EXTRAS = {"hdfs": "hdfs", "webhdfs": "hdfs", "s3": "s3", "s3a": "s3"}
"""Scheme -> the extra of this package that installs what fsspec needs for it."""


class RemoteRoot(Root):
    """
    The files below a URL. The first use connects.

    Args:
        url: `hdfs://NAMENODE/path`, or another one for which fsspec has a file system.
        options: of that file system.
        nodes: of the URL of an HDFS; they stay the same in a process that gets the root.
        wait: waits for a number of seconds.
    """

    def __init__(
        self,
        url: str,
        options: Mapping[str, object],
        nodes: NameNodes | None = None,
        *,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        self._url = url.rstrip("/")
        self.url = _PASSWORD.sub(r"\1***@", self._url)
        self._options = dict(options)
        self._nodes = nodes
        self._wait = wait
        self._opened: tuple[Any, str] | None = None
        self._is_hdfs = url.lower().startswith(("hdfs:", "webhdfs:"))
        self._is_s3 = url.lower().startswith(("s3:", "s3a:"))
        self._is_exclusive = False  # whether the server was seen to refuse a second `create`
        self.renames_folders = self._is_hdfs

    def __reduce__(self) -> tuple[object, ...]:
        return RemoteRoot, (self._url, self._options, self._nodes)  # connections stay in this process

    def entries(self, folder: str) -> list[Entry]:
        """Files and folders of a folder."""
        path = self._path(folder)
        with remote_errors(path):
            found = self._files.ls(path, detail=True)
        if [each["name"] for each in found] == [path] and found[0]["type"] != "directory":
            raise NotADirectoryError(errno.ENOTDIR, "it is a file", path)
        names = {each["name"].rstrip("/").rpartition("/")[2]: each for each in found if each["name"] != f"{path}/"}
        return sorted(_entry(name, info) for name, info in names.items())

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder."""
        full = self._path(path)
        try:
            with remote_errors(full):
                self._files.info(full)  # `exists` of fsspec is also false if the server does not answer
        except FileNotFoundError:
            return False
        except PermissionError:
            if not self._is_hdfs:
                self.entries(path)  # an object store does not say why it refuses HEAD, but why it refuses the list
            raise
        return True

    def open(self, path: str) -> BinaryIO:
        """A file for reading; a connection that breaks is opened again at the byte reached."""
        full = self._path(path)
        return cast("BinaryIO", io.BufferedReader(_Reopening(partial(self._open, full), self._wait), _BUFFER_BYTES))

    @contextlib.contextmanager
    def new_file(self, path: str) -> Iterator[BinaryIO]:
        """A file for writing, which appears at the end of the block."""
        if not self._is_hdfs:
            with tempfile.NamedTemporaryFile() as spooled:
                yield cast("BinaryIO", spooled)
                spooled.flush()
                with remote_errors(self._path(path)):  # it is aborted as a whole, unlike an open file of fsspec
                    self._files.put_file(spooled.name, self._path(path))
            return
        with self._written_beside(path) as (temporary, file):
            yield file
            file.close()
            self._move(temporary, self._path(path), "OVERWRITE")

    def create(self, path: str, content: bytes) -> None:
        """Create a file that does not exist; of several processes, one succeeds."""
        if not self._is_hdfs:
            self._create_object(self._path(path), content)
            return
        with self._written_beside(path) as (temporary, file):
            file.write(content)
            file.close()
            self._move(temporary, self._path(path), "NONE")

    def make_folder(self, path: str) -> None:
        """Create a folder and its missing parents; nothing on an object store, which has none."""
        full = self._path(path)
        with remote_errors(full):
            if self._is_hdfs:
                self._files.makedirs(full, exist_ok=True)

    def rename(self, path: str, to: str) -> None:
        """Move a file or a folder; on an object store only a file, which is copied."""
        if self._is_hdfs:
            self._move(self._path(path), self._path(to), "NONE")
            return
        if self.exists(to):
            raise FileExistsError(errno.EEXIST, "it exists", self._path(to))
        self.move(path, to)

    def move(self, path: str, to: str) -> None:
        """Move a file, in place of an older one; on an object store it is copied, which replaces at once too."""
        if self._is_hdfs:
            self._move(self._path(path), self._path(to), "OVERWRITE")
            return
        with remote_errors(self._path(path)):
            self._files.mv(self._path(path), self._path(to))

    def remove_file(self, path: str) -> None:
        """Remove a file."""
        with contextlib.suppress(FileNotFoundError), remote_errors(self._path(path)):
            self._files.rm_file(self._path(path))

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder; of S3 the object that marks it, which some servers and tools make."""
        full = self._path(path)
        with contextlib.suppress(FileNotFoundError), remote_errors(full):
            if self._is_s3:
                self._files.rm_file(f"{full}/")
            else:
                self._files.rm(full, recursive=False)

    def free_bytes(self) -> int | None:
        """Not known: fsspec does not report it."""
        return None

    @property
    def _files(self) -> Any:
        return self._connected()[0]

    def _connected(self) -> tuple[Any, str]:
        if self._opened is None:
            self._opened = _connect(self._url, self.url, self._options, self._nodes)
        return self._opened

    def _path(self, path: str) -> str:
        base = self._connected()[1].rstrip("/")
        return f"{base}/{path}".rstrip("/") or "/"

    def _open(self, full: str) -> BinaryIO:
        with remote_errors(full):
            return cast("BinaryIO", self._files.open(full, "rb"))

    @contextlib.contextmanager
    def _written_beside(self, path: str) -> Iterator[tuple[str, BinaryIO]]:
        folder, _, name = self._path(path).rpartition("/")
        temporary = f"{folder}/{TEMPORARY}{secrets.token_hex(4)}-{name}"
        with remote_errors(temporary):
            file = _Written(self._files.open(temporary, "wb"), temporary)
        try:
            yield temporary, cast("BinaryIO", file)
        except BaseException:
            with contextlib.suppress(OSError):
                file.close()  # else its destructor does
                self.remove_file(f"{path.rpartition('/')[0]}/{temporary.rpartition('/')[2]}".lstrip("/"))
            raise

    def _move(self, path: str, to: str, option: str) -> None:
        """
        Move a file or folder of HDFS at once.

        `mv` of fsspec ignores whether the NameNode has done it, and moves into a folder that exists. With an option the
        NameNode reports the reason.
        """
        with remote_errors(to):
            self._files._call("RENAME", method="put", path=path, destination=to, renameoptions=option)  # noqa: SLF001 - see above

    def _create_object(self, full: str, content: bytes) -> None:
        with remote_errors(full):
            self._files.pipe_file(full, content, mode="create")
        if self._is_exclusive:
            return
        try:
            with remote_errors(full):
                self._files.pipe_file(full, content, mode="create")
        except FileExistsError:
            self._is_exclusive = True
            return
        self._files.rm_file(full)
        raise ConfigError(
            f'the server of "{self.url}" ignores the condition of a write (If-None-Match), so it cannot have a lock',
            hint="update the server, or use another root",
        )


class _Written:
    """A file for writing whose errors have an errno."""

    closed = False

    def __init__(self, file: Any, path: str) -> None:
        self._file = file
        self._path = path
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:
        with remote_errors(self._path):
            written = int(self._file.write(data))
        self._size += written
        return written

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        with remote_errors(self._path):
            self._file.flush()

    def close(self) -> None:
        self.closed = True
        with remote_errors(self._path):
            self._file.close()


def _is_broken(error: Exception) -> bool:
    return isinstance(error, OSError) and not isinstance(error, FileNotFoundError)


_RETRY = Retry(pauses_s=(0.2, 0.4, 0.6), attempts=4, is_transient=_is_broken)
"""Of a read."""


class _Reopening(io.RawIOBase):
    """A file for reading that survives broken connections."""

    def __init__(self, open_file: Callable[[], BinaryIO], wait: Callable[[float], object]) -> None:
        self._open_file = open_file
        self._wait = wait
        self._file = open_file()
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._place = self._file.seek(self._place) if whence == io.SEEK_CUR else self._place
        self._place = self._file.seek(offset, whence)
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        data = _RETRY.run(lambda: self._read(len(buffer)), pause=self._pause)
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)

    def _read(self, length: int) -> bytes:
        if self._file.closed:
            self._file = self._open_file()
        self._file.seek(self._place)
        with remote_errors(""):
            return self._file.read(length)

    def _pause(self, _error: OSError, seconds: float) -> None:
        self._wait(seconds)
        with contextlib.suppress(OSError, RuntimeError):
            self._file.close()

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _connect(url: str, shown: str, options: Mapping[str, object], nodes: NameNodes | None) -> tuple[Any, str]:
    """
    The file system of a URL, and the path in it; messages have the URL as `shown`.

    Raises:
        ConfigError: there is none, or a package is missing.
        OSError: it does not answer.
    """
    scheme = url.partition(":")[0].lower()
    if scheme in ("s3", "s3a") and url != shown:
        raise ConfigError(f'"{shown}" has credentials, which S3 does not read from a URL', hint=CREDENTIALS_HINT)
    try:
        import fsspec

        with remote_errors(shown):
            if nodes is not None:
                options = {**nodes.options(), **fsspec.config.conf.get("webhdfs", {}), **options}
                url = f"webhdfs://{urlsplit(url).path or '/'}"
            # other processes change the files, so nothing is cached
            files, path = fsspec.core.url_to_fs(url, use_listings_cache=False, skip_instance_cache=True, **options)
    except ImportError as error:
        extra = _EXTRAS.get(scheme)
        hint = f"install attr2hbase[{extra}]" if extra else "install the package that the message names"
        raise ConfigError(f'"{shown}" cannot be opened: {error}', hint=hint) from error
    except (ValueError, TypeError) as error:
        raise ConfigError(f'"{shown}" cannot be opened: {error}', hint="correct the URL or its options") from error
    session = getattr(files, "session", None)
    if scheme in ("hdfs", "webhdfs") and session is not None:
        session.request = partial(session.request, timeout=_TIMEOUTS_S)
        if nodes is not None and urlsplit(files.url).netloc in nodes.addresses:
            session.request = with_failover(session.request, nodes.addresses)
        session.hooks["response"].append(_check_datanode)
    return files, path


def _check_datanode(answer: Any, *_arguments: object, **_named: object) -> None:
    """Raise for an error of a DataNode; fsspec would return its page as the content of the file."""
    if "namenoderpcaddress=" in answer.url:
        answer.raise_for_status()


def _entry(name: str, info: Mapping[str, Any]) -> Entry:
    is_folder = info["type"] == "directory"
    changed = info.get("modificationTime", info.get("LastModified", info.get("mtime", 0)))
    if isinstance(changed, datetime):
        changed = changed.timestamp() * 1_000
    return Entry(name, is_folder, 0 if is_folder else int(info["size"] or 0), int(changed or 0))
