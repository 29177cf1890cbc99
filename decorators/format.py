"""Make a new body of text and other parts of the event."""

from enum import StrEnum
from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.expressions import Template


class OnMissing(StrEnum):
    """What an attribute the template names, but the event does not have, leads to."""

    EMPTY = "empty"
    ERROR = "error"


class FormatSettings(Settings):
    """Options of the format decorator."""

    other_names: ClassVar[None] = None

    template: Template = option("Template of the new body.", example="%{host} %{body}")
    on_missing: OnMissing = option(
        "When the template names an attribute the event does not have: it is `empty` text, or the event fails "
        "(`error`).",
        default="empty",
        strict=False,
    )

    def sets_core(self) -> frozenset[str]:
        """The body."""
        return frozenset(["body"])

    def surely_sets(self) -> frozenset[str]:
        """There always is one."""
        return self.set_references()


class Format(Decorator[FormatSettings]):
    """
    Replace the body with the expansion of a template; everything else stays.

    Bytes stay bytes: the old body or an attribute in the template is put in as it is. To set an attribute take `value`,
    for attributes and the body in one step `template`.

    Source: Flume decorator `format`.
    """

    kind = "format"
    examples = (
        Example(
            "the host in front",
            settings="{template: '%{host} %{body}'}",
            body="up 3 days",
            host="web-1",
            body_after="web-1 up 3 days",
        ),
        Example(
            "what is put in is not expanded again",
            settings="{template: '%{body}!'}",
            body="%{host}",
            body_after="%{host}!",
        ),
        Example(
            "an absent attribute fails the event",
            settings="{template: '%{user}', on_missing: error}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: FormatSettings) -> None:
        super().__init__(settings)
        self._render = settings.template.render
        self._asks = settings.on_missing is OnMissing.ERROR and settings.template.constant is None

    def decorate(self, event: Event) -> bool:
        """Replace the body."""
        if self._asks:
            self.settings.template.lacks(event, is_error=True)
        event.body = self._render(event)
        return True
