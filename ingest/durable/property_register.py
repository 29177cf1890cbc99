"""Registers in the properties of a table, which every client of its store can replace with compare-and-set."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from ingest.api import Store
from ingest.durable.register import Register, Registers

_T = TypeVar("_T")


class Calls(Protocol):
    """Calls a store; as `StoreCalls`."""

    def __call__(self, action: Callable[[Store[Any]], _T]) -> _T:
        """The result of an idempotent action; raises StoreError as the action does."""


def calls_of(store: Store[Any]) -> Calls:
    """Calls an open store once; a call that fails is not repeated."""

    def call(action: Callable[[Store[Any]], _T]) -> _T:
        return action(store)

    return call


class PropertyRegister(Register):
    """A register in a property of a table, which exists."""

    def __init__(self, calls: Calls, table: str, name: str) -> None:
        self._calls = calls
        self._table = table
        self._name = name

    def __str__(self) -> str:
        return f"{self._name} of table {self._table}"

    def read(self) -> str | None:
        """The property."""
        return self._calls(lambda store: store.properties(self._table).get(self._name))

    def replace(self, before: str | None, after: str | None) -> bool:
        """Replace the property."""
        return self._calls(lambda store: store.set_property(self._table, self._name, before, after))


class PropertyRegisters(Registers):
    """The properties of a table, which exists."""

    def __init__(self, calls: Calls, table: str) -> None:
        self._calls = calls
        self._table = table

    def named(self, name: str) -> Register:
        """A property."""
        return PropertyRegister(self._calls, self._table, name)

    def texts(self, prefix: str, *, unchanged: str) -> Mapping[str, str]:  # noqa: ARG002 - they are read at once
        """The properties, as they were at one moment."""
        found = self._calls(lambda store: store.properties(self._table))
        return {name: text for name, text in found.items() if name.startswith(prefix)}
