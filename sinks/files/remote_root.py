"""
Files in another file system, by fsspec: HDFS over WebHDFS, S3, and others that are installed.

- HDFS renames files and folders at once, so a dump becomes visible as on a disk.
- On an object store, such as S3, a file appears when its upload ends. Folders cannot be renamed: the files of a dump
  have their final names at once, and `_SUCCESS`, written last, makes the dump visible. `create` is not exclusive there.
  This is tested with the file system in memory of fsspec, not with a server of S3.
"""

import contextlib
import errno
import io
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any, BinaryIO, cast

from ingest.api import ConfigError
from sinks.files.root import TEMPORARY, Entry, Root

_READS = 4
"""How often a read is tried."""
_WAIT_S = 0.2
"""Before the first repetition of a read; n times as long before the n-th."""
_TIMEOUTS_S = (10.0, 120.0)
"""To connect to a server of HDFS, and to wait for its answer; requests waits for ever by default."""
_BUFFER_BYTES = 1 << 20
_SPOOLED_BYTES = 64 << 20  # of a file for an object store, in memory before it goes to a temporary file

_PASSWORD = re.compile(r"^([a-z0-9+.-]+://[^/@:]*:)[^/@]*@", re.IGNORECASE)
_EXTRAS = {"webhdfs": "hdfs", "s3": "s3", "s3a": "s3"}
"""Scheme -> the extra of this package that installs what fsspec needs for it."""


class RemoteRoot(Root):
    """
    The files below a URL. The first use connects.

    Args:
        url: for which fsspec has a file system, such as `webhdfs://USER@HOST:PORT/path`.
        options: of that file system.
        wait: waits for a number of seconds.
    """

    def __init__(
        self, url: str, options: Mapping[str, object], *, wait: Callable[[float], object] = time.sleep
    ) -> None:
        self._url = url.rstrip("/")
        self.url = _PASSWORD.sub(r"\1***@", self._url)
        self._options = dict(options)
        self._wait = wait
        self._opened: tuple[Any, str] | None = None
        self._is_hdfs = url.lower().startswith("webhdfs:")
        self.renames_folders = self._is_hdfs

    def __reduce__(self) -> tuple[object, ...]:
        return RemoteRoot, (self._url, self._options)  # connections stay in this process

    def entries(self, folder: str) -> list[Entry]:
        """Files and folders of a folder."""
        path = self._path(folder)
        with _errors(path):
            found = self._files.ls(path, detail=True)
        if [each["name"].rstrip("/") for each in found] == [path] and found[0]["type"] != "directory":
            raise NotADirectoryError(errno.ENOTDIR, "it is a file", path)
        names = {each["name"].rstrip("/").rpartition("/")[2]: each for each in found if each["name"] != f"{path}/"}
        return sorted(_entry(name, info) for name, info in names.items())

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder."""
        full = self._path(path)
        try:
            with _errors(full):
                self._files.info(full)  # `exists` of fsspec is also false if the server does not answer
        except FileNotFoundError:
            return False
        return True

    def open(self, path: str) -> BinaryIO:
        """A file for reading; a connection that breaks is opened again at the byte reached."""
        full = self._path(path)
        return cast("BinaryIO", io.BufferedReader(_Reopening(partial(self._open, full), self._wait), _BUFFER_BYTES))

    @contextlib.contextmanager
    def new_file(self, path: str) -> Iterator[BinaryIO]:
        """A file for writing, which appears at the end of the block."""
        if not self._is_hdfs:
            with tempfile.SpooledTemporaryFile(max_size=_SPOOLED_BYTES) as spooled:
                yield cast("BinaryIO", spooled)
                spooled.seek(0)
                self._upload(path, cast("BinaryIO", spooled))
            return
        with self._written_beside(path) as (temporary, file):
            yield file
            file.close()
            self._move(temporary, self._path(path), "OVERWRITE")

    def create(self, path: str, content: bytes) -> None:
        """Create a file that does not exist; on an object store, of two processes at once both may succeed."""
        if not self._is_hdfs:
            if self.exists(path):
                raise FileExistsError(errno.EEXIST, "it exists", self._path(path))
            self._upload(path, io.BytesIO(content))
            return
        with self._written_beside(path) as (temporary, file):
            file.write(content)
            file.close()
            self._move(temporary, self._path(path), "NONE")

    def make_folder(self, path: str) -> None:
        """Create a folder and its missing parents; nothing on an object store, which has none."""
        full = self._path(path)
        with _errors(full):
            if self._is_hdfs:
                self._files.makedirs(full, exist_ok=True)

    def rename(self, path: str, to: str) -> None:
        """Move a file or a folder; on an object store only a file, which is copied."""
        if self._is_hdfs:
            self._move(self._path(path), self._path(to), "NONE")
            return
        if self.exists(to):
            raise FileExistsError(errno.EEXIST, "it exists", self._path(to))
        with _errors(self._path(path)):
            self._files.mv(self._path(path), self._path(to))

    def remove_file(self, path: str) -> None:
        """Remove a file."""
        with contextlib.suppress(FileNotFoundError), _errors(self._path(path)):
            self._files.rm_file(self._path(path))

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""
        full = self._path(path)
        if self._is_hdfs:
            with contextlib.suppress(FileNotFoundError), _errors(full):
                self._files.rm(full, recursive=False)

    def free_bytes(self) -> int | None:
        """Not known: fsspec does not report it."""
        return None

    @property
    def _files(self) -> Any:
        return self._connected()[0]

    def _connected(self) -> tuple[Any, str]:
        if self._opened is None:
            self._opened = _connect(self._url, self.url, self._options)
        return self._opened

    def _path(self, path: str) -> str:
        base = self._connected()[1].rstrip("/")
        return f"{base}/{path}".rstrip("/") or "/"

    def _open(self, full: str) -> BinaryIO:
        with _errors(full):
            return cast("BinaryIO", self._files.open(full, "rb"))

    @contextlib.contextmanager
    def _written_beside(self, path: str) -> Iterator[tuple[str, BinaryIO]]:
        folder, _, name = self._path(path).rpartition("/")
        temporary = f"{folder}/{TEMPORARY}{secrets.token_hex(4)}-{name}"
        with _errors(temporary):
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
        with _errors(to):
            self._files._call("RENAME", method="put", path=path, destination=to, renameoptions=option)  # noqa: SLF001 - see above

    def _upload(self, path: str, content: BinaryIO) -> None:
        full = self._path(path)
        with _errors(full), self._files.open(full, "wb") as file:
            shutil.copyfileobj(content, file, _BUFFER_BYTES)


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
        with _errors(self._path):
            written = int(self._file.write(data))
        self._size += written
        return written

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        with _errors(self._path):
            self._file.flush()

    def close(self) -> None:
        self.closed = True
        with _errors(self._path):
            self._file.close()


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
        for attempt in range(1, _READS + 1):
            try:
                self._file.seek(self._place)
                with _errors(""):
                    data = self._file.read(len(buffer))
                break
            except FileNotFoundError:
                raise
            except OSError:
                if attempt == _READS:
                    raise
                self._wait(_WAIT_S * attempt)
                with contextlib.suppress(OSError, RuntimeError):
                    self._file.close()
                    self._file = self._open_file()
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _connect(url: str, shown: str, options: Mapping[str, object]) -> tuple[Any, str]:
    """
    The file system of a URL, and the path in it; messages have the URL as `shown`.

    Raises:
        ConfigError: there is none, or a package is missing.
        OSError: it does not answer.
    """
    scheme = url.partition(":")[0].lower()
    try:
        import fsspec

        with _errors(shown):
            # other processes change the files, so nothing is cached
            files, path = fsspec.core.url_to_fs(url, use_listings_cache=False, skip_instance_cache=True, **options)
    except ImportError as error:
        extra = _EXTRAS.get(scheme)
        hint = f"install attr2hbase[{extra}]" if extra else "install the package that the message names"
        raise ConfigError(f'"{shown}" cannot be opened: {error}', hint=hint) from error
    except (ValueError, TypeError) as error:
        raise ConfigError(f'"{shown}" cannot be opened: {error}', hint="correct the URL or its options") from error
    session = getattr(files, "session", None)
    if scheme == "webhdfs" and session is not None:
        session.request = partial(session.request, timeout=_TIMEOUTS_S)
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


@contextlib.contextmanager
def _errors(path: str) -> Iterator[None]:
    """Give the errors of a block an errno; those of requests and of HDFS have none."""
    try:
        yield
    except ImportError:
        raise
    except (OSError, RuntimeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise _numbered(error, path) from error


def _numbered(error: Exception, path: str) -> OSError:
    text = str(error)
    lowered = text.lower()
    if isinstance(error, FileNotFoundError) or "filenotfound" in lowered:
        return FileNotFoundError(errno.ENOENT, text, path)
    if isinstance(error, FileExistsError) or "already exist" in lowered or "destination exists" in lowered:
        return FileExistsError(errno.EEXIST, text, path)
    if isinstance(error, PermissionError):
        return PermissionError(errno.EACCES, text, path)
    return OSError(errno.ENOSPC if "quota" in lowered else errno.EHOSTUNREACH, text, path)
