"""Choose the route of an event by the first rule that holds."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Model, Priority, Settings, option
from ingest.decorating.choices import OnMissing
from ingest.expressions import Condition, Template


class RouteRule(Model):
    """Where events go that meet a condition."""

    when: Condition = option("Condition of the rule.", example="%{priority} == 'FATAL'")
    to: Template = option("Template of the route.", example="urgent")


class RouteSettings(Settings):
    """Options of the route decorator."""

    other_names: ClassVar[None] = None

    rules: list[RouteRule] = option(
        "The first one whose condition holds sets the route.",
        example=[{"when": "%{priority} == 'FATAL'", "to": "urgent"}],
        min_length=1,
    )
    otherwise: Template | None = option(
        "Template of the route where no rule holds; left out, the attribute is not set then.",
        default=None,
        example="normal",
    )
    attribute: str = option("Attribute that receives the route.", default="route")
    on_missing: OnMissing = option(
        "When the template of the route names an attribute the event does not have: the event fails (`error`), no "
        "route is set (`unset`), or the name is `empty` text.",
        default="error",
        strict=False,
    )


class Route(Decorator[RouteSettings]):
    """
    Set an attribute to the route of an event, which sinks then go by.

    To a sink: a sink with `when: "%{route} == 'audit'"` takes the events of that route alone. An event that no sink
    takes is dropped with the reason no_sink, and one that several take goes to each.

    To a table: a sink with `table: logs_%{route}` writes each route to a table of its own; the table must exist if the
    store does not create it at the first write.

    Source: ours; Flume left selection by content open.
    """

    kind = "route"
    examples = (
        Example(
            "the first rule that holds",
            settings="{rules: [{when: \"%{priority} == 'FATAL'\", to: urgent}], otherwise: normal}",
            priority=Priority.FATAL,
            after={"route": "urgent"},
        ),
        Example(
            "no rule holds",
            settings="{rules: [{when: \"%{priority} == 'FATAL'\", to: urgent}], otherwise: normal}",
            after={"route": "normal"},
        ),
        Example(
            "a table by the name of the application",
            settings="{rules: [{when: exists(app), to: '%{lower(app)}'}], attribute: table}",
            attributes={"app": "Shop"},
            after={"table": "shop"},
        ),
        Example(
            "without a route",
            settings="{rules: [{when: exists(app), to: '%{lower(app)}'}], attribute: table}",
        ),
        Example(
            "half of a route would lead somewhere else",
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
