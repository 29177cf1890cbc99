"""Dead letters, and their topic."""

import pytest

from ingest.api import Record
from ingest.dead_letters.envelope import DeadLetter
from tests.support.dead_letter_topic import Topic


@pytest.fixture
def topic() -> Topic:
    return Topic()


@pytest.fixture
def make_dead_letter():
    def make(offset: int = 0, *, batch_time_ms: int = 1000, value: bytes = b"v", **fields) -> DeadLetter:
        values = {
            "record": Record("ticks", 0, offset, b"k", value, 5),
            "fan_out": 0,
            "attributes": {},
            "pipeline": "p",
            "component": "split",
            "code": "decorate",
            "message": "no",
            "batch_time_ms": batch_time_ms,
            "fingerprint": "f",
        }
        return DeadLetter(**(values | fields))

    return make
