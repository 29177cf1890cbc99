"""A table with deferred updates has one owner, and its events are counted again only on request: `attr2hbase run`."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.service import Service

EVENTS = 500


def content(folder: Path, pipeline: str) -> dict[str, Any]:
    return {
        "stores": {"s": {"rocksdb": {"path": str(folder / "store")}}},
        "tables": {"hits": {"families": {"c": {}}, "updates": {"processor": "count"}}},
        "pipelines": {
            pipeline: {
                "source": {"files": {"path": str(folder / "in")}},
                "decorators": [
                    {"value": {"attribute": "2hb_", "value": "all"}},
                    {"static": {"attributes": {"2hb_c:n": "x"}}},
                ],
                "sinks": [{"attr2hbase": {"table": "hits"}}],
            }
        },
    }


def counted(service: Service) -> int:
    found = service.ingest("get", "hits", "all", "--output", "json")
    assert found.returncode == 0, found.stderr
    ((_, _, _, value),) = json.loads(found.stdout)["cells"]
    return int(value)


@pytest.mark.slow
def test_owner_and_recount_of_a_counter(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.log").write_text("hit\n" * EVENTS)
    with Service(tmp_path, content(tmp_path, "first")) as service:
        assert service.run_once() == 0, service.last_lines()
        assert counted(service) == EVENTS

        service.write(content(tmp_path, "second"))
        assert service.run_once() == 4, service.last_lines()
        # it starts where the first pipeline has ended
        assert service.run_once("--take-over") == 0, service.last_lines()
        assert counted(service) == EVENTS

        shutil.rmtree(service.checkpoint("second").folder)
        assert service.run_once() == 0, service.last_lines()
        assert counted(service) == EVENTS
        shutil.rmtree(service.checkpoint("second").folder)
        # "run" counts again what it reads again
        assert service.run_once("--recount") == 0, service.last_lines()
        assert counted(service) == 2 * EVENTS
