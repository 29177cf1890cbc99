"""Components of a plan without a pipeline file."""

from typing import TypeVar

from ingest.api import Model, OnError
from ingest.config.model import Component
from ingest.config.problems import Place

S = TypeVar("S", bound=Model)


def planned(
    name: str, path: str, settings: S, on_error: OnError = OnError.DEAD_LETTER, *, provider: str = ""
) -> Component[S]:
    """A component with this name and a class at `module:Class`."""
    return Component(name, settings, Place("test", 1, 1), name=name, path=path, provider=provider, on_error=on_error)
