"""Markers are written once."""

from pathlib import Path

import pytest

from ingest.api import ConflictError, StoreUnavailableError
from ingest.durable.marker import Marker


def test_marker_is_absent_until_written_and_after_removal(tmp_path: Path):
    marker = Marker(tmp_path / "_SUCCESS")
    assert marker.read() is None
    marker.write(b"start\nend\n")
    assert marker.read() == b"start\nend\n"
    marker.remove()
    marker.remove()
    assert (marker.read(), list(tmp_path.iterdir())) == (None, [])


def test_content_cannot_be_changed(tmp_path: Path):
    marker = Marker(tmp_path / "_SUCCESS")
    marker.write(b"one")
    marker.write(b"one")
    with pytest.raises(ConflictError, match='_SUCCESS" exists with other content; write under another name'):
        marker.write(b"two")
    assert (marker.read(), len(list(tmp_path.iterdir()))) == (b"one", 1)


def test_missing_folder_is_an_error(tmp_path: Path):
    with pytest.raises(StoreUnavailableError, match="No such file"):
        Marker(tmp_path / "none" / "_SUCCESS").write()
