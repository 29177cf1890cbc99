"""What a connection of a task writes to: a store, or what stands in for one."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, cast

from ingest.api import BusyWait, Mutation, Store
from ingest.api.table_writer import FeatureMessages


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


def store_below(target: Target) -> Store[Any]:
    """The store below all layers, for what a layer does not pass on, as reads; not for a staging writer."""
    while isinstance(target, TargetLayer):
        target = target.target
    # a caller knows that no staging writer is below: a task that stages reads through a reader of its own
    return cast("Store[Any]", target)


class TargetLayer(Target):
    """
    Around a target: does what the target does, and more for some calls.

    Args:
        target: not yet open.

    Attributes:
        target: the same.
    """

    def __init__(self, target: Target) -> None:
        self.target = target

    def begin(
        self, messages: FeatureMessages, on_progress: Callable[[], None], new_times_ms: Collection[int] = ()
    ) -> None:
        """
        Start a flush cycle.

        Args:
            messages: of the features of the tables, from their half on the driver.
            on_progress: to be called within a call of `apply` that takes seconds, after each part of it; raises a
                StoreError if no further part is wanted.
            new_times_ms: times of cells that no earlier flush cycle has written, unless with the same values.
        """
        if isinstance(self.target, TargetLayer):
            self.target.begin(messages, on_progress, new_times_ms)

    def open(self) -> None:
        """As `Target.open`."""
        self.target.open()

    def close(self) -> None:
        """As `Target.close`."""
        self.target.close()

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """As `Target.apply`."""
        self.target.apply(table, mutations)

    def take_busy_waits(self) -> list[BusyWait]:
        """As `Target.take_busy_waits`."""
        return self.target.take_busy_waits()

    def take_counted(self) -> Counter[tuple[str, str]]:
        """As `Target.take_counted`."""
        return self.target.take_counted()

    def region_starts(self, table: str) -> Sequence[bytes]:
        """As `Target.region_starts`."""
        return self.target.region_starts(table)

    def record(self, table: str) -> tuple[int | None, Mapping[str, str]]:
        """As `Target.record`."""
        return self.target.record(table)

    def families(self, table: str) -> frozenset[bytes] | None:
        """As `Target.families`."""
        return self.target.families(table)
