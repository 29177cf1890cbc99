"""The lease of a table: one process at a time, and what remains of a killed one."""

import pickle

import pytest

from ingest.api import ConflictError, IntegrityError, LifecycleError, StoreUnavailableError
from sinks.rewriting.table_lease import LEASE, VALID_MS, WRITES_MS, StoredLease, TableLease
from tests.support.updated_table import TABLE, UpdatedTable


def lease(process: str, now: list[int], work: str = "compaction") -> TableLease:
    return TableLease(TABLE, work, process=process, clock_ms=lambda: now[0])


def test_a_second_one_is_refused_and_says_by_whom():
    store, now = UpdatedTable(is_shared=True).store, [1_000]
    first, second = lease("a", now), lease("b", now, "rollback")
    first.take(store)
    with pytest.raises(
        ConflictError, match=r"a compaction by pid \d+ on .*, last active at 1970-01-01T00:00:01"
    ) as refused:
        second.take(store)
    assert (refused.value.code, refused.value.exit_code) == ("table_in_use", 4)
    first.release(store)
    assert LEASE not in store.properties(TABLE)
    second.take(store)
    first.release(store)  # nothing: it is released
    second.check(store, lambda: now[0])


def test_a_lease_without_renewals_is_taken_over_after_two_minutes():
    store, now = UpdatedTable(is_shared=True).store, [1_000]
    killed, other = lease("a", now), lease("b", now)
    killed.take(store)
    now[0] += VALID_MS
    with pytest.raises(ConflictError):
        other.take(store)
    now[0] += 1
    other.take(store)
    with pytest.raises(ConflictError, match="another process has taken it") as lost:
        killed.check(store, lambda: now[0])
    assert lost.value.code == "table_lease_lost"
    with pytest.raises(ConflictError, match="another process"):
        killed.renew(store)
    killed.release(store)
    other.check(store, lambda: now[0])


def test_a_call_whose_answer_is_lost_is_repeated(monkeypatch: pytest.MonkeyPatch):
    store, now = UpdatedTable(is_shared=True).store, [1_000]
    mine = lease("a", now)
    set_property = store.set_property

    def repeated(call) -> None:
        def lose_answer(*arguments):
            monkeypatch.setattr(store, "set_property", set_property)
            set_property(*arguments)
            raise StoreUnavailableError("no answer")

        monkeypatch.setattr(store, "set_property", lose_answer)
        with pytest.raises(StoreUnavailableError):
            call(store)
        now[0] += 1_000
        call(store)

    repeated(mine.take)
    mine.check(store, lambda: now[0])
    repeated(mine.renew)
    mine.check(store, lambda: now[0])
    repeated(mine.release)
    assert LEASE not in store.properties(TABLE)


def test_renewals_keep_it():
    store, now = UpdatedTable(is_shared=True).store, [1_000]
    first, second = lease("a", now), lease("b", now)
    first.take(store)
    for _ in range(3):
        now[0] += VALID_MS
        first.renew(store)
        with pytest.raises(ConflictError):
            second.take(store)


def test_no_write_without_a_renewal_for_a_minute():
    """Long before another process may take the lease over."""
    store, now = UpdatedTable(is_shared=True).store, [1_000]
    first = lease("a", now)
    first.take(store)
    check = pickle.loads(pickle.dumps(first.check))  # noqa: S301 - as Spark sends it to a worker
    now[0] += WRITES_MS
    check(store, lambda: now[0])
    now[0] += 1
    with pytest.raises(ConflictError, match="not renewed in time"):
        check(store, lambda: now[0])
    first.renew(store)
    check(store, lambda: now[0])


def test_the_lock_of_a_store_proves_that_the_owner_has_ended():
    store, now = UpdatedTable().store, [1_000]
    killed, other, same_process = lease("a", now), lease("b", now), lease("b", now)
    killed.take(store)
    other.take(store)
    with pytest.raises(ConflictError):
        same_process.take(store)
    now[0] += VALID_MS + 1  # it could not be released
    same_process.take(store)


def test_two_at_once_that_find_no_lease():
    store, now = UpdatedTable(is_shared=True).store, [1_000]
    set_property = store.set_property

    def slower(*arguments) -> bool:
        store.set_property = set_property
        lease("b", now).take(store)
        return set_property(*arguments)

    store.set_property = slower
    with pytest.raises(ConflictError, match="are being rewritten"):
        lease("a", now).take(store)


def test_misuse_and_damage():
    store, now = UpdatedTable().store, [1_000]
    with pytest.raises(LifecycleError):
        lease("a", now).renew(store)
    store.set_property(TABLE, LEASE, None, "{}")
    with pytest.raises(IntegrityError, match="cannot be read"):
        lease("a", now).take(store)


def test_lease_as_text():
    lease = StoredLease("1", "2", "pid 1 on host", "compaction", 5)
    assert StoredLease.from_text(lease.to_text(), TABLE) == lease
