"""Roots: on this machine, in memory, and in an object store as fsspec has it."""

import errno
import io
import os
import pickle
import socket
import stat

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from ingest.api import ConfigError, ConflictError, StoreUnavailableError
from ingest.durable import file_errors
from sinks.dumps.layout import LOCK
from sinks.dumps.lock import root_lock
from sinks.dumps.reader import DumpReader
from sinks.files.local_root import LocalRoot
from sinks.files.opening import open_root
from sinks.files.remote_errors import remote_errors
from sinks.files.remote_root import RemoteRoot, _check_datanode, _Reopening
from tests.support.dumps import DUMP, make_dump, rows_of
from tests.support.memory_root import MemoryRoot
from tests.support.names import unique
from tests.support.root_contract import RootContract


class TestLocalRoot(RootContract):
    @pytest.fixture
    def root(self, tmp_path):
        return LocalRoot(tmp_path / "dumps")

    def test_files_can_be_read_as_the_umask_allows(self, root, tmp_path):
        before = os.umask(0o022)
        try:
            root.make_folder("a")
            root.write("a/f", b"1")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "dumps" / "a" / "f").stat().st_mode) == 0o644

    def test_free_space_is_known_before_the_root_exists(self, root):
        assert root.free_bytes() > 0


class TestMemoryRoot(RootContract):
    @pytest.fixture
    def root(self):
        return MemoryRoot()


class TestObjectStore(RootContract):
    """The file system in memory of fsspec, used as an object store."""

    @pytest.fixture
    def root(self):
        pytest.importorskip("fsspec")
        return RemoteRoot(f"memory://{unique('bucket')}/dumps", {})


class ForgetfulFiles(MemoryFileSystem):
    """An object store that knows no conditional writes."""

    protocol = "forgetful"

    def pipe_file(self, path, value, **_conditions):
        super().pipe_file(path, value)


def test_object_store_without_conditional_writes_is_refused():
    fsspec.register_implementation("forgetful", ForgetfulFiles, clobber=True)
    root = RemoteRoot(f"forgetful://{unique('bucket')}/dumps", {})
    with pytest.raises(ConfigError, match="ignores the condition of a write"):
        root_lock(root, "one").acquire()
    assert root.file_names(LOCK) == []


class LossyRoot(MemoryRoot):
    """A root whose client repeats requests, since it gets no answer to the first one."""

    def create(self, path, content):
        super().create(path, content)
        super().create(path, content)


def test_lock_is_acquired_if_the_answer_is_lost():
    root = LossyRoot()
    with root_lock(root, "one") as lock:
        lock.check()
        with pytest.raises(ConflictError, match="in use by one"):
            root_lock(root, "two").acquire()


def test_dump_is_complete_if_the_answer_is_lost():
    root = LossyRoot()
    make_dump(root, {"t": [rows_of(b"a")]})
    assert DumpReader(root).latest().name == DUMP


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_credentials_in_a_url_of_s3_are_refused_and_not_shown(scheme):
    with pytest.raises(ConfigError, match=r"credentials, which S3 does not read") as refused:
        DumpReader(f"{scheme}://key:se/cret@bucket/dumps").dumps()
    assert "cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"HTTPStatusCode": 412}, FileExistsError),
        ({"HTTPStatusCode": 409}, FileExistsError),  # beside another write
        ({"HTTPStatusCode": 400}, PermissionError),
        ({"HTTPStatusCode": 500}, OSError),
    ],
)
def test_errors_of_s3_are_those_of_its_answer(answer, kind):
    cause = RuntimeError()
    cause.response = {"Error": {}, "ResponseMetadata": answer}
    with pytest.raises(kind) as found, remote_errors("bucket/f"):
        raise OSError(errno.EINVAL, "refused") from cause
    assert type(found.value) is kind
    assert found.value.errno != errno.EINVAL
    assert found.value.filename == "bucket/f"


def test_server_that_does_not_answer_is_named_in_a_line():
    """Not in the names of classes of the library."""
    requests = pytest.importorskip("requests")
    with pytest.raises(OSError, match="no answer") as found, remote_errors("/dumps"):
        requests.get("http://127.0.0.1:1/dumps", timeout=5)
    assert found.value.strerror == "no answer of 127.0.0.1:1: Connection refused"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(OSError, match="no answer") as found, remote_errors("/dumps"):
            requests.get(f"http://127.0.0.1:{port}/dumps", timeout=0.05)
    assert found.value.strerror == f"no answer of 127.0.0.1:{port}: it timed out"


def test_pickled_root_has_the_same_files(tmp_path):
    root = LocalRoot(tmp_path)
    root.write("f", b"1")
    assert pickle.loads(pickle.dumps(root)).read("f") == b"1"  # noqa: S301 - of this test
    remote = RemoteRoot("webhdfs://host:1/dumps", {"user": "ann"})
    assert pickle.dumps(pickle.loads(pickle.dumps(remote))) == pickle.dumps(remote)  # noqa: S301 - of this test


@pytest.mark.parametrize("url", ["/a/b", "a/b", "file:///a/b"])
def test_paths_of_this_machine(url):
    assert open_root(url).url == url.removeprefix("file://")
    assert isinstance(open_root(url), LocalRoot)


def test_empty_root_is_refused():
    with pytest.raises(ConfigError, match="is empty"):
        open_root("")


@pytest.mark.parametrize("url", ["nosuch://host/path", "webhdfs:///dumps?x"])
def test_url_without_file_system_is_refused(url):
    pytest.importorskip("fsspec")
    with pytest.raises((ConfigError, StoreUnavailableError)):
        open_root(url).entries("")


def test_error_of_a_datanode_is_no_content():
    requests = pytest.importorskip("requests")
    answer = requests.Response()
    answer.url, answer.status_code = "http://datanode:9864/webhdfs/v1/f?op=OPEN&namenoderpcaddress=namenode:8020", 403
    with pytest.raises(OSError, match="403"):
        _check_datanode(answer)
    answer.url = "http://namenode:9870/webhdfs/v1/f?op=OPEN"  # fsspec reads the reason of these
    _check_datanode(answer)


def test_errors_of_the_file_system_have_a_disposition(tmp_path):
    (tmp_path / "file").touch()
    root = LocalRoot(tmp_path / "file")
    with pytest.raises(StoreUnavailableError, match="cannot be used"), file_errors(root):
        root.make_folder("a")


class _Breaking(io.BytesIO):
    """A connection that ends after some bytes."""

    def __init__(self, content, most):
        super().__init__(content)
        self._most = most

    def read(self, size=-1):
        if self._most <= 0:
            raise ConnectionResetError("reset")
        data = super().read(min(size, self._most))
        self._most -= len(data)
        return data


def test_broken_connection_is_opened_again_at_the_byte_reached():
    content = bytes(range(256)) * 40
    waits = []
    with io.BufferedReader(_Reopening(lambda: _Breaking(content, 3_000), waits.append), 1_000) as file:
        assert file.read() == content
    assert set(waits) == {0.2}


def test_read_fails_after_three_repetitions():
    waits = []
    file = io.BufferedReader(_Reopening(lambda: _Breaking(b"x", 0), waits.append))
    with file, pytest.raises(OSError, match="reset"):
        file.read()
    assert waits == pytest.approx([0.2, 0.4, 0.6])


def test_file_that_was_removed_is_missing_when_it_is_opened_again():
    opened = []

    def open_file() -> _Breaking:
        if opened:
            raise FileNotFoundError(errno.ENOENT, "removed")
        opened.append(_Breaking(b"x", 0))
        return opened[-1]

    file = io.BufferedReader(_Reopening(open_file, lambda _seconds: None))
    with file, pytest.raises(FileNotFoundError):
        file.read()


def test_file_that_is_removed_while_a_folder_is_listed_is_left_out(tmp_path):
    root = LocalRoot(tmp_path)
    root.write("f", b"1")
    (tmp_path / "gone").symlink_to(tmp_path / "nothing")  # `stat` finds no file, as after a removal
    assert [entry.name for entry in root.entries("")] == ["f"]
