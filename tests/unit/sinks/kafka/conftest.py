from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.kafka_sink import Topics


@pytest.fixture
def topics(tmp_path: Path) -> Iterator["Topics"]:
    from tests.support.kafka_sink import Topics  # kafka-python warns where it is imported before the filters are set

    topics = Topics(tmp_path)
    yield topics
    topics.close()
