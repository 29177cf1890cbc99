"""What of an event may be something else when it runs again, followed through the steps that pass it on."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ingest.api import Model, Settings
from ingest.config.components import Binding
from ingest.config.draft import PipelineDraft
from ingest.config.model import Component
from ingest.config.problems import Kind
from ingest.expressions import Condition, Template

Changes = Mapping[str, Component]
"""Reference, as those of templates, that may be something else -> the step that it comes of."""

_BODY_OF = {"format": "template", "template": "body"}  # steps that make a body, and of which option


@dataclass(frozen=True, slots=True)
class Changing:
    """What changes at each step of a pipeline."""

    steps: tuple[Component, ...]
    states: tuple[Changes, ...]

    def before(self, step: Component | None) -> Changes:
        """What changes where a step begins; at the end of the chain for None."""
        return self.states[self._index(step)]

    def after(self, step: Component) -> Changes:
        """What changes where a step has ended."""
        return self.states[self._index(step) + 1]

    def setting(self, reference: str) -> list[Component]:
        """The steps that give a reference something that changes."""
        return [
            step
            for step, before, after in zip(self.steps, self.states, self.states[1:], strict=False)
            if reference in after and before.get(reference) is not after[reference]
        ]

    def _index(self, step: Component | None) -> int:
        return next((index for index, other in enumerate(self.steps) if other is step), len(self.steps))


def changing_names(pipeline: PipelineDraft, binding: Binding) -> Changing:
    """
    Follow what changes through a chain, and warn of steps that nobody can follow.

    A step that says all names it sets needs no warning: what is made of those is followed, and refused in a row key.
    """
    states: list[dict[str, Component]] = [{}]
    for step in pipeline.steps:
        settings = step.settings
        before = states[-1]
        after = dict(before)
        if not binding.lookup.is_deterministic(step.kind):
            if not isinstance(settings, Settings) or settings.other_names is not None:
                message = (
                    f"{step.kind} may give something else each time: an event that runs again is stored differently"
                )
                binding.warning(Kind.CONFLICT, step.where, message)
            if isinstance(settings, Settings):
                after |= dict.fromkeys(map(_attribute, settings.sets()), step)
        elif isinstance(settings, Settings):
            after = _passed_on(step, settings, before, pipeline.options.timezone)
        states.append(after)
    return Changing(tuple(pipeline.steps), tuple(states))


def _passed_on(step: Component, settings: Settings, before: Changes, zone: str) -> dict[str, Component]:
    """What changes after a step that itself gives the same for the same."""
    after: dict[str, Component] = {}
    for reference, origin in before.items():
        name = reference.removeprefix("attribute:")
        new_name = name if reference == name else settings.new_name(name)
        after[reference if new_name == name else _attribute(new_name)] = origin
        if settings.when is not None:
            after[reference] = origin

    def give(references: AbstractSet[str], names: Iterable[str]) -> None:
        changing = sorted(references & before.keys())
        if changing:
            after.update(dict.fromkeys(names, before[changing[0]]))

    for name, target in settings.passes_on().items():
        give({_attribute(name)}, [_attribute(target)])
    listed = getattr(settings, "attributes", None)
    for name, template in listed.items() if isinstance(listed, dict) else ():
        give(read_by(template), [_attribute(name)])  # one of them says nothing of the others
    read = read_by([part for option, part in settings if option != "attributes"]) | read_when(settings, zone)
    give(read | set(map(_attribute, _sources(settings))), map(_attribute, settings.sets()))
    give(read_by(getattr(settings, _BODY_OF.get(step.kind, ""), None)), ["body"])
    return after


def _attribute(name: str) -> str:
    return f"attribute:{name}"


def _sources(settings: Settings) -> list[str]:
    """The attributes that options name as those that are read."""
    one, several = getattr(settings, "source", None), getattr(settings, "sources", None)
    return [name for name in (one, *(several or ())) if isinstance(name, str)]


def read_when(settings: Model, zone: str) -> frozenset[str]:
    """References of the condition of a step."""
    when = getattr(settings, "when", None)
    return Condition.parse(when, zone).references if isinstance(when, str) else frozenset()


def read_by(value: object) -> frozenset[str]:
    """References of the templates and conditions in an option."""
    match value:
        case Template() | Condition():
            return value.references
        case Model():
            return frozenset().union(*(read_by(part) for _, part in value))
        case list():
            return frozenset().union(*map(read_by, value))
        case dict():
            return frozenset().union(*map(read_by, value.values()))
        case _:
            return frozenset()
