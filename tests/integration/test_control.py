"""Status, pause, resume and flush of a real service, by its commands."""

import json
import os
import signal
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.service.endpoint.client import ServiceClient
from ingest.service.pauses import Pauses
from tests.support.audit import rocksdb_table
from tests.support.service import Service


def pipeline(source: Path, **options: object) -> dict[str, Any]:
    source.mkdir(parents=True)
    return {
        "source": {"files": {"path": str(source)}},
        "decorators": [
            {"value": {"attribute": "2hb_", "value": "%{body}"}},
            {"value": {"attribute": "2hb_f:q", "value": "x"}},
        ],
        "sinks": [{"attr2hbase": {"table": source.name}}],
        **options,
    }


def commanded(service: Service, command: str, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
    ended = service.command(command, *arguments, "--output", "json")
    assert ended.returncode == code, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def damaged_checkpoint(service: Service, name: str) -> None:
    """Create a checkpoint that cannot be opened."""
    folder = service.checkpoint(name).folder
    (folder / "commits").mkdir(parents=True)
    (folder / "commits" / "0").write_text("v1\n{}")


def stored(service: Service, name: str) -> int:
    return int(service.metric("attr2hbase_events_stored_total", pipeline=name))


@pytest.mark.usefixtures("hangs_up")
def test_commands_change_a_running_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = {
        "stores": {"rows": {"rocksdb": {"path": str(tmp_path / "store")}}},
        "pipelines": {
            "now": pipeline(tmp_path / "now"),
            "hourly": pipeline(tmp_path / "hourly", trigger={"every": "1h"}),
        },
    }
    with Service(tmp_path / "service", content) as service:
        for name in ("now", "hourly"):
            (tmp_path / name / "1.txt").write_text("a\nb\n")
        service.start()
        for name in ("now", "hourly"):
            service.wait_for(lambda name=name: stored(service, name) == 2, name, 120)

        # the next batch of an hourly pipeline starts at its flush; taps show its record, and what its sink writes
        monkeypatch.chdir(service.folder)  # of its state_dir
        client = ServiceClient(load(service.file, env=os.environ, lookup=Catalog()))
        taps = [client.open_tap("hourly", {"at": at}) for at in ("", "attr2hbase")]
        unmet = client.open_tap("hourly", {"where": "%{nope} == '1'"})
        (tmp_path / "hourly" / "2.txt").write_text("c\n")
        commanded(service, "flush", "hourly")
        service.wait_for(lambda: stored(service, "hourly") == 3, "flushed")
        (record,), (put,) = (client.read_tap(tap)["lines"] for tap in taps)
        assert (record["record"]["value"], put["row"], put["cells"]) == ("c", "c", [["f", "q", "x"]])
        compared = client.read_tap(unmet)["condition"]
        assert (compared["compared"], compared["met"], compared["absent"]) == (1, 0, ["nope"])

        # a pause holds events back, also through kill -9 and a restart; the other pipeline runs
        [paused] = commanded(service, "pause", "now")
        assert (paused["name"], paused["state"]) == ("now", "paused")
        assert service.get("/readyz")[0] == 200
        (tmp_path / "now" / "2.txt").write_text("c\nd\n")
        service.kill_all()
        service.start()
        service.wait_for_state("running", "hourly")
        assert service.states() == {"now": "paused", "hourly": "running"}
        assert stored(service, "now") == 0

        commanded(service, "resume", "now")
        service.wait_for(lambda: stored(service, "now") == 2, "resumed")
        (tmp_path / "hourly" / "3.txt").write_text("d\n")
        commanded(service, "flush", "hourly")
        service.wait_for(lambda: stored(service, "hourly") == 1, "flushed again")
        found = {each["name"]: each for each in commanded(service, "status")}
        assert found["now"]["totals"]["stored"] == 2
        assert found["now"]["batch"]["id"] == 1

        # a reload replaces the pipelines that changed, and no other
        before = deepcopy(content)
        content["pipelines"]["now"]["decorators"][1]["value"]["value"] = "y"
        content["pipelines"]["new"] = pipeline(tmp_path / "new")
        del content["pipelines"]["hourly"]["trigger"]
        (tmp_path / "new" / "1.txt").write_text("a\n")
        service.write(content)
        (tmp_path / "now" / "3.txt").write_text("e\n")
        unreadable = service.folder / "data" / "state" / "paused" / "new"
        unreadable.mkdir(parents=True)
        [reloaded] = commanded(service, "reload", code=1)
        assert (reloaded["phase"], reloaded["failed"].keys()) == ("done", {"new"})
        assert (reloaded["changed"], reloaded["added"], reloaded["removed"]) == (["hourly", "now"], ["new"], [])
        unreadable.rmdir()
        [reloaded] = commanded(service, "reload")
        assert (reloaded["phase"], reloaded["failed"], reloaded["changed"]) == ("done", {}, ["new"])
        service.wait_for(lambda: stored(service, "new") == 1, "added")
        service.wait_for(lambda: stored(service, "now") == 3, "changed")
        del content["pipelines"]["hourly"]
        service.write(content)
        os.killpg(service.pid, signal.SIGHUP)  # of the whole group, as a terminal sends it when it is closed
        service.wait_for(lambda: service.states().keys() == {"now", "new"}, "removed")
        (tmp_path / "now" / "4.txt").write_text("f\n")
        service.wait_for(lambda: stored(service, "now") == 4, "also without a terminal")
        started = Counter(line["pipeline"] for line in service.lines() if line["message"] == "pipeline started")
        content["pipelines"]["now"]["sinks"] = [{"attr2hbase": {"tabel": "t"}}]
        service.write(content)
        status, _ = service.post("/reload")
        assert status == 202
        service.wait_for(lambda: service.reload_phase() == "refused", "refused")
        assert service.states() == {"now": "running", "new": "running"}
        again = Counter(line["pipeline"] for line in service.lines() if line["message"] == "pipeline started")
        assert again == started
        assert started["new"] == 1
        # the exit code of the service is that of a pipeline which a reload could not build
        content["pipelines"] = {**before["pipelines"], "damaged": pipeline(tmp_path / "damaged")}
        damaged_checkpoint(service, "damaged")
        service.write(content)
        assert commanded(service, "reload", code=1)[0]["failed"].keys() == {"damaged"}
        service.write(before)

        assert service.command("pause", "nowhere").returncode == 3
        assert service.command("admin", "log-level", "error").returncode == 0
        lines = len(list(service.lines()))
        assert service.stop() == 5, service.last_lines()
        assert [line["level"] for line in list(service.lines())[lines:] if line["level"] in ("info", "warning")] == []

        # without a service a pause applies to the next start
        ended = service.command("pause", "now")
        assert (ended.returncode, "will be paused when the service starts" in ended.stderr) == (0, True)
        assert service.command("status").returncode == 3
        assert Pauses(service.folder / "data" / "state").is_set("now")
        assert service.command("resume", "now").returncode == 0
        assert not Pauses(service.folder / "data" / "state").is_set("now")
    rows = rocksdb_table(tmp_path / "store", "now")
    assert rows.keys() == {b"a", b"b", b"c", b"d", b"e", b"f"}
    assert rocksdb_table(tmp_path / "store", "new").keys() == {b"a"}
    assert rocksdb_table(tmp_path / "store", "hourly").keys() == {b"a", b"b", b"c", b"d"}
