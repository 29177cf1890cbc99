"""Files of private keys: who else may read them."""

import os
from pathlib import Path

import pytest
from pydantic_core import PydanticCustomError

from ingest.api.files import check_private_key


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key.pem"
    path.write_text("x")
    return path


def is_refused(key: Path, mode: int) -> bool:
    key.chmod(mode)
    try:
        check_private_key(str(key), "key")
    except PydanticCustomError as problem:
        return (problem.context or {})["option"] == "key"
    return False


def test_only_the_owner_may_use_a_key(key):
    modes = (0o600, 0o400, 0o640, 0o604, 0o620, 0o601)
    assert [mode for mode in modes if is_refused(key, mode)] == [0o640, 0o604, 0o620, 0o601]


def test_group_may_read_a_key_of_root(key, monkeypatch):
    """Another account runs the process; the file is of root, unless the tests run as another account."""
    monkeypatch.setattr("ingest.api.files._ROOT", os.geteuid())
    monkeypatch.setattr(os, "geteuid", lambda: 10_001)
    modes = (0o640, 0o440, 0o644, 0o660, 0o650, 0o600)
    assert [mode for mode in modes if is_refused(key, mode)] == [0o644, 0o660, 0o650]


def test_missing_file_passes():
    check_private_key("/nowhere/key.pem", "key")
    check_private_key("\0", "key")
    check_private_key(None, "key")
