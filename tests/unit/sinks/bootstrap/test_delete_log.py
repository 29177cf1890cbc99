"""The log of deletes."""

import pytest

from ingest.api import Delete, IntegrityError
from sinks.bootstrap.delete_log import DeleteLog

DELETES = [
    Delete(b"r", 5),
    Delete(b"\xff", 6, b"f"),
    Delete(b"r", 7, b"f", b""),
    Delete(b"r", 8, b"f", b"\xfe:q", exact=True),
]


def test_deletes_of_several_processes(tmp_path):
    path = tmp_path / "folder" / "deletes"
    assert DeleteLog(path).append(DELETES[:3]) == 3
    log = DeleteLog(path)
    assert log.append([]) == 0
    assert log.append(DELETES[3:]) == 1
    assert list(log.deletes(4)) == DELETES
    log.remove()
    assert not path.exists()
    log.remove()
    assert list(log.deletes(0)) == []


def test_lost_deletes_are_an_error(tmp_path):
    with pytest.raises(IntegrityError, match="0 of 1 deletes"):
        list(DeleteLog(tmp_path / "deletes").deletes(1))
