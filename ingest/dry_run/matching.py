"""Which decorators and sinks of two versions of a pipeline are the same, though they are numbered in other ways."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from ingest.api import Settings
from ingest.config.model import Component
from ingest.plan.plan import Plan


def new_names(old: Plan, new: Plan) -> dict[str, str]:
    """
    The names that decorators and sinks of the old version have in a comparison: those of the new version.

    Components are the same if they have one label, else in their order if they have the same options. One whose name
    belongs to another component of the new version has `(old)` after it. All others keep their names.
    """
    return _matched(old.decorators, new.decorators) | _matched(old.sinks, new.sinks)


def _matched(old: Sequence[Component[Settings]], new: Sequence[Component[Settings]]) -> dict[str, str]:
    before, after = _identities(old, new)
    matcher = SequenceMatcher(a=before, b=after, autojunk=False)
    names = {
        old[block.a + index].name: new[block.b + index].name
        for block in matcher.get_matching_blocks()
        for index in range(block.size)
    }
    taken = set(names.values())
    return names | {one.name: f"{one.name} (old)" for one in old if one.name not in names and one.name in taken}


def _identities(*versions: Sequence[Component[Settings]]) -> list[list[object]]:
    """Hashable values that are equal for what is the same: the label that all versions have, or a number of options."""
    common = set.intersection(
        *({each.settings.label for each in version if each.settings.label} for version in versions)
    )
    options: list[tuple[str, Settings]] = []

    def identity(component: Component[Settings]) -> object:
        if component.settings.label in common:
            return component.settings.label
        content = component.kind, component.settings.model_copy(update={"label": None})
        if content not in options:
            options.append(content)
        return options.index(content)

    return [[identity(component) for component in version] for version in versions]
