"""A store whose process is killed after a number of writes."""

from collections.abc import Callable
from typing import Any


class KilledError(BaseException):
    """The process is killed here."""


class KilledStore:
    """
    A store that raises `KilledError` instead of a further write.

    Attributes:
        calls: number of writes that it still makes.
    """

    def __init__(self, store: Any, calls: int) -> None:
        self._store = store
        self.calls = calls

    def __getattr__(self, name: str) -> Any:
        found: Callable[..., Any] = getattr(self._store, name)
        if name not in {"apply", "remove_rows", "replace_cell"}:
            return found

        def call(*arguments: Any, **options: Any) -> Any:
            if self.calls == 0:
                raise KilledError
            self.calls -= 1
            return found(*arguments, **options)

        return call
