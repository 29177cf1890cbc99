"""The memo of a decorator or sink, to test that it is bounded."""

from typing import Any

from ingest.decorating.names import BoundedMemo


def memo_of(component: object) -> BoundedMemo[Any, Any]:
    """The only memo that a component has."""
    (memo,) = (value for value in vars(component).values() if isinstance(value, BoundedMemo))
    return memo
