"""`make build`: the files of a release, the same for the same commit."""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import ingest
from tests.support.environments import ROOT

NAME = f"attr2hbase-{ingest.__version__}"


def built(folder: Path, umask: int, **environment: str) -> dict[str, bytes]:
    """The files of a build."""
    subprocess.run(
        [sys.executable, "-m", "deploy.release.build", "--to", folder],
        cwd=ROOT,
        env=os.environ | environment,
        umask=umask,
        check=True,
        capture_output=True,
    )
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return built(tmp_path_factory.mktemp("release"), 0o022, TZ="UTC", PYTHONHASHSEED="1")


def test_second_build_has_the_same_bytes_and_replaces_an_earlier_one(release: dict[str, bytes], tmp_path: Path) -> None:
    for name in ("attr2hbase-0.0.1.tar.gz", "SHA256SUMS", "other.txt"):
        (tmp_path / name).touch()
    again = built(tmp_path, 0o077, TZ="Asia/Tokyo", PYTHONHASHSEED="2", SOURCE_DATE_EPOCH="1")
    assert again.pop("other.txt") == b""
    assert release.keys() == again.keys()
    assert {name for name, content in release.items() if again[name] != content} == set()


def test_files_of_a_release(release: dict[str, bytes]) -> None:
    assert set(release) == {
        f"{NAME}-py3-none-any.whl",
        f"{NAME}.tar.gz",
        f"{NAME}.requirements.txt",
        f"{NAME}.cdx.json",
        "NOTICE",
        "SHA256SUMS",
    }
    sums = dict(line.split("  ")[::-1] for line in release["SHA256SUMS"].decode().splitlines())
    contents = {name: content for name, content in release.items() if name != "SHA256SUMS"}
    assert sums == {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


def test_archives_contain_the_notice(release: dict[str, bytes], tmp_path: Path) -> None:
    for name in (f"{NAME}-py3-none-any.whl", f"{NAME}.tar.gz"):
        (tmp_path / name).write_bytes(release[name])
    with zipfile.ZipFile(tmp_path / f"{NAME}-py3-none-any.whl") as wheel:
        assert wheel.read(f"{NAME}.dist-info/licenses/NOTICE") == release["NOTICE"]
    with tarfile.open(tmp_path / f"{NAME}.tar.gz") as source:
        notice = source.extractfile(f"{NAME}/NOTICE")
        assert notice is not None
        assert notice.read() == release["NOTICE"]


def test_sbom_is_of_the_built_version(release: dict[str, bytes]) -> None:
    assert json.loads(release[f"{NAME}.cdx.json"])["metadata"]["component"]["version"] == ingest.__version__
