"""Pages about components, made of their docstrings, options and examples."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from ingest.api import CatalogError, Example, Model, NotFoundError, Settings
from ingest.api.notation import to_notation
from ingest.catalog import ROOMS, SINGULAR, Catalog
from ingest.cli.readable import readable
from ingest.config.pages import OptionRow, option_rows
from ingest.expressions import FUNCTIONS, Function
from ingest.spelling import did_you_mean

FUNCTION_ROOM = "functions"
_IN_LISTS = ("decorators", "sinks")


@dataclass(frozen=True, slots=True)
class ShownExample:
    """A use of a component: its options, an event before and what is different after."""

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
        room: decorators, sinks, stores or sources; functions, for one of templates.
        text: the docstring; its first line is the summary. Of a plugin that can not be used, why.
        provider: the package and its version that brings it; "" when it is built in.
        is_broken: it can not be used.
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
    cost: Cost | None = None

    @property
    def singular(self) -> str:
        """The room's name for one of its components."""
        return "function of templates" if self.room == FUNCTION_ROOM else SINGULAR[self.room]

    @property
    def summary(self) -> str:
        """The first sentence."""
        return " ".join(self.text.partition("\n\n")[0].split())


def pages(catalog: Catalog | None = None) -> list[Page]:
    """A page for every component, room by room, sorted; for a plugin that can not be used, one that says why."""
    catalog = catalog or Catalog()
    return [_page(catalog, room, name) for room in ROOMS for name in catalog.names(room)]


def _page(catalog: Catalog, room: str, name: str) -> Page:
    try:
        return page_of(catalog, room, name)
    except CatalogError as error:
        return Page(room, name, "", str(error), (), (), is_broken=True)


def pages_named(name: str, catalog: Catalog | None = None) -> list[Page]:
    """
    The pages of a name; a source and a store may share one.

    A function of templates may have it as well.

    Raises:
        NotFoundError: there is nothing of this name.
    """
    catalog = catalog or Catalog()
    found = [page_of(catalog, room, name) for room in ROOMS if name in catalog.names(room)]
    if name in FUNCTIONS:
        found.append(function_page(FUNCTIONS[name]))
    if not found:
        every = [*FUNCTIONS, *(known for room in ROOMS for known in catalog.names(room))]
        hint = did_you_mean(name, every) or "'ingest describe' lists them"
        raise NotFoundError(f'there is no component "{name}"', hint=hint)
    return found


def page_of(catalog: Catalog, room: str, name: str) -> Page:
    """
    The page of a component.

    Raises:
        CatalogError: it can not be used.
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
        examples=tuple(
            _shown(f"- {name}" if room in _IN_LISTS else name, example)
            for example in getattr(component, "examples", ())
        ),
        provider=catalog.entry(room, name).provider,
        cost=cost_in(_costs(), name) if room == "decorators" else None,
    )


def function_page(function: Function) -> Page:
    """The page of a function of templates; its parameters are the options."""
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
    content: dict[str, Any] = orjson.loads(files("ingest.cli").joinpath("costs.json").read_bytes())
    return content


def _rank(settings: type[Model]) -> Callable[[OptionRow], int]:
    """Options of the component itself first, those of all its kind after them, what every step has last."""
    own = settings.__annotations__

    def rank(row: OptionRow) -> int:
        name = row.name.partition(".")[0]
        return 2 if name in Settings.model_fields else int(name not in own)

    return rank


def _text(component: type) -> str:
    """The docstring for people: without the part that speaks of arguments."""
    text = inspect.getdoc(component) or ""
    return text.partition("\nArgs:\n")[0].rstrip()


def _shown(heading: str, example: Example) -> ShownExample:
    lines = [f"{heading}: {example.settings}"]
    for file, content in example.files.items():
        shown = orjson.dumps(content).decode() if isinstance(content, str) else f"{len(content)} bytes"
        lines.append(f"file    {file}: {shown}")
    given = example.given()
    if "body" in given:
        given["body"] = _plain(example.body)
    if "attributes" in given:
        given["attributes"] = {name: _plain(value) for name, value in example.attributes.items()}
    if "earlier" in given:
        given["earlier"] = [_plain(body) for body in example.earlier]
    if given:
        lines.append(f"before  {orjson.dumps(given).decode()}")
    after: dict[str, object] = {"attributes": example.after} if example.after else {}
    if example.body_after is not None:
        after["body"] = _plain(example.body_after)
    if example.timestamp_ms_after is not None:
        after["timestamp_ms"] = example.timestamp_ms_after
    if example.dropped:
        lines.append("after   dropped")
    elif example.error is not None:
        lines.append(f"after   fails with {example.error}")
    elif example.made is not None:
        made = (
            {"body": _plain(body)} | ({"attributes": attributes} if attributes else {})
            for body, attributes in example.made
        )
        lines += [f"after   {orjson.dumps(each).decode()}" for each in made]
    elif after:
        lines.append(f"after   {orjson.dumps(after).decode()}")
    return ShownExample(example.title, tuple(lines))


def _plain(body: str | bytes) -> object:
    return body if isinstance(body, str) else to_notation(body)
