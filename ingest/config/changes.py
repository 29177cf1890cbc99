"""Which pipelines differ between two configurations, and which options."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from ingest.config.model import Configuration, Pipeline

_NOT_OF_EVENTS = frozenset({"pipelines", "tests", "service", "dump", "state_dir", "local_dir"})
"""Sections without options that change what a pipeline does to events."""
_COMPONENTS = frozenset({"decorators", "sinks"})


class ChangedOption(NamedTuple):
    """
    An option that differs.

    Attributes:
        path: names from the top of the file, or from the pipeline, to the option; a decorator or a sink is its kind,
            with its label.
        old: its value, with secrets masked; None if OLD does not have the option.
        new: the same of NEW.
        has_old: whether OLD has the option.
        has_new: the same of NEW.
    """

    path: tuple[str, ...]
    old: object
    new: object
    has_old: bool = True
    has_new: bool = True

    def to_json(self) -> dict[str, Any]:
        """The same as plain data; without `old` or `new` if that file does not have the option."""
        old = {"old": self.old} if self.has_old else {}
        return {"path": list(self.path), **old, **({"new": self.new} if self.has_new else {})}


def is_changed(name: str, old: Configuration, new: Configuration) -> bool:
    """Whether anything that a pipeline uses differs, also the value of a secret; a description does not count."""
    return _used(old, old.pipelines[name]) != _used(new, new.pipelines[name])


def changed_options(name: str, old: Configuration, new: Configuration) -> list[ChangedOption]:
    """
    The options of a pipeline and of the stores, tables and other common sections that differ between two files.

    None if only something else differs that a pipeline uses, such as the value of a secret.
    """
    before, after = (_sections(each.effective, name) for each in (old, new))
    return list(_changed(before, after, ()))


def _sections(effective: Mapping[str, Any], name: str) -> dict[str, Any]:
    pipeline = effective["pipelines"][name]
    common = {key: value for key, value in effective.items() if key not in _NOT_OF_EVENTS}
    return {**common, **{key: value for key, value in pipeline.items() if key != "description"}}


def _changed(old: Mapping[str, Any], new: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[ChangedOption]:
    for name in dict.fromkeys((*old, *new)):
        inner = (*path, str(name))
        if name not in old or name not in new:
            yield ChangedOption(inner, old.get(name), new.get(name), name in old, name in new)
            continue
        before, after = old[name], new[name]
        if before == after:
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _changed(before, after, inner)
        elif name in _COMPONENTS and isinstance(before, list) and isinstance(after, list):
            yield from _changed_components(before, after, inner)
        else:
            yield ChangedOption(inner, before, after)


def _changed_components(old: Sequence[Any], new: Sequence[Any], path: tuple[str, ...]) -> Iterator[ChangedOption]:
    before, after = ([_name(each) for each in components] for components in (old, new))
    for kind, first, last, start, end in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if kind == "equal":
            for one, other in zip(old[first:last], new[start:end], strict=True):
                yield from _changed(_options(one), _options(other), (*path, _name(one)))
            continue
        for each in old[first:last]:
            yield ChangedOption((*path, _name(each)), _options(each), None, has_new=False)
        for each in new[start:end]:
            yield ChangedOption((*path, _name(each)), None, _options(each), has_old=False)


def _name(component: Any) -> str:
    """The kind of a component with its label, as tables of components have it."""
    if not isinstance(component, Mapping):
        return str(component)
    kind = next(iter(component), "")
    label = _options(component).get("label")
    return kind if label is None else f"{kind} ({label})"


def _options(component: Any) -> Mapping[str, Any]:
    options = next(iter(component.values()), None) if isinstance(component, Mapping) else None
    return options if isinstance(options, Mapping) else {}


def _used(configuration: Configuration, pipeline: Pipeline) -> list[object]:
    components = (pipeline.source, *pipeline.decorators, *pipeline.sinks, pipeline.dead_letters)
    stores = {name for each in pipeline.sinks if (name := each.settings.store_name) is not None}
    return [
        pipeline.fingerprint,
        pipeline.trigger_every_s,
        pipeline.max_rate,
        pipeline.replay,
        pipeline.error_budget,
        [(each.kind, each.settings) for each in components],
        [(name, configuration.stores[name].settings) for name in sorted(stores & configuration.stores.keys())],
    ]
