"""Large and many dead letters of one micro-batch, in Spark, and their replay with a corrected pipeline."""

import itertools
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ingest.api import Scan
from ingest.catalog import Catalog
from ingest.cli import main
from ingest.config import load
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.dead_letters.files import FileDeadLetters
from ingest.plan.stores import owned_store
from ingest.spark.streaming.batch_runner import WITHOUT_BYTES
from tests.support import ticks
from tests.support.audit import rocksdb_table
from tests.support.service import ROOT, Service

MIB = 1 << 20
SIZES = (2 * MIB, 20 * MIB, 30 * MIB, 35 * MIB, 500)
EVENTS = {size: letter * size for letter, size in zip("abcde", SIZES, strict=True)}
"""Not JSON. Without blobs, the dead letters of the large ones exceed the limit of a micro-batch."""


def content(folder: Path, decorators: list[object]) -> Mapping[str, object]:
    return {
        "stores": {"local": ticks.rocksdb(folder / "store")},
        "tables": {"events": {"families": {"f": {}}, "blobs": {"threshold": "1MiB", "compression": "lz4"}}},
        "pipelines": {
            "p": {
                "source": {"files": {"path": str(folder / "in"), "max_event_bytes": "64MiB"}},
                "decorators": [*decorators, {"value": {"attribute": "2hb_", "value": "%{sha1(body)}"}}],
                "sinks": [{"attr2hbase": {"table": "events", "write_body": "f:body"}}],
            }
        },
    }


def references(service: Service) -> list[bytes]:
    """References of dead letters to blobs."""
    configuration = load(service.file, env={}, lookup=Catalog())
    with owned_store(configuration.stores["local"], Catalog()) as store:
        found = [row.key[32:] for row in store.scan("events_blobs_refs", Scan())]
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
        lengths = {len(EVENTS[500]) if each.blob is None else each.blob.length for each in letters}
        assert (len(letters), lengths) == (len(EVENTS), set(EVENTS))
        kept = {each.blob_reference for each in letters if each.blob is not None}
        assert (set(references(service)), len(kept)) == (kept, len(EVENTS) - 1)
        files = (service.state / "dead-letters" / "p").iterdir()
        assert sum(path.stat().st_size for path in files) < 100_000

        service.write(content(tmp_path, []))
        assert main(["dead-letters", "replay", "-f", str(service.file)]) == 0
        assert references(service) == []
        capfd.readouterr()
        assert main(["scan", "-f", str(service.file), "events", "--blobs", "--output", "json"]) == 0
        rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        assert sorted(row["cells"][0][3] for row in rows) == sorted(EVENTS.values())
        assert main(["admin", "blob", "check", "-f", str(service.file), "events"]) == 0


LIMIT = "from ingest.dead_letters import buffer\n\nbuffer.MAX_DEAD_LETTER_BYTES = 4_000\n"
"""Imported by each Python process: about eight dead letters have the bytes of their records."""
COUNT = 60
"""Lines of a file."""


def checked(folder: Path, *decorators: object) -> Mapping[str, object]:
    return {
        "stores": {"local": ticks.rocksdb(folder / "store")},
        "pipelines": {
            "p": {
                "source": {"files": {"path": str(folder / "in")}},
                "error_budget": {"share": "100%"},
                "decorators": [
                    *decorators,
                    {"value": {"attribute": "2hb_", "value": "%{topic}:%{offset}"}},
                    {"value": {"attribute": "2hb_f:body", "value": "%{body}"}},
                ],
                "sinks": [{"attr2hbase": {"table": "events"}}],
            }
        },
    }


def places_of(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Each line with its offset."""
    return zip(itertools.accumulate((len(line) + 1 for line in lines), initial=0), lines, strict=False)


def offsets_of(letter: DeadLetter) -> Iterator[int]:
    """The offsets of the lines of a dead letter; all lines are equally long."""
    begin = letter.record.offset
    unread = letter.by_place or PlaceRange(begin + 1)
    return (at for at, _ in places_of(["bad! 000"] * COUNT) if begin <= at < (unread.end or 0))


def test_dead_letters_beyond_the_limit_are_by_place_and_replayed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All lines of a file fail, and every third one of another. A replay stores each line once."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "sitecustomize.py").write_text(LIMIT)
    (tmp_path / "in").mkdir()
    lines = {
        name: [f"{'bad!' if is_bad(number) else 'good'} {number:03}" for number in range(COUNT)]
        for name, is_bad in {"all": lambda _: True, "some": lambda number: number % 3 == 0}.items()
    }
    for name, content in lines.items():
        (tmp_path / "in" / name).write_text("".join(f"{line}\n" for line in content))
    check = {"regex": {"pattern": "(?P<word>^good)", "on_no_match": "error"}}
    with Service(tmp_path, checked(tmp_path, check)) as service:
        environment = {"PYTHONPATH": os.pathsep.join([str(tmp_path / "modules"), str(ROOT)])}
        service.start("--once", env=environment)
        assert service.wait_for_exit(300) == 0, service.last_lines()
        letters = [entry.dead_letter for entry in FileDeadLetters(service.state, "p").entries()]
        whole = [letter for letter in letters if letter.by_place is None]
        assert sum(len(letter.to_json()) for letter in whole) <= 4_000
        assert whole
        failed = {
            f"{name}:{at}"
            for name, content in lines.items()
            for at, line in places_of(content)
            if line.startswith("bad!")
        }
        assert {f"{Path(each.record.topic).name}:{at}" for each in letters for at in offsets_of(each)} == failed
        assert sum(each.events for each in letters) == len(failed)
        warnings = [line for line in service.lines() if line["message"] == WITHOUT_BYTES]
        assert [line["records"] for line in warnings] == [len(failed) - len(whole)]

        service.write(checked(tmp_path))
        assert main(["dead-letters", "replay", "-f", str(service.file), "--output", "json"]) == 0
        report = json.loads(capfd.readouterr().out)
        assert (report["replayed"], report["published"]) == (len(letters), {})
    stored = rocksdb_table(tmp_path / "store", "events")
    expected = {
        f"{tmp_path}/in/{name}:{at}": line for name, content in lines.items() for at, line in places_of(content)
    }
    assert {key.decode(): [cell.value.decode() for cell in cells] for key, cells in stored.items()} == {
        key: [line] for key, line in expected.items()
    }
