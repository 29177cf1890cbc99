"""The staged files of an attempt, on the driver."""

from pathlib import Path

import pytest

from ingest.api import Batch, StoreUnavailableError
from ingest.api.driver_feature import PreparedFeatures, StoreFeatures
from sinks.memory import MemoryStore
from sinks.writing.driver_store import DriverStore
from sinks.writing.families import FamilyRegistry
from sinks.writing.staged_committer import StagedCommitter


class Away(StoreFeatures):
    """Cannot be prepared."""

    def prepare(self, batch_time_ms: int) -> PreparedFeatures:
        raise StoreUnavailableError(f"no table at {batch_time_ms}")


def test_files_of_earlier_attempts_are_gone_although_a_feature_fails(tmp_path: Path) -> None:
    for attempt in ("1", "2"):
        (tmp_path / attempt).mkdir()
        (tmp_path / attempt / "task").write_bytes(b"rows")
    driver = DriverStore(MemoryStore())
    committer = StagedCommitter(driver, FamilyRegistry(driver, {}, {None: 1}, {}), tmp_path, features=Away())
    with pytest.raises(StoreUnavailableError, match="no table"):
        committer.prepare(Batch("b", 5, "2"), [])
    assert [path.name for path in tmp_path.iterdir()] == ["2"]
    committer.abort(Batch("b", 5, "2"))
    assert list(tmp_path.iterdir()) == []
