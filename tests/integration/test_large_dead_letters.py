"""Events above the threshold of a body store are refused in Spark, and replayed with a corrected pipeline."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from ingest.api import Scan
from ingest.catalog import Catalog
from ingest.cli import main
from ingest.config import load
from ingest.dead_letters.files import FileDeadLetters
from ingest.plan.stores import owned_store
from tests.support import ticks
from tests.support.service import Service

MIB = 1 << 20
SIZES = (2 * MIB, 20 * MIB, 30 * MIB, 35 * MIB, 500)
EVENTS = {size: letter * size for letter, size in zip("abcde", SIZES, strict=True)}
"""Not JSON. Without bodies, the dead letters of the large ones exceed the limit of a micro-batch."""


def content(folder: Path, decorators: list[object]) -> Mapping[str, object]:
    return {
        "stores": {"local": ticks.rocksdb(folder / "store")},
        "tables": {"events": {"families": {"f": {}}, "bodies": {"threshold": "1MiB", "compression": "lz4"}}},
        "pipelines": {
            "p": {
                "source": {"files": {"path": str(folder / "in"), "max_event_bytes": "64MiB"}},
                "decorators": [*decorators, {"value": {"attribute": "2hb_", "value": "%{sha1(body)}"}}],
                "sinks": [{"attr2hbase": {"table": "events", "write_body": "f:body"}}],
            }
        },
    }


def references(service: Service) -> list[bytes]:
    """References of dead letters to bodies."""
    configuration = load(service.file, env={}, lookup=Catalog())
    with owned_store(configuration.stores["local"], Catalog()) as store:
        found = [row.key[32:] for row in store.scan("events_bodies_refs", Scan())]
    return [reference for reference in found if reference.startswith(b"dead-letter/")]


@pytest.mark.slow
def test_refused_large_events_are_replayed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.log").write_text("".join(f"{value}\n" for value in EVENTS.values()))
    with Service(tmp_path, content(tmp_path, [{"json": {}}])) as service:
        assert service.run_once() == 0, service.last_lines()
        letters = [entry.dead_letter for entry in FileDeadLetters(service.state, "p").entries()]
        lengths = {len(EVENTS[500]) if each.body is None else each.body.length for each in letters}
        assert (len(letters), lengths) == (len(EVENTS), set(EVENTS))
        kept = {each.body_reference for each in letters if each.body is not None}
        assert (set(references(service)), len(kept)) == (kept, len(EVENTS) - 1)
        files = (service.state / "dead-letters" / "p").iterdir()
        assert sum(path.stat().st_size for path in files) < 100_000

        service.write(content(tmp_path, []))
        assert main(["dead-letters", "replay", str(service.file)]) == 0
        assert references(service) == []
        capfd.readouterr()
        assert main(["scan", str(service.file), "events", "--bodies", "--output", "json"]) == 0
        rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        assert sorted(row["cells"][0][3] for row in rows) == sorted(EVENTS.values())
        assert main(["body", "fsck", str(service.file), "events"]) == 0
