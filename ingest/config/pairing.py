"""Which decorators and sinks of two versions of a pipeline are the same, though they may stand at other places."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

from ingest.api import Settings
from ingest.config.model import Component

Components = Sequence[Component[Any]]
Pair = tuple[int | None, int | None]
"""Index of a component in the old version, and in the new one; None if that one does not have it."""


def aligned(old: Components, new: Components) -> list[Pair]:
    """
    The components of both versions in their order.

    Two are one pair if they have one label, or the same options besides the label; so are two between the same pairs
    that have one kind, and one label or none, though their options differ. Of components in another order only some are
    pairs.
    """
    return list(_aligned(old, new))


def same_components(old: Components, new: Components) -> dict[int, int]:
    """Index in the old version -> index in the new one, of the pairs of `aligned` and of all with one label."""
    labelled = {each.settings.label: index for index, each in enumerate(new) if each.settings.label}
    found = {index: labelled[each.settings.label] for index, each in enumerate(old) if each.settings.label in labelled}
    return found | {one: other for one, other in aligned(old, new) if one is not None and other is not None}


def _aligned(old: Components, new: Components) -> Iterator[Pair]:
    for is_same, before, after in _blocks(*_identities(old, new)):
        if is_same:
            yield from zip(before, after, strict=True)
            continue
        kinds, others = _kinds(old, before), _kinds(new, after)
        for is_of_one_kind, some, more in _blocks(kinds, others):
            if is_of_one_kind:
                yield from ((before[i], after[j]) for i, j in zip(some, more, strict=True))
            else:
                yield from ((before[i], None) for i in some)
                yield from ((None, after[j]) for j in more)


def _kinds(components: Components, indexes: range) -> list[tuple[str, str | None]]:
    return [(components[index].kind, components[index].settings.label) for index in indexes]


def _blocks(old: Sequence[object], new: Sequence[object]) -> Iterator[tuple[bool, range, range]]:
    """The parts of two lists that are equal, and those between them that are not."""
    for kind, first, last, start, end in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        yield kind == "equal", range(first, last), range(start, end)


def _identities(*versions: Components) -> list[list[object]]:
    """Hashable values that are equal for what is the same: the label that all versions have, or a number of options."""
    common = set.intersection(
        *({each.settings.label for each in version if each.settings.label} for version in versions)
    )
    options: list[tuple[str, Settings]] = []

    def identity(component: Component[Any]) -> object:
        if component.settings.label in common:
            return component.settings.label
        content = component.kind, component.settings.model_copy(update={"label": None})
        if content not in options:
            options.append(content)
        return options.index(content)

    return [[identity(component) for component in version] for version in versions]
