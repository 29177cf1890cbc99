"""What a connection of a task writes to: a store, or what stands in for one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from ingest.api import BusyWait, Mutation


class Target(Protocol):
    """The target of chunks: a store, or a staging writer for one."""

    def open(self) -> None:
        """As `Store.open`."""

    def close(self) -> None:
        """As `Store.close`."""

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """As `Store.apply`."""

    def take_busy_waits(self) -> list[BusyWait]:
        """As `Store.take_busy_waits`."""

    def take_counted(self) -> Counter[tuple[str, str]]:
        """As `Store.take_counted`."""

    def region_starts(self, table: str) -> Sequence[bytes]:
        """As `Store.region_starts`."""

    def record(self, table: str) -> tuple[int | None, Mapping[str, str]]:
        """As `Store.record`."""

    def families(self, table: str) -> frozenset[bytes] | None:
        """As `Store.families`."""


class TargetLayer(Target):
    """
    Around a target: does what the target does, and more for some calls.

    Args:
        target: not yet open.
    """

    def __init__(self, target: Target) -> None:
        self._target = target

    def open(self) -> None:
        """As `Target.open`."""
        self._target.open()

    def close(self) -> None:
        """As `Target.close`."""
        self._target.close()

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """As `Target.apply`."""
        self._target.apply(table, mutations)

    def take_busy_waits(self) -> list[BusyWait]:
        """As `Target.take_busy_waits`."""
        return self._target.take_busy_waits()

    def take_counted(self) -> Counter[tuple[str, str]]:
        """As `Target.take_counted`."""
        return self._target.take_counted()

    def region_starts(self, table: str) -> Sequence[bytes]:
        """As `Target.region_starts`."""
        return self._target.region_starts(table)

    def record(self, table: str) -> tuple[int | None, Mapping[str, str]]:
        """As `Target.record`."""
        return self._target.record(table)

    def families(self, table: str) -> frozenset[bytes] | None:
        """As `Target.families`."""
        return self._target.families(table)
