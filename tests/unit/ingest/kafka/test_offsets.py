"""Requests about a consumer group, with the responses of kafka-python's client."""

from typing import Any

import pytest
from kafka.errors import CoordinatorNotAvailableError

from ingest.kafka import offsets
from ingest.kafka.settings import KafkaConnection

MEMBER = {"member_id": "a-1", "client_id": "a", "client_host": "/10.0.0.7"}


class Client:
    """Stands for an admin client whose first requests fail, because the coordinator is being created."""

    failures = 1

    def describe_groups(self, names: list[str]) -> dict[str, Any]:
        if self.failures:
            self.failures -= 1
            raise CoordinatorNotAvailableError
        known = {
            "mine": {"error": None, "authorized_operations": ["READ"], "members": [MEMBER]},
            "none": {"error": "GroupIdNotFoundError", "authorized_operations": ["READ"]},
            "old": {"error": None, "authorized_operations": None},
        }
        return {name: known[name] for name in names if name in known}

    def close(self) -> None:
        """Nothing is open."""


def group_offsets(monkeypatch: pytest.MonkeyPatch, group: str) -> offsets.GroupOffsets:
    client = Client()
    monkeypatch.setattr(offsets, "admin_client", lambda _connection: client)
    monkeypatch.setattr(offsets, "_PAUSE_S", 0.0)
    return offsets.GroupOffsets(KafkaConnection.model_validate({"brokers": "localhost:1"}), group)


@pytest.mark.parametrize(
    ("group", "expected"), [("mine", frozenset({"READ"})), ("none", None), ("old", None), ("other", None)]
)
def test_operations_on_a_group_are_unknown_before_it_has_offsets(monkeypatch, group, expected):
    assert group_offsets(monkeypatch, group).operations() == expected


@pytest.mark.parametrize(("group", "expected"), [("mine", [("a", "/10.0.0.7")]), ("none", []), ("old", []), ("o", [])])
def test_members_of_a_group_are_named(monkeypatch, group, expected):
    assert group_offsets(monkeypatch, group).members() == expected
