"""Reloads under load: a file applies whole or not at all, nothing is lost, and unchanged pipelines run on."""

import json
import os
import random
import time
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.killed_at import Failpoint
from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.observed import rocksdb_rows
from tests.support.ledger.pipeline import merged, with_neighbour
from tests.support.ledger.run import LedgerRun
from tests.support.waiting import reached

MINUTES = float(os.environ.get("RELOAD_MINUTES", "10"))
EVERY_S = 20.0
LOOK_S = 0.25
KILLS = 8
STEPS = 5  # hits of the failpoint "reload" with two pipelines to build
UNCHANGED = "unchanged"
ACTIVE = ("requested", "reading", "replacing", "building")


def with_unchanged(run: LedgerRun, **source: object) -> dict[str, Any]:
    """The file of a run with a second pipeline that no reload changes; `source` changes the first."""
    return with_another(run, UNCHANGED, **source)


def with_another(run: LedgerRun, name: str, **source: object) -> dict[str, Any]:
    """The file of a run with a second pipeline of this name; `source` changes the first."""
    content = with_neighbour(run.content(), name, table=f"{run.table}_{name}")
    return merged(content, {"pipelines": {run.pipeline: {"source": {"kafka": source}}}})


def bad_files(run: LedgerRun) -> list[tuple[str, dict[str, Any]]]:
    """What the refusal of each must say, and the file."""
    good = with_unchanged(run)
    unknown = with_unchanged(run, max_event_per_batch=5)
    nowhere = merged(good, {"tables": {run.table: {"store": "nowhere"}}})
    restart = merged(good, {"spark": {"conf": {"spark.ui.port": "4444"}}})
    return [("max_event_per_batch", unknown), ("nowhere", nowhere), ("spark", restart)]


def status_of_reload(run: LedgerRun) -> dict[str, Any]:
    """The answer of GET /reload."""
    found: dict[str, Any] = json.loads(run.service.get("/reload", timeout_s=30)[1])
    return found


def reloaded(run: LedgerRun, content: Mapping[str, Any]) -> dict[str, Any]:
    """Write a file and reload it; returns the status at the end."""
    run.service.write(content)
    assert run.service.post("/reload")[0] == 202
    run.service.wait_for(lambda: status_of_reload(run)["phase"] not in ACTIVE, "the end of the reload", 120)
    return status_of_reload(run)


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_reloads_under_load(ledger_run: LedgerRuns) -> None:
    # the audit compares the metrics with the times of all batches, of which a checkpoint retains a thousand
    run = ledger_run("reloads", store="rocksdb", batch_size=5_000, pipeline={"trigger": {"every": "1s"}})
    run.service.write(with_unchanged(run))
    run.produce(2_000)
    run.start()
    run.service.wait_for_state("running", UNCHANGED)
    end_s = time.monotonic() + MINUTES * 60
    taken = refused = 0
    with run.produce_in_background(rate=1_000):
        while time.monotonic() < end_s:
            next_s = time.monotonic() + EVERY_S
            if (taken + refused) % 2:
                says, content = bad_files(run)[refused % 3]
                status = reloaded(run, content)
                assert status["phase"] == "refused", status
                text = json.dumps([status["reason"], status["problems"]])
                assert says in text, text
                # a file that only needs a restart has no mistake, so no place
                assert says == "spark" or all(problem["line"] for problem in status["problems"]), text
                refused += 1
            else:
                status = reloaded(run, with_unchanged(run, max_events_per_batch=4_000 + taken))
                assert (status["phase"], status["changed"], status["failed"]) == ("done", [run.pipeline], {}), status
                taken += 1
            before = run.service.metric("attr2hbase_events_stored_total", pipeline=UNCHANGED)
            while time.monotonic() < next_s:
                assert run.service.states()[UNCHANGED] == "running"
                reached(lambda: not run.service.is_running, LOOK_S)
            assert run.service.metric("attr2hbase_events_stored_total", pipeline=UNCHANGED) > before
    run.proven(f"{taken} reloads taken, {refused} refused")
    started = [line["pipeline"] for line in run.service.lines() if line["message"] == "pipeline started"]
    assert (started.count(UNCHANGED), started.count(run.pipeline)) == (1, 1 + taken)
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_killed_in_the_middle_of_a_reload(ledger_run: LedgerRuns) -> None:
    """The next start reads the new file; whatever the reload had done, no event is lost."""
    run = ledger_run("killed reload", store="rocksdb", batch_size=500)
    chance = random.Random(run.seed)
    run.service.write(with_unchanged(run))
    run.produce(2_000)
    run.start()
    run.service.wait_for_batches(1, run.pipeline)
    phases = []
    with run.produce_in_background(rate=500):
        for kill in range(KILLS):
            run.service.write(with_unchanged(run, max_events_per_batch=400 + kill))
            assert run.service.post("/reload")[0] == 202
            until_s = time.monotonic() + chance.uniform(0, 1.5)
            run.service.wait_for(lambda until_s=until_s: time.monotonic() >= until_s, "a moment of the reload")
            phases.append(status_of_reload(run)["phase"])
            run.kill()
            run.check_while_dead()
            run.start()
            run.service.wait_for_batches(1, run.pipeline)
    assert set(phases) & set(ACTIVE), f"every reload had ended before its kill: {phases}"
    run.proven(f"killed in the phases {', '.join(phases)}")
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_killed_at_each_step_of_a_reload(ledger_run: LedgerRuns) -> None:
    """Whatever the reload had ended or built, the next start runs exactly the pipelines of the new file."""
    run = ledger_run("killed steps of a reload", store="rocksdb", batch_size=500)
    neighbours = ["first", "second"]
    run.service.write(with_another(run, neighbours[0]))
    run.produce(2_000)
    with run.produce_in_background(rate=500):
        for hit in range(1, STEPS + 1):
            failpoint = Failpoint(run, "reload", hit=hit)
            run.start(env=failpoint.environment)
            run.service.wait_for_batches(1, run.pipeline)
            run.service.wait_for_state("running", neighbours[0])
            # one pipeline is changed, one removed, one added
            neighbours.reverse()
            run.service.write(with_another(run, neighbours[0], max_events_per_batch=400 + hit))
            assert run.service.post("/reload")[0] == 202
            failpoint.wait_killed()
            run.check_while_dead()
    run.start()
    run.service.wait_for_state("running", neighbours[0])
    assert run.service.states().keys() == {run.pipeline, neighbours[0]}
    run.wait_acknowledged()
    ends = run.service.checkpoint(run.pipeline).acknowledged(run.topic)
    run.service.wait_for_offsets(ends, neighbours[0], run.topic)
    run.finish()
    stored = {name: rocksdb_rows(run.store_folder, f"{run.table}_{name}")[0] for name in neighbours}
    expected = rocksdb_rows(run.store_folder, run.table)[0].keys()
    assert stored[neighbours[0]].keys() == expected
    assert stored[neighbours[1]].keys() <= expected


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_killed_at_a_pause(ledger_run: LedgerRuns) -> None:
    """A pause whose request was answered holds after SIGKILL."""
    run = ledger_run("killed pause", store="rocksdb", batch_size=500)
    run.produce(2_000)
    run.start()
    with run.produce_in_background(rate=500):
        for _ in range(KILLS // 2):
            run.service.wait_for_batches(1, run.pipeline)
            assert run.service.post(f"/pipelines/{run.pipeline}/pause")[0] == 202
            run.kill()
            run.check_while_dead()
            run.begin()
            run.service.wait_for_state("paused", run.pipeline)
            assert run.service.post(f"/pipelines/{run.pipeline}/resume")[0] == 202
            run.service.wait_for_state("running", run.pipeline)
    run.finish()
