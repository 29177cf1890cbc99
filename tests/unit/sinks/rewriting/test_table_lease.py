"""The lease of a table: the property, its check in workers, and what remains of a killed owner."""

import pickle
import time
from contextlib import nullcontext
from dataclasses import replace

import pytest

from ingest.api import ConflictError, StoreUnavailableError
from ingest.durable.lease import grant_in
from ingest.durable.property_register import PropertyRegister
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.table_lease import LEASE, LeaseCheck, leased
from tests.support.leases import left_lease
from tests.support.updated_table import TABLE, UpdateWriter


def never(_seconds: float) -> None:
    raise AssertionError("it waits")


def test_a_second_one_is_refused_and_says_by_whom():
    table = UpdateWriter(is_shared=True)
    with leased(table.calls, TABLE, "compaction", wait=never) as check:
        with (
            pytest.raises(
                ConflictError, match=rf'table "{TABLE}" is in use by compaction of pid \d+ on .* since 20.*; wait until'
            ) as refused,
            leased(table.calls, TABLE, "rollback", wait=never),
        ):
            pass
        assert refused.value.exit_code == 4
        check(table.store)
    assert LEASE not in table.store.properties(TABLE)
    with leased(table.calls, TABLE, "rollback", wait=never), pytest.raises(ConflictError, match="has taken it"):
        check(table.store)


def test_check_is_sent_to_a_worker():
    table = UpdateWriter(is_shared=True)
    with leased(table.calls, TABLE, "compaction", wait=never) as check:
        sent: LeaseCheck = pickle.loads(pickle.dumps(check))  # noqa: S301 - as Spark sends it
        sent(table.store)
    with pytest.raises(ConflictError, match="it was removed") as lost:
        sent(table.store)
    assert (lost.value.code, lost.value.exit_code) == ("lease_lost", 4)


def test_takeover_from_a_killed_owner_waits_for_its_late_calls(monkeypatch: pytest.MonkeyPatch):
    table, waits, messages = UpdateWriter(is_shared=True), [], []
    table.store.capabilities = replace(table.store.capabilities, call_s=180.0)
    left_lease(PropertyRegister(table.calls, TABLE, LEASE))
    now = [0.0]
    monkeypatch.setattr(time, "clock_gettime", lambda _clock: now[0])

    def wait(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    with leased(table.calls, TABLE, "compaction", wait=wait, on_wait=messages.append) as check:
        check(table.store)
    assert (now[0], waits[-1]) == (30 + 180, 180)
    assert [message.partition(";")[0] for message in messages] == [
        f'table "{TABLE}" is held by other since 2011-06-22 13:18:06+00:00',
        f'table "{TABLE}" is taken over',
    ]


def test_the_lock_of_a_store_proves_that_the_owner_has_ended():
    table = UpdateWriter()
    left_lease(PropertyRegister(table.calls, TABLE, LEASE))
    with leased(table.calls, TABLE, "compaction", wait=never) as check:
        check(table.store)


def test_calls_whose_answer_is_lost_are_repeated():
    table = UpdateWriter(is_shared=True)
    set_property = table.store.set_property
    lost: list[str] = []

    def lose_answer(*arguments: object) -> bool:
        is_set = set_property(*arguments)
        if len(lost) < 1:
            lost.append("answer")
            raise StoreUnavailableError("no answer")
        return is_set

    table.store.set_property = lose_answer
    with leased(StoreCalls(lambda: nullcontext(table.store)), TABLE, "compaction", wait=never) as check:
        assert lost
        check(table.store)
        lost.clear()
    assert lost
    assert grant_in(PropertyRegister(table.calls, TABLE, LEASE)) is None


def test_lease_that_cannot_be_released_ends_by_itself():
    table = UpdateWriter()

    def away(*_arguments: object) -> bool:
        raise StoreUnavailableError("away")

    with leased(table.calls, TABLE, "compaction", wait=never):
        table.store.set_property = away
    assert LEASE in table.store.properties(TABLE)
