"""Make a new body of text and other parts of the event."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.api.choices import OnMissing
from ingest.expressions import Template


class FormatSettings(Settings):
    """Options of the format decorator."""

    other_names: ClassVar[None] = None

    template: Template = option("Template of the new body.", example="%{host} %{body}")
    on_missing: OnMissing = option(
        "When the template names an attribute the event does not have: it is `empty` text, the body stays as it is "
        "(`unset`), or the event fails (`error`).",
        default="empty",
        strict=False,
    )

    def sets_core(self) -> frozenset[str]:
        """The body."""
        return frozenset(["body"])

    def surely_sets(self) -> frozenset[str]:
        """Unless the body stays as it is."""
        return frozenset() if self.on_missing is OnMissing.UNSET else self.set_references()


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
            "what can not be made whole leaves the body",
            settings="{template: '%{user}: %{body}', on_missing: unset}",
            body="up 3 days",
            body_after="up 3 days",
        ),
        Example(
            "or fails the event",
            settings="{template: '%{user}', on_missing: error}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: FormatSettings) -> None:
        super().__init__(settings)
        self._render = settings.template.renderer(settings.on_missing)

    def decorate(self, event: Event) -> bool:
        """Replace the body."""
        body = self._render(event)
        if body is not None:
            event.body = body
        return True
