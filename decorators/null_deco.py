"""Do nothing."""

from ingest.api import Decorator, Event, Example, Settings


class NullDeco(Decorator[Settings]):
    """
    Let every event pass unchanged.

    Imported configurations use it; its label appears in `explain`.

    Source: Flume decorator `nullDeco`.
    """

    kind = "null_deco"
    examples = (
        Example("nothing changes", body="2238947398:56", attributes={"a": "1"}),
        Example("an empty event"),
    )

    def decorate(self, event: Event) -> bool:  # noqa: ARG002 - nothing is read
        """Keep the event."""
        return True
