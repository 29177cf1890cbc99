"""Tables that are missing, disabled, lack a family, or cannot be written without rights."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hbase_admin import Admin
from tests.support.hbase_cluster import GuardedHBase
from tests.support.java_program import ProgramError
from tests.support.ledger.events import FAMILIES
from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.run import LedgerRun
from tests.support.servers import HBase
from tests.support.waiting import reached

pytestmark = [pytest.mark.slow, pytest.mark.seeds(1), pytest.mark.usefixtures("protocol")]

RATE = 300
STAYS_S = 10.0


@pytest.fixture
def admin(hbase: HBase) -> Iterator[Admin]:
    with Admin(hbase.server) as client:
        yield client


def assert_blocked(run: LedgerRun, *words: str) -> None:
    """The pipeline is and stays blocked with a reason that contains the words; no event becomes a dead letter."""
    run.service.wait_for(
        lambda: _state(run)[0] == "blocked" and all(word in _state(run)[1] for word in words), f"blocked: {words}", 60
    )
    commits = run.service.checkpoint(run.pipeline).commits()
    dead_letters = run.service.metric("attr2hbase_events_dead_lettered_total", pipeline=run.pipeline)
    assert (run.service.get("/readyz")[0], run.service.get("/livez")[0]) == (503, 200)
    assert not reached(lambda: run.service.states() != {run.pipeline: "blocked"}, STAYS_S, 0.2)
    assert run.service.checkpoint(run.pipeline).commits() == commits
    assert run.service.metric("attr2hbase_events_dead_lettered_total", pipeline=run.pipeline) == dead_letters


def _state(run: LedgerRun) -> tuple[str, str]:
    status, text = run.service.get("/pipelines")
    (found,) = json.loads(text)["pipelines"] if status == 200 else ({"state": "", "reason": ""},)
    return found["state"], found["reason"]


def test_table_missing_disabled_and_dropped(ledger_run: LedgerRuns, hbase: HBase, admin: Admin) -> None:
    """F13: each blocks the pipeline with the name of the table, until the table is repaired."""
    # HBase delays a write to a disabled table for longer than the call timeout
    run = ledger_run("F13 table missing, disabled, dropped", store="hbase", store_options={"timeout": "20s"})
    families = [name.decode() for name in FAMILIES]
    admin.ask("drop", run.table)
    run.produce(1_000)
    run.start()
    assert_blocked(run, run.table)
    run.proven(f"missing: {_state(run)[1]}")
    admin.ask("create", run.table, *families)
    run.wait_acknowledged()
    with run.produce_in_background(RATE):
        run.service.wait_for_batches(3, run.pipeline)
        admin.ask("disable", run.table)
        assert_blocked(run, run.table, "disabled")
        run.proven(f"disabled: {_state(run)[1]}")
        admin.ask("enable", run.table)
        run.service.wait_for_state("running", run.pipeline)
    run.wait_acknowledged()
    predicted = run.predict_lost(range(run.producer.sent))
    admin.ask("drop", run.table)
    run.produce(1_000)
    assert_blocked(run, run.table)
    run.proven(f"dropped with {predicted} rows: {_state(run)[1]}")
    admin.ask("create", run.table, *families)
    run.finish(lost_predicted=predicted)


def test_events_of_a_missing_family_are_dead_letters(ledger_run: LedgerRuns, hbase: HBase, admin: Admin) -> None:
    """F13: events of the missing family become dead letters; after the family is added, events are stored."""
    run = ledger_run(
        "F13 family missing",
        store="hbase",
        poison=0,
        sink={"families": {"on_unknown": "error"}},  # else a store that can creates the family
        pipeline={"error_budget": {"share": "100%", "min_events": 1000}},
    )
    run.allowed_codes.add("unknown_family")
    admin.ask("drop", run.table)
    admin.ask("create", run.table, "l")
    run.produce(300)
    run.start()
    run.wait_acknowledged()
    admin.ask("add-family", run.table, "d")
    dead_letters = [each for several in run.observed().dead_letters.values() for each in several]
    assert dead_letters
    assert {each.code for each in dead_letters} == {"unknown_family"}
    run.proven(f"{len(dead_letters)} dead letters with unknown_family")
    run.produce(300)
    totals = run.finish()
    assert totals.stored > 0
    assert totals.dead_lettered == len(dead_letters)


@pytest.fixture(scope="module")
def guarded(servers_folder: Path) -> Iterator[HBase]:
    server = HBase(servers_folder / "guarded", GuardedHBase(servers_folder / "guarded"))
    try:
        server.start()
        with Admin(server.server) as admin:
            assert reached(lambda: _granted(admin), 60, 0.5)
        yield server
    finally:
        server.close()


def _granted(admin: Admin) -> bool:
    """Whether rights can be granted; they need a table that HBase creates late."""
    try:
        admin.ask("grant-global", GuardedHBase.user)
    except ProgramError:
        return False
    return True


def test_access_denied_while_running(ledger_run: LedgerRuns, guarded: HBase) -> None:
    """F14: the right to write is revoked and granted again; no event becomes a dead letter."""
    user = GuardedHBase.user
    with Admin(guarded.server) as admin:
        run = ledger_run("F14 access denied", store="hbase", hbase=guarded, poison=0)
        run.produce(1_000)
        # without Thrift servers, the rights are those of the service
        run.start(env={"HADOOP_USER_NAME": user})
        run.wait_acknowledged()
        with run.produce_in_background(RATE):
            for _ in range(2):
                run.service.wait_for_batches(2, run.pipeline)
                admin.ask("revoke-global", user)
                admin.ask("revoke", run.table, user)  # the creator of a table has all rights on it
                began = time.monotonic()
                assert_blocked(run, "denied")
                run.proven(f"revoked for {time.monotonic() - began:.0f} s: {_state(run)[1][:120]}")
                admin.ask("grant-global", user)
                run.service.wait_for_state("running", run.pipeline)
        assert run.finish().dead_lettered == 0
