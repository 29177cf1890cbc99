"""Components of a plan, for tests that need no file."""

from typing import TypeVar

from ingest.api import Model, OnError
from ingest.config.model import Component
from ingest.config.problems import Place

S = TypeVar("S", bound=Model)


def planned(
    name: str, path: str, settings: S, on_error: OnError = OnError.DEAD_LETTER, *, provider: str = ""
) -> Component[S]:
    """A component of this name whose class is at `module:Class`."""
    return Component(name, settings, Place("test", 1, 1), name=name, path=path, provider=provider, on_error=on_error)
