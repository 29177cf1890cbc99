"""Which pipelines differ between two configurations, and which options."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ingest.config.model import Configuration
from ingest.config.pairing import Pair, aligned

_MEANING = frozenset({"url", "schemas"})
"""Options of the registry that decide what values mean; the others say how to connect."""


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
    return any(of(old, name) != of(new, name) for of in (_used, _settings))


def changed_options(name: str, old: Configuration, new: Configuration) -> list[ChangedOption]:
    """
    The options of a pipeline, and of the stores, tables and other sections that it uses, which differ between files.

    None if only something else differs that it uses, such as the value of a secret.
    """
    before, after = _used(old, name), _used(new, name)
    one, other = old.pipelines[name], new.pipelines[name]
    pairs = {
        "decorators": aligned(one.decorators, other.decorators),
        "sinks": aligned(one.sinks, other.sinks),
    }
    found: list[ChangedOption] = []
    for part in dict.fromkeys((*before, *after)):
        if part in pairs:
            found += _changed_components(before.get(part, ()), after.get(part, ()), pairs[part], (part,))
        else:
            sides = [{part: each[part]} if part in each else {} for each in (before, after)]
            found += _changed(sides[0], sides[1], ())
    return found


def _used(configuration: Configuration, name: str) -> dict[str, Any]:
    """
    The options of a pipeline, with chains expanded, and those of the sections that pipelines share which it uses.

    Without its description and the types of columns, which change nothing that is written; secrets are masked.
    """
    pipeline, effective = configuration.pipelines[name], configuration.effective
    sections = {part: _mapping(effective.get(part)) for part in ("registry", "stores", "tables", "chains")}
    written = [each.name for each in configuration.tables.values() if pipeline.may_write(each)]
    uses_registry = any(decorator.settings.uses_registry for decorator in pipeline.decorators)
    shared = {
        "plugins": effective.get("plugins"),  # any component may be one of theirs
        "registry": {key: sections["registry"][key] for key in _MEANING & sections["registry"].keys() if uses_registry},
        "stores": {store: sections["stores"][store] for store in pipeline.stores if store in sections["stores"]},
        "tables": {
            table: {key: value for key, value in _mapping(sections["tables"][table]).items() if key != "columns"}
            for table in written
            if table in sections["tables"]
        },
    }
    own = _mapping(_mapping(effective["pipelines"])[name])
    decorators = list(_expanded(own.get("decorators"), sections["chains"]))
    return {
        **{part: options for part, options in shared.items() if options},
        **{part: decorators if part == "decorators" else own[part] for part in own if part != "description"},
    }


def _settings(configuration: Configuration, name: str) -> list[object]:
    """What the options of a pipeline come to, also the values of secrets, and the content of schemas."""
    pipeline = configuration.pipelines[name]
    components = (pipeline.source, *pipeline.decorators, *pipeline.sinks, pipeline.dead_letters)
    return [
        pipeline.fingerprint,
        [(each.kind, each.settings) for each in components],
        [(store, configuration.stores[store].settings) for store in pipeline.stores],
    ]


def _mapping(options: Any) -> Mapping[str, Any]:
    """Options as a mapping; those that are left out are null."""
    return options if isinstance(options, Mapping) else {}


def _expanded(decorators: Any, chains: Mapping[str, Any]) -> Iterator[Any]:
    """Decorators with those of the chains that they name."""
    for each in decorators or ():
        if isinstance(each, Mapping) and list(each) == ["chain"]:
            yield from _expanded(chains[each["chain"]], chains)
        else:
            yield each


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
        else:
            yield ChangedOption(inner, before, after)


def _changed_components(
    old: Sequence[Any] | None, new: Sequence[Any] | None, pairs: Sequence[Pair], path: tuple[str, ...]
) -> Iterator[ChangedOption]:
    """As `_changed`, of components; those of another kind, or in another order, are removed and added."""
    for before, after in pairs:
        one, other = None if before is None else (old or ())[before], None if after is None else (new or ())[after]
        if one is not None and other is not None and _kind(one) == _kind(other):
            yield from _changed(_options(one), _options(other), (*path, _name(other)))
            continue
        if one is not None:
            yield ChangedOption((*path, _name(one)), _options(one), None, has_new=False)
        if other is not None:
            yield ChangedOption((*path, _name(other)), None, _options(other), has_old=False)


def _name(component: Any) -> str:
    """The kind of a component with its label, as tables of components have it."""
    label = _options(component).get("label")
    return _kind(component) if label is None else f"{_kind(component)} ({label})"


def _kind(component: Any) -> str:
    return str(next(iter(component), "")) if isinstance(component, Mapping) else str(component)


def _options(component: Any) -> Mapping[str, Any]:
    return _mapping(next(iter(component.values()), None)) if isinstance(component, Mapping) else {}
