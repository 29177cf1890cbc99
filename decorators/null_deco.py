"""Do nothing."""

from ingest.api import Decorator, Event, Example, Settings


class NullDeco(Decorator[Settings]):
    """
    Let every event pass as it is.

    It can carry a label for `explain`; old configurations name it.

    Source: Flume decorator `nullDeco`.
    """

    kind = "null_deco"
    examples = (
        Example("nothing changes", body="2238947398:56", attributes={"a": "1"}),
        Example("an empty event"),
    )

    def decorate(self, event: Event) -> bool:  # noqa: ARG002 - it looks at nothing
        """Keep the event."""
        return True
