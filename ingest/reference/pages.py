"""Pages about components, made of their docstrings, options and examples: `describe` and the reference show them."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from ingest.api import CatalogError, Example, Model, NotFoundError, Settings
from ingest.api.notation import to_notation
from ingest.catalog import COMPONENT_TYPES, SINGULAR, Catalog
from ingest.expressions import FUNCTIONS, Function
from ingest.reference.options import OptionRow, option_rows
from ingest.reference.readable import readable
from ingest.suggest import did_you_mean_ours

FUNCTION_ROOM = "functions"
_IN_LISTS = ("decorators", "sinks")
_WIDTH = 110  # columns; an event that needs more stands on several lines


@dataclass(frozen=True, slots=True)
class ShownExample:
    """
    A use of a component.

    Attributes:
        lines: its YAML, then an event before and what is different after; of a function, what it gives.
    """

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """
    What an event costs in a decorator, as the bench measured it.

    Attributes:
        ns: nanoseconds, in the hardest of its examples.
        machine: processor, Python and day of that run.
    """

    ns: int
    machine: str

    def __str__(self) -> str:
        time = f"{self.ns} ns" if self.ns < 1_000 else f"{self.ns / 1_000:.1f} µs"  # noqa: PLR2004 - ns in a µs
        return f"{time} an event ({self.machine})"


@dataclass(frozen=True, slots=True)
class Page:
    """
    What there is to know about a component.

    Attributes:
        room: decorators, sinks, stores or sources; functions, for one of expressions.
        text: the docstring; its first line is the summary. Of a plugin that cannot be used, why.
        provider: the package and its version that brings it; "" when it is built in.
        is_broken: it cannot be used.
        alias_of: the component that it is with other options or defaults; "" for one of its own.
        is_for_imports: it is there for imported configurations.
        cost: of a decorator that the bench knows.
    """

    room: str
    name: str
    stability: str
    text: str
    options: tuple[OptionRow, ...]
    examples: tuple[ShownExample, ...]
    provider: str = ""
    is_broken: bool = False
    alias_of: str = ""
    is_for_imports: bool = False
    cost: Cost | None = None

    @property
    def singular(self) -> str:
        """The room's name for one of its components."""
        return "function of expressions" if self.room == FUNCTION_ROOM else SINGULAR[self.room]

    @property
    def summary(self) -> str:
        """The first sentence."""
        return " ".join(self.text.partition("\n\n")[0].split())


def pages(catalog: Catalog | None = None) -> list[Page]:
    """A page for every component, room by room, sorted; for a plugin that cannot be used, one that says why."""
    catalog = catalog or Catalog()
    return [_page(catalog, room, name) for room in COMPONENT_TYPES for name in catalog.names(room)]


def _page(catalog: Catalog, room: str, name: str) -> Page:
    try:
        return page_of(catalog, room, name)
    except CatalogError as error:
        return Page(room, name, "", str(error), (), (), is_broken=True)


def pages_named(name: str, catalog: Catalog | None = None) -> list[Page]:
    """
    The pages of a name; a source and a store may share one.

    A function of expressions may have it as well.

    Raises:
        NotFoundError: there is nothing of this name.
    """
    catalog = catalog or Catalog()
    found = [page_of(catalog, room, name) for room in COMPONENT_TYPES if name in catalog.names(room)]
    if name in FUNCTIONS:
        found.append(function_page(FUNCTIONS[name]))
    if not found:
        every = [*FUNCTIONS, *(known for room in COMPONENT_TYPES for known in catalog.names(room))]
        hint = did_you_mean_ours(name, every) or "'ingest describe' lists them"
        raise NotFoundError(f'there is no component "{name}"', hint=hint)
    return found


def page_of(catalog: Catalog, room: str, name: str, costs: Mapping[str, Any] | None = None) -> Page:
    """
    The page of a component.

    Args:
        catalog: where it is looked up.
        room: of the component.
        name: of the component.
        costs: of decorators, as a run of the bench measured them; those that the package knows when left out.

    Raises:
        CatalogError: it cannot be used.
    """
    component = catalog.load(room, name)
    settings = catalog.settings(room, name)
    stability = getattr(component, "stability", None)
    return Page(
        room=room,
        name=name,
        stability="stable" if stability is None else stability.value,
        text=_text(component),
        options=tuple(sorted(option_rows(settings), key=_rank(settings))),
        examples=tuple(_shown(room, name, example) for example in getattr(component, "examples", ())),
        provider=catalog.entry(room, name).provider,
        alias_of=catalog.alias_of(room, name),
        is_for_imports=catalog.is_for_imports(room, name),
        cost=cost_in(costs or _costs(), name) if room == "decorators" else None,
    )


def function_page(function: Function) -> Page:
    """The page of a function of expressions; its parameters are the options."""
    rows = [
        OptionRow(
            each.name,
            each.kind.value + (f": {', '.join(each.choices)}" if each.choices else ""),
            "required" if each.required else "none" if each.default is None else str(each.default),
            each.doc,
            "",
        )
        for each in function.parameters
    ]
    examples = [
        ShownExample(
            each.template,
            (
                *(f"{name} is {value}" for name, value in each.attributes.items()),
                f"fails: {each.error}" if each.error else f"gives {_result(each.result)}",
            ),
        )
        for each in function.examples
    ]
    text = f"%{{{function.signature}}}\n\n{function.doc}"
    return Page(FUNCTION_ROOM, function.name, "stable", text, tuple(rows), tuple(examples))


def _result(value: str | bytes) -> str:
    return readable(value if isinstance(value, bytes) else value.encode()) or "nothing"


def cost_in(costs: Mapping[str, Any], decorator: str) -> Cost | None:
    """What a decorator costs; None for one that is newer than the last run of the bench."""
    ns = costs["ns"].get(decorator)
    return None if ns is None else Cost(ns, costs["machine"])


@cache
def _costs() -> dict[str, Any]:
    content: dict[str, Any] = orjson.loads(files("ingest.reference").joinpath("costs.json").read_bytes())
    return content


def _rank(settings: type[Model]) -> Callable[[OptionRow], int]:
    """The component's own and required options, then those of its kind, then those of every decorator."""
    own = settings.__annotations__

    def rank(row: OptionRow) -> int:
        name = row.name.partition(".")[0]
        if name in Settings.model_fields:
            return 2
        return int(name not in own and not settings.model_fields[name].is_required())

    return rank


def _text(component: type) -> str:
    """The docstring for people: without the part that speaks of arguments."""
    text = inspect.getdoc(component) or ""
    return text.partition("\nArgs:\n")[0].rstrip()


def _shown(room: str, name: str, example: Example) -> ShownExample:
    lines = [f"{'- ' if room in _IN_LISTS else ''}{name}: {example.settings}"]
    for file, content in example.files.items():
        shown = orjson.dumps(content).decode() if isinstance(content, str) else f"{len(content)} bytes"
        lines.append(f"file    {file}: {shown}")
    given = example.given()
    if "body" in given:
        given["body"] = _plain(example.body)
    if "attributes" in given:
        given["attributes"] = {key: _plain(value) for key, value in example.attributes.items()}
    if "earlier" in given:
        given["earlier"] = [_plain(body) for body in example.earlier]
    if given:
        lines += _event("before", given)
    lines += _after(example) or (["after   the same"] if room == "decorators" else [])
    return ShownExample(example.title, tuple(lines))


def _after(example: Example) -> list[str]:
    """What became of the event; nothing where it is as it was."""
    if example.dropped or example.made == ():
        return ["after   dropped"]
    if example.error is not None:
        return [f"after   fails with {example.error}"]
    if example.made is not None:
        made = (
            {"body": _plain(body)} | ({"attributes": attributes} if attributes else {})
            for body, attributes in example.made
        )
        return [line for each in made for line in _event("after", each)]
    changed = {name: value for name, value in example.after.items() if value is not None}
    gone = [name for name, value in example.after.items() if value is None]
    after: dict[str, object] = {"attributes": changed} if changed else {}
    if example.body_after is not None:
        after["body"] = _plain(example.body_after)
    if example.timestamp_ms_after is not None:
        after["timestamp_ms"] = example.timestamp_ms_after
    return (_event("after", after) if after else []) + ([f"gone    {', '.join(gone)}"] if gone else [])


def _event(word: str, parts: Mapping[str, object]) -> list[str]:
    """An event as JSON, on one line where it fits."""
    line = f"{word:<8}{orjson.dumps(parts).decode()}"
    if len(line) <= _WIDTH:
        return [line]
    first, *others = orjson.dumps(parts, option=orjson.OPT_INDENT_2).decode().split("\n")
    return [f"{word:<8}{first}", *(f"{'':<8}{other}" for other in others)]


def _plain(body: str | bytes) -> object:
    return body if isinstance(body, str) else to_notation(body)
