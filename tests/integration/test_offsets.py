"""`ingest offsets` against a real broker."""

import json
from pathlib import Path
from typing import Any

from tests.support.by_key import PIPELINE, content_of
from tests.support.checkpoint import acknowledge
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.service import Service


def shown(service: Service) -> dict[str, Any]:
    """The offsets as JSON."""
    done = service.ingest("offsets show", "--output", "json")
    assert done.returncode == 0, done.stderr
    content: dict[str, Any] = json.loads(done.stdout)
    return content


class TestShow:
    def test_offsets_of_checkpoint_group_and_topic(self, kafka: Kafka, tmp_path: Path) -> None:
        topic, group = kafka.create_topic("shown", partitions=2), unique("group")
        kafka.produce(topic, [Given(str(number), key=str(number), partition=0) for number in range(5)])
        service = Service(tmp_path, content_of(kafka, tmp_path, topic, group))

        before = shown(service)
        assert (before["group"], before["batch"], before["replayable_since_ms"]) == (group, None, None)
        nothing = {"acknowledged": None, "group": None, "log_start": 0, "lost": 0, "topic": topic}
        assert before["partitions"] == [
            nothing | {"partition": 0, "log_end": 5, "lag": 5},
            nothing | {"partition": 1, "log_end": 0, "lag": 0},
        ]

        folder = service.checkpoint(PIPELINE).folder
        acknowledge(folder, 3, {topic: {0: 2, 1: 0}})
        (folder / "times").mkdir()
        (folder / "times" / "3").write_text("1763899200000")
        after = shown(service)
        assert (after["batch"], after["batch_time_ms"], after["uncommitted"]) == (3, 1763899200000, None)
        assert [(each["acknowledged"], each["lag"]) for each in after["partitions"]] == [(2, 3), (0, 0)]

        text = service.ingest("offsets show")
        assert text.returncode == 0, text.stderr
        assert "3 of 2025-11-23T12:00:00.000Z" in text.stdout
        assert "lag 3" in text.stderr
