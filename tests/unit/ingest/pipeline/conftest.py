from pathlib import Path

import pytest

from ingest.api import TaskSpec
from tests.support.without_spark import staging_spec


@pytest.fixture
def spec(tmp_path: Path) -> TaskSpec:
    """The spec of a task that stages its puts."""
    return staging_spec(tmp_path)
