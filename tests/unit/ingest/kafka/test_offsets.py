"""Requests about a consumer group, with the responses of kafka-python's client."""

from typing import Any

import pytest
from kafka.errors import CoordinatorNotAvailableError

from ingest.kafka import offsets
from ingest.kafka.settings import KafkaConnection


class Client:
    """Stands for an admin client whose first requests fail, because the coordinator is being created."""

    failures = 1

    def describe_groups(self, names: list[str]) -> dict[str, Any]:
        if self.failures:
            self.failures -= 1
            raise CoordinatorNotAvailableError
        known = {
            "mine": {"error": None, "authorized_operations": ["READ"]},
            "none": {"error": "GroupIdNotFoundError", "authorized_operations": ["READ"]},
            "old": {"error": None, "authorized_operations": None},
        }
        return {name: known[name] for name in names if name in known}

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(
    ("group", "expected"), [("mine", frozenset({"READ"})), ("none", None), ("old", None), ("other", None)]
)
def test_operations_on_a_group_are_unknown_before_it_has_offsets(monkeypatch, group, expected):
    client = Client()
    monkeypatch.setattr(offsets, "admin_client", lambda _connection: client)
    monkeypatch.setattr(offsets, "_PAUSE_S", 0.0)
    connection = KafkaConnection.model_validate({"brokers": "localhost:1"})
    assert offsets.GroupOffsets(connection, group).operations() == expected
