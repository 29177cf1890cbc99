"""Leases of groups, in both places."""

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.api import ConfigError, IntegrityError
from ingest.durable.record import UnreadableRecordError
from ingest.durable.register import StateRegister
from sinks.feed.leases import SHARD_END, GroupLeases, GroupRecord, ShardLease, check_group, group_record, leases_of
from sinks.memory import MemoryStore
from tests.support.group_leases import file_leases, property_leases

Opened = Callable[[], GroupLeases]


@pytest.fixture(params=["properties", "files"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    if request.param == "files":
        return lambda: file_leases(tmp_path / "feed" / "orders")
    store = MemoryStore()
    store.open()
    store.set_property("orders_feed", "other", None, "x")
    return lambda: property_leases(store, "orders_feed")


def test_lease_is_replaced_if_it_is_the_expected_one(opened: Opened):
    leases = opened()
    assert leases.groups() == ()
    assert leases.read("a") == {}
    changes: list[tuple[str | None, str | None, bool]] = [
        ("1", "2", False),
        (None, "1", True),
        (None, "1", True),
        (None, "2", False),
        ("1", "2", True),
        ("1", "2", True),
        ("1", "3", False),
        ("2", None, True),
        ("2", None, True),
        ("2", "4", False),
        (None, "é", True),
    ]
    for before, after, is_replaced in changes:
        assert leases.replace("a", 3, before, after) is is_replaced
    assert opened().read("a") == {3: "é"}


def test_groups_are_apart(opened: Opened):
    leases = opened()
    for group, shard in (("a", 1), ("a-b", 2), ("a_b", 3), ("a1", 12), ("a", 12)):
        assert leases.replace(group, shard, None, f"{group} {shard}")
    assert leases.groups() == ("a", "a-b", "a1", "a_b")
    assert leases.read("a") == {1: "a 1", 12: "a 12"}
    leases.remove("a")
    assert leases.groups() == ("a-b", "a1", "a_b")
    assert leases.read("a") == {}
    leases.remove("a")


@pytest.mark.parametrize("calls", range(5))
def test_removal_that_is_interrupted_marks_the_group(opened: Opened, monkeypatch: pytest.MonkeyPatch, calls: int):
    leases = opened()
    for shard in range(3):
        assert leases.replace("a", shard, None, f"{shard}")
    replace, left = leases.replace, list(range(calls))

    def interrupted(group: str, shard: int, before: str | None, after: str | None) -> bool:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return replace(group, shard, before, after)

    monkeypatch.setattr(leases, "replace", interrupted)
    if calls < 4:
        with pytest.raises(KeyboardInterrupt):
            leases.remove("a")
        texts = opened().read("a")
        assert set(texts) == ({0, 1, 2} if calls < 2 else {0, 2} if calls == 2 else {0})
        assert calls == 0 or GroupRecord.of(texts[0], "g").is_removed
        opened().remove("a")
    else:
        leases.remove("a")
    assert opened().groups() == ()


def test_one_of_many_workers_wins(opened: Opened):
    won: list[str] = []

    def compete(worker: str) -> None:
        for turn in range(20):
            if opened().replace("a", turn, None, worker):
                won.append(f"{turn}")

    threads = [threading.Thread(target=compete, args=(f"w{number}",)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won, key=int) == [str(turn) for turn in range(20)]


def test_lease_and_record_are_texts():
    lease = ShardLease("1.s.1..0.00000000", "w", 3, "v", (4, 5))
    assert ShardLease.of(lease.to_text(), "g") == lease
    assert ShardLease(SHARD_END).is_ended
    record = GroupRecord("s", {1: SHARD_END, 12: "x"}, is_begun=True)
    assert GroupRecord.of(record.to_text(), "g") == record
    assert not GroupRecord.of('{"feed_id": "s", "starts": {}, "is_begun": true}', "g").is_removed
    for text in ("", "1", "{}", '{"position": 1}', "[]"):
        with pytest.raises(IntegrityError):
            ShardLease.of(text, "g")
        with pytest.raises(IntegrityError):
            GroupRecord.of(text, "g")


def test_text_that_cannot_be_read_is_named_by_its_register() -> None:
    with pytest.raises(
        UnreadableRecordError, match=r'lease of consumer group "group\.g\.2" cannot be read: position: '
    ):
        leases_of("g", {2: "{}"}, "")
    with pytest.raises(UnreadableRecordError, match=r'record of consumer group "group\.g\.0" cannot be r') as caught:
        group_record("g", {0: '{"format": 2}'})
    assert "remove the group" in (caught.value.hint or "")


@pytest.mark.parametrize("name", ["", "A", "a.b", "-a", "a/b", "a" * 101, "ä"])
def test_name_of_a_group_is_checked(name: str):
    assert check_group("fraud-check_2") == "fraud-check_2"
    with pytest.raises(ConfigError, match="cannot be the name of a group"):
        check_group(name)


def test_lease_that_is_renewed_while_its_group_is_removed_is_removed_too(
    opened: Callable[[], GroupLeases], monkeypatch: pytest.MonkeyPatch
) -> None:
    leases, lease = opened(), ShardLease("p", owner="w", counter=1)
    assert leases.replace("a", 1, None, lease.to_text())
    replace, renewals = leases.replace, iter([2, 3])

    def renewed(group: str, shard: int, before: str | None, after: str | None) -> bool:
        for counter in renewals:
            assert replace("a", 1, opened().read("a")[1], dataclasses.replace(lease, counter=counter).to_text())
            break
        return replace(group, shard, before, after)

    monkeypatch.setattr(leases, "replace", renewed)
    leases.remove("a")
    assert leases.groups() == ()


def test_leases_that_are_created_while_a_group_is_read_are_read_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the record of a new group would name leases that seem to be missing."""
    leases, reads = file_leases(tmp_path), []
    assert leases.replace("a", 0, None, "record")
    read = StateRegister.read

    def beside_another(register: StateRegister) -> str | None:
        if not reads:
            reads.append(register)
            assert leases.replace("a", 1, None, "lease")
        return read(register)

    monkeypatch.setattr(StateRegister, "read", beside_another)
    assert leases.read("a") == {0: "record", 1: "lease"}


@pytest.mark.parametrize("is_same", [False, True])
def test_record_that_changes_while_a_group_is_removed(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, *, is_same: bool
):
    """The group is removed if it has only begun meanwhile, and kept if it is another one."""
    leases, record = opened(), GroupRecord("s", {}, id="1")
    assert leases.replace("a", 0, None, record.to_text())
    replace = leases.replace
    later = dataclasses.replace(record, is_begun=True) if is_same else dataclasses.replace(record, id="2")

    def changed(group: str, shard: int, before: str | None, after: str | None) -> bool:
        monkeypatch.undo()
        assert replace("a", 0, record.to_text(), later.to_text())
        return replace(group, shard, before, after)

    monkeypatch.setattr(leases, "replace", changed)
    leases.remove("a")
    assert leases.read("a") == ({} if is_same else {0: later.to_text()})


def test_record_and_leases_are_of_one_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A removal and a new beginning while the files are read leave files of the same names."""
    leases, reads = file_leases(tmp_path), []
    for shard in (0, 1):
        assert leases.replace("a", shard, None, f"old {shard}")
    read = StateRegister.read

    def beside_another(register: StateRegister) -> str | None:
        text = read(register)
        if not reads:
            reads.append(register)
            for shard in (0, 1):
                assert leases.replace("a", shard, f"old {shard}", f"new {shard}")
        return text

    monkeypatch.setattr(StateRegister, "read", beside_another)
    assert leases.read("a") == {0: "new 0", 1: "new 1"}
