"""What of an event may be something else when it runs again, followed through the steps that pass it on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from ingest.api import Model, Settings
from ingest.config.components import Binding
from ingest.config.draft import PipelineDraft
from ingest.config.model import Component
from ingest.config.problems import Kind
from ingest.expressions import Condition, Template

_ATTRIBUTE = "attribute:"


@dataclass(frozen=True, slots=True)
class Changes:
    """
    What may be something else at one place of a pipeline, and the step that it comes of.

    Attributes:
        known: by reference, as those of templates.
        begins: how names of attributes begin of which no more is known -> the step.
        steady: by reference, what is surely the same each time although its name begins so.
    """

    known: Mapping[str, Component] = field(default_factory=dict)
    begins: Mapping[str, Component] = field(default_factory=dict)
    steady: frozenset[str] = frozenset()

    def origin(self, reference: str) -> Component | None:
        """The step that something comes of which may change; None for what is the same each time."""
        if reference == "*":
            return next(iter((*self.known.values(), *self.begins.values())), None)
        if reference in self.known or not reference.startswith(_ATTRIBUTE) or reference in self.steady:
            return self.known.get(reference)
        name = reference.removeprefix(_ATTRIBUTE)
        return next((step for begin, step in self.begins.items() if name.startswith(begin)), None)

    def first(self, references: Iterable[str]) -> Component | None:
        """The same for the first of several that changes."""
        return next((step for reference in sorted(references) if (step := self.origin(reference))), None)

    def names(self) -> Iterator[str]:
        """Attributes that are known to change."""
        return (name.removeprefix(_ATTRIBUTE) for name in self.known if name.startswith(_ATTRIBUTE))

    def but(
        self,
        known: Mapping[str, Component],
        begins: Mapping[str, Component] | None = None,
        steady: Iterable[str] = (),
    ) -> "Changes":
        """What changes after a step, by what it gives something that changes or, surely, something that does not."""
        begins = begins or {}
        left = {name for name in self.steady if not name.removeprefix(_ATTRIBUTE).startswith(tuple(begins))}
        steady = frozenset(steady) - known.keys()
        before = {reference: step for reference, step in self.known.items() if reference not in steady}
        return Changes({**before, **known}, {**self.begins, **begins}, steady | (left - known.keys()))


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
        """
        The steps that give a reference something that changes.

        Where none is known to, those that may, by how the names begin that they set. Those after which another step
        surely sets it are left out.
        """
        sure: list[Component] = []
        possible: list[Component] = []
        for step, before, after in zip(self.steps, self.states, self.states[1:], strict=False):
            if after.origin(reference) is None:
                sure.clear()
                possible.clear()
            elif after.known.get(reference) is not before.known.get(reference):
                sure.append(step)
            elif before.origin(reference) is None:
                possible.append(step)
        return sure or possible

    def _index(self, step: Component | None) -> int:
        return next((index for index, other in enumerate(self.steps) if other is step), len(self.steps))


def followed(pipeline: PipelineDraft, binding: Binding) -> Changing:
    """
    Follow what changes through a chain, and warn of steps that nobody can follow.

    Those are attributes, the body, and the event's time and host. A step that says all names it sets needs no warning:
    what is made of those is followed, and refused in a row key.
    """
    states: list[Changes] = [Changes()]
    for step in pipeline.steps:
        settings = step.settings
        after = states[-1]
        if not binding.lookup.is_deterministic(step.kind):
            if not isinstance(settings, Settings) or settings.other_names is not None:
                message = (
                    f"{step.kind} may give something else each time: an event that runs again is stored differently"
                )
                binding.warning(Kind.CONFLICT, step.where, message)
            if isinstance(settings, Settings):
                after = after.but(dict.fromkeys(settings.set_references(), step))
        else:
            after = passed_on(step, after, pipeline.options.timezone)
        states.append(after)
    return Changing(tuple(pipeline.steps), tuple(states))


def passed_on(step: Component, before: Changes, zone: str) -> Changes:
    """What changes after a step that itself gives the same for the same."""
    settings = step.settings
    if not isinstance(settings, Settings) or before.origin("*") is None:
        return before
    moved = _renamed(settings, before)
    known: dict[str, Component] = {}

    def give(read: AbstractSet[str], references: Iterable[str]) -> Component | None:
        origin = before.first(read)
        if origin is not None:
            known.update(dict.fromkeys(references, origin))
        return origin

    for name, target in settings.passes_on().items():
        give({_attribute(name)}, [_attribute(target)])
    made_of = settings.made_of()
    for reference, path in made_of.items():
        give(read_at(settings, path), [reference])  # one of them says nothing of the others
    told = {path[0] for path in made_of.values()}
    others = read_by([part for option, part in settings if option not in told])
    condition = read_when(settings, zone)
    origin = give(others | settings.reads() | condition, settings.set_references())
    begins = {}
    if origin is not None and settings.other_names is not None:
        begins[settings.other_names] = origin
    listed = settings.takes() | settings.changes()
    if (chooser := give(condition, map(_attribute, listed))) and "*" in listed:
        begins[""] = chooser
    for name in (*before.names(), *settings.takes()):
        begin, maker = settings.members_of(name), before.origin(_attribute(name))
        if begin is not None and maker is not None:
            begins[begin] = maker
    return moved.but(known, begins, surely_set(settings))


def _renamed(settings: Settings, before: Changes) -> Changes:
    """What changes when a step has given attributes the names that it says."""
    if type(settings).new_name is Settings.new_name:
        return before
    known: dict[str, Component] = {}
    for reference, step in before.known.items():
        known[_new_reference(settings, reference)] = step
        if settings.when is not None:
            known[reference] = step
    begins = {}
    for begin, step in before.begins.items():
        new = settings.new_name(begin)
        others = settings.other_names if new == begin else new  # names that begin so may still get another one
        if others is not None:
            begins[others] = step
    steady = {_new_reference(settings, reference) for reference in before.steady}
    if settings.when is not None:
        steady &= before.steady
    return Changes({}, before.begins, steady=frozenset(steady)).but(known, begins)


def _new_reference(settings: Settings, reference: str) -> str:
    if not reference.startswith(_ATTRIBUTE):
        return reference
    return _attribute(settings.new_name(reference.removeprefix(_ATTRIBUTE)))


def surely_set(settings: Settings) -> frozenset[str]:
    """References of what a step surely sets, in each event that comes out of it or goes past it."""
    return settings.surely_sets() if settings.when is None else frozenset()


def _attribute(name: str) -> str:
    return _ATTRIBUTE + name


def read_when(settings: Model, zone: str) -> frozenset[str]:
    """References of the condition of a step."""
    when = getattr(settings, "when", None)
    return Condition.parse(when, zone).references if isinstance(when, str) else frozenset()


def read_at(settings: Settings, path: Sequence[str]) -> frozenset[str]:
    """References of the templates at one place of the options."""
    option, *keys = path
    value = getattr(settings, option)
    for key in keys:
        value = value[key]
    return read_by(value)


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
