"""Files of a service are for its account alone, whatever its umask is."""

import os
import shlex
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.service import START_S, Service, environment
from tests.support.short_lived import java_options

PIPELINE = {
    "source": {"files": {"path": "./in"}},
    "decorators": [
        {"json": {"prefix": "2hb_f:"}},
        {"value": {"attribute": "2hb_", "value": "%{offset}"}},
    ],
    "sinks": [{"attr2hbase": {"table": "t"}}],
}
FILE_MODE, FOLDER_MODE = 0o600, 0o700


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A pipeline with dead letters in files, which writes to RocksDB; its folders are under `written`."""
    for name in ("in", "points"):
        (tmp_path / name).mkdir()
    (tmp_path / "in" / "a.log").write_text('{"a": "1"}\nno JSON\n')
    content = {
        "state_dir": "./written/state",
        "stores": {"kept": {"rocksdb": {"path": "./written/store"}}},
        "spark": {"conf": {"spark.local.dir": str(tmp_path / "written" / "local")}},
        "pipelines": {"lines": PIPELINE},
    }
    with Service(tmp_path, content) as service:
        yield service


def too_open(folder: Path) -> dict[str, str]:
    """Path -> mode of each file, folder and socket in a folder that others can use."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(root, name)
            mode = path.lstat().st_mode
            allowed = FOLDER_MODE if stat.S_ISDIR(mode) else FILE_MODE
            # a socket is created with the rights of a folder
            if stat.S_IMODE(mode) & ~(FOLDER_MODE if stat.S_ISSOCK(mode) else allowed):
                found[str(path.relative_to(folder))] = stat.filemode(mode)
    return found


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)).split("/")[0] for path in folder.rglob("*")}


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for temporary files; its path is short, because Spark's sockets are in it."""
    with tempfile.TemporaryDirectory(prefix="private-") as folder:
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.parametrize("umask", ["000", "077"])
def test_only_the_owner_can_read_what_a_service_writes(service: Service, temporary: Path, umask: str) -> None:
    written, point = service.folder / "written", service.folder / "points" / "before_send"
    variables = {
        "INGEST_FAILPOINT": "before_send:1:hold",
        "INGEST_FAILPOINT_FOLDER": str(point.parent),
        "SPARK_SUBMIT_OPTS": f"{java_options()} -Djava.io.tmpdir={temporary}",
        "TMPDIR": str(temporary),
    }
    service.start_command(with_umask(umask, "run", str(service.file)), env=variables)
    service.wait_for(point.exists, "a batch before it is written", START_S)
    # with the mutations that a task has staged, and the temporary files of Spark
    assert list((written / "state" / "incoming").rglob("*"))
    assert names(written) == {"local", "state", "store"}
    assert any(path.is_socket() for path in temporary.iterdir())
    assert (too_open(written), too_open(temporary)) == ({}, {})
    point.unlink()
    service.wait_for(lambda: list((written / "state" / "dead-letters").rglob("*.jsonl")) != [], "a dead letter")
    service.wait_for(lambda: list((written / "state").rglob("commits/0")) != [], "the acknowledgement")
    assert service.stop() == 0
    assert too_open(written) == {}
    replayed = subprocess.run(
        with_umask(umask, "dead-letters", "replay", "-f", str(service.file)),
        cwd=service.folder,
        env=environment(),
        check=False,
    )
    assert replayed.returncode == 1  # it is still no JSON
    assert list(written.rglob("*.replayed"))
    assert too_open(written) == {}


def with_umask(umask: str, *arguments: str) -> list[str]:
    """`ingest` with these arguments, in a shell with this umask."""
    return ["sh", "-c", f"umask {umask}; exec {shlex.join([sys.executable, '-m', 'ingest', *arguments])}"]
