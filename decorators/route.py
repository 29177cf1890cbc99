"""Set a route from the first rule that matches."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Model, Priority, Settings, option
from ingest.decorating.choices import OnMissing
from ingest.expressions import Condition, Template


class RouteRule(Model):
    """A condition, and the route of the events that meet it."""

    when: Condition = option("Condition of the rule.", example="%{priority} == 'FATAL'")
    to: Template = option("Template of the route.", example="urgent")


class RouteSettings(Settings):
    """Options of the route decorator."""

    other_names: ClassVar[None] = None

    rules: list[RouteRule] = option(
        "Rules; the first one whose condition is true sets the route.",
        example=[{"when": "%{priority} == 'FATAL'", "to": "urgent"}],
        min_length=1,
    )
    otherwise: Template | None = option(
        "Template of the route if no rule matches; left out: the attribute is not set.",
        default=None,
        example="normal",
    )
    attribute: str = option("Attribute that receives the route.", default="route")
    on_missing: OnMissing = option(
        "If the template of the route names an attribute that the event does not have, the event fails (`error`), no "
        "route is set (`unset`), or the name expands to `empty` text.",
        default="error",
        strict=False,
    )


class Route(Decorator[RouteSettings]):
    """
    Set an attribute to the route of an event, which sinks can use.

    A pattern after `matches` works on characters if the value is UTF-8, else on bytes (docs/reference/expressions.md).

    To choose a sink: a sink with `when: "%{route} == 'audit'"` stores the events of that route only. An event that no
    sink accepts is dropped with the reason no_sink; an event that several sinks accept is stored by each.

    To choose a table: a sink with `table: logs_%{route}` writes each route to its own table, which must exist unless
    the store creates tables at the first write.

    Source: own design; Flume had no routing by content.
    """

    kind = "route"
    examples = (
        Example(
            "the first rule that matches",
            settings="{rules: [{when: \"%{priority} == 'FATAL'\", to: urgent}], otherwise: normal}",
            priority=Priority.FATAL,
            after={"route": "urgent"},
        ),
        Example(
            "no rule matches",
            settings="{rules: [{when: \"%{priority} == 'FATAL'\", to: urgent}], otherwise: normal}",
            after={"route": "normal"},
        ),
        Example(
            "a table name from an attribute",
            settings="{rules: [{when: exists(app), to: '%{lower(app)}'}], attribute: table}",
            attributes={"app": "Shop"},
            after={"table": "shop"},
        ),
        Example(
            "no rule matches, and there is no `otherwise`",
            settings="{rules: [{when: exists(app), to: '%{lower(app)}'}], attribute: table}",
        ),
        Example(
            "a template with an absent attribute",
            settings="{rules: [{when: exists(app), to: 'logs_%{app}_%{site}'}], attribute: table}",
            attributes={"app": "shop"},
            error="no_attribute",
        ),
    )

    def __init__(self, settings: RouteSettings) -> None:
        super().__init__(settings)
        self._attribute = settings.attribute
        self._rules = tuple((rule.when.holds, rule.to.renderer(settings.on_missing)) for rule in settings.rules)
        self._otherwise = None if settings.otherwise is None else settings.otherwise.renderer(settings.on_missing)

    def decorate(self, event: Event) -> bool:
        """Set the attribute."""
        render = self._otherwise
        for holds, render_route in self._rules:
            if holds(event):
                render = render_route
                break
        route = None if render is None else render(event)
        if route is not None:
            event.set(self._attribute, route)
        return True
