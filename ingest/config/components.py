"""One component, `name: {options}`, from nodes to checked options."""

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as AbstractSequence
from typing import Protocol, TypeVar

from pydantic import ValidationError

from ingest.api import CatalogError, Model, Settings
from ingest.config.model import Component
from ingest.config.nodes import Mapping, Node, Path, Scalar, Sequence, locations, plain, text_under
from ingest.config.problems import Kind, Place, Problem, Severity, listed
from ingest.config.scalars import resolve
from ingest.config.translate import LocatedNode, problems_of, secret_scalars
from ingest.expressions import Condition, ExpressionSyntaxError, Pattern, Template
from ingest.masks import Masks
from ingest.plugins.loader import Plugin
from ingest.suggest import OWN_CODE, did_you_mean_ours

S = TypeVar("S", bound=Model)

NOT_IMPORTED = "not_imported"
"""
Kind that stands for a decorator or sink of another system that an import could not translate.

A file with one is refused. Options: `class`, the name of what stood there, and `instead`, what to write.
"""


class Lookup(Protocol):
    """Who knows the options of every component; rooms are `decorators`, `sinks`, `stores` and `sources`."""

    def __call__(self, room: str, name: str) -> type[Model] | None:
        """The options of a component, None when there is none of that name; CatalogError when it cannot be had."""

    def names(self, room: str) -> AbstractSequence[str]:
        """All names of a room."""

    def is_deterministic(self, name: str) -> bool:
        """Whether a decorator gives the same for the same event."""

    def holds_events(self, name: str) -> bool:
        """Whether a decorator buffers events until the end of a split."""

    def makes_events(self, name: str) -> bool:
        """Whether a decorator may make several events of one."""

    def with_plugins(self, plugins: AbstractSequence[Plugin]) -> "Lookup":
        """The same and what some modules add; CatalogError when one cannot be imported."""


class Binding:
    """
    What is shared while a file is bound: who to ask, what was found wrong, what to hide.

    Attributes:
        lost_plugins: modules that are named and cannot be used.
    """

    def __init__(self, lookup: Lookup, problems: list[Problem], masks: Masks) -> None:
        self.lookup = lookup
        self.problems = problems
        self.masks = masks
        self.lost_plugins: list[str] = []

    def problem(self, kind: Kind, location: Place, message: str, hint: str = "") -> None:
        """Note an error."""
        self.problems.append(Problem(kind, location, message, hint))

    def warning(self, kind: Kind, location: Place, message: str, hint: str = "") -> None:
        """Note something a pipeline can run with."""
        self.problems.append(Problem(kind, location, message, hint, Severity.WARNING))

    def mapping(self, node: Node, what: str) -> Mapping | None:
        """A node as a mapping; nothing at all is an empty one."""
        if isinstance(node, Mapping):
            return node
        if isinstance(node, Scalar) and node.value is None:
            return Mapping(node.place)
        self.problem(Kind.WRONG_TYPE, node.place, f"{what} wants a mapping of names to values")
        return None

    def options(
        self, model: type[Model], node: Node, owner: str, location: Place, context: dict[str, object] | None = None
    ) -> Model | None:
        """Checked options, or None and problems."""
        if isinstance(node, Scalar) and node.value is None:
            node = Mapping(node.place)
        self._keep_secrets(model, node, owner)
        placed = LocatedNode(node, owner, location, model)
        try:
            return model.model_validate(plain(node), context=context)
        except ValidationError as error:
            if not _take_as_wanted(error, placed):
                self.problems.extend(problems_of(error, placed))
                return None
        try:
            return model.model_validate(plain(node), context=context)
        except ValidationError as error:
            self.problems.extend(problems_of(error, placed))
            return None

    def component(
        self, node: Node, room: str, owner: str, context: dict[str, object], base: type[S]
    ) -> Component[S] | None:
        """A component whose options are of the class `base`, or None and problems."""
        named = self.named(node, owner, self.lookup.names(room) if isinstance(node, Mapping) else ())
        if named is None:
            return None
        kind, options, location = named
        if kind == NOT_IMPORTED:
            was, instead = text_under(options, "class"), text_under(options, "instead")
            message = f'"{was.text}" was not imported' if was else f"a {_SINGULAR[room]} was not imported"
            self.problem(Kind.NOT_IMPORTED, location, message, instead.text if instead else "")
            return None
        try:
            model = self.lookup(room, kind)
        except CatalogError as error:
            self.problem(Kind.UNKNOWN_COMPONENT, location, error.message, error.hint or "")
            return None
        if model is None:
            names = self.lookup.names(room)
            if self.lost_plugins:
                hint = f"it may be of the plugin {listed(self.lost_plugins)}, which cannot be used"
            elif room == "decorators" and kind in OWN_CODE:
                hint = "write a decorator of your own in Python, and name its file under `plugins`"
            else:
                hint = did_you_mean_ours(kind, names) or f"there are {listed(names, len(names))}"
            self.problem(Kind.UNKNOWN_COMPONENT, location, f'there is no {_SINGULAR[room]} "{kind}"', hint)
            return None
        settings = self.options(model, options, kind, location, context)
        zone = str(context.get("timezone", "UTC"))
        is_good = self._expressions_are_good(LocatedNode(options, kind, location, model), zone)
        if not isinstance(settings, base) or not is_good:
            return None
        self._add_lint_warnings(settings, LocatedNode(options, kind, location, model), zone)
        return Component(kind, settings, location, locations(options))

    def named(self, node: Node, owner: str, names: AbstractSequence[str]) -> tuple[str, Node, Place] | None:
        """The name of a component, its options and the name's place; bare text is a component without options."""
        match node:
            case Scalar(value=str(kind)) if kind:
                return kind, Mapping(node.place), node.place
            case Mapping() if len(node.entries) == 1:
                ((kind, options),) = node.entries.items()
                return kind, options, node.keys[kind]
            case Mapping() if len(node.entries) > 1:
                first, second = list(node.entries)[:2]
                empty = node.entries[first]
                forgotten = isinstance(empty, Scalar) and empty.value is None and second not in names
                beside = [name for name in node.entries if name in Settings.model_fields]
                if beside and len(node.entries) == len(beside) + 1:
                    (kind,) = node.entries.keys() - set(beside)
                    hint = f"options that every decorator has belong inside: `{kind}: {{…, {beside[0]}: …}}`"
                elif forgotten:
                    hint = f'indent the options of "{first}" further'
                else:
                    hint = "one key, `name: {options}`, each"
                self.problem(
                    Kind.CONFLICT,
                    node.keys[second],
                    f"a {owner} is one component, here are {listed(node.entries)}",
                    hint,
                )
            case _:
                self.problem(Kind.WRONG_TYPE, node.place, f"a {owner} is written `name: {{options}}`")
        return None

    def _keep_secrets(self, model: type[Model], node: Node, owner: str) -> None:
        for scalar in secret_scalars(model, node):
            scalar.secret = True
            if scalar.value is None:
                continue
            self.masks.add(scalar.text)
            if scalar.expanded:
                scalar.value = scalar.text
            else:
                self.problem(
                    Kind.CONFLICT,
                    scalar.place,
                    f"a secret of {owner} stands in the file",
                    "write ${secret:NAME} or ${VARIABLE}",
                )

    def _expressions_are_good(self, placed: LocatedNode, zone: str) -> bool:
        """
        Check what contracts keep as text: conditions and patterns that are compiled where they are used.

        By nodes, because the options around them may be wrong in other ways.
        """
        before = len(self.problems)
        for path in _CONDITIONS:
            for scalar in _texts_at(placed.node, path):
                try:
                    Condition.parse(scalar.text, zone)
                except ExpressionSyntaxError as error:
                    self.problem(Kind.BAD_EXPRESSION, scalar.at(error.column), error.message)
        for scalar in _texts_at(placed.node, ("columns", "name_pattern")):
            try:
                Pattern.parse(scalar.text)
            except ExpressionSyntaxError as error:
                message = error.message.removeprefix("bad pattern: ")
                self.problem(Kind.BAD_PATTERN, scalar.at(error.column), message)
        return len(self.problems) == before

    def _add_lint_warnings(self, settings: Model, placed: LocatedNode, zone: str) -> None:
        """Add a warning for each expression that is valid but unlikely to be meant."""
        lint_warnings = [
            (path, doubt) for path, expression in _expressions(settings) for doubt in expression.lint_warnings
        ]
        if isinstance(settings, Settings) and settings.when is not None:
            condition = Condition.parse(settings.when, zone)
            if condition.references:  # else the decorator is unreachable, which has its own warning
                lint_warnings += [(("when",), doubt) for doubt in condition.lint_warnings]
        for path, doubt in lint_warnings:
            node, found, _ = placed.follow(path)
            if isinstance(node, Scalar) and found == path:
                self.warning(Kind.DOUBTFUL, node.at(doubt.column), doubt.message, doubt.hint)
        if isinstance(settings, Settings):
            for option, message in settings.lint_warnings().items():
                self.warning(Kind.DOUBTFUL, placed.follow((option,))[0].place, message)


_CONDITIONS = (("when",), ("rules", "*", "when"))
_SINGULAR = {"decorators": "decorator", "sinks": "sink", "stores": "store", "sources": "source"}


def _take_as_wanted(error: ValidationError, placed: LocatedNode) -> bool:
    """
    What a variable gives is text where text is wanted, and a number or a truth value where that is.

    Nobody can quote a variable that happens to hold a number, and inside { } nobody can leave the quotes out.
    """
    changed = False
    for details in error.errors(include_url=False, include_input=False, include_context=False):
        node, _, _ = placed.follow(details["loc"])
        if not isinstance(node, Scalar) or not node.expanded or node.secret:
            continue
        value = node.value
        if details["type"] == "string_type":
            node.value = node.text
        elif details["type"] in _READ_AGAIN and (found := resolve(node.text)) is not None:
            node.value = found
        changed = changed or node.value != value
    return changed


_READ_AGAIN = frozenset({"int_type", "float_type", "bool_type"})


def _expressions(value: object, path: Path = ()) -> Iterator[tuple[Path, Template | Condition]]:
    """Templates and conditions in options, each with its path."""
    children: Iterable[tuple[str | int, object]] = ()
    match value:
        case Template() | Condition():
            yield path, value
        case Model():
            children = value
        case list():
            children = enumerate(value)
        case dict():
            children = value.items()
    for step, child in children:
        yield from _expressions(child, (*path, step))


def _texts_at(node: Node, path: AbstractSequence[str]) -> Iterator[Scalar]:
    """Texts at a path in which `*` stands for every item of a list."""
    if not path:
        if isinstance(node, Scalar) and isinstance(node.value, str):
            yield node
    elif isinstance(node, Mapping) and path[0] in node.entries:
        yield from _texts_at(node.entries[path[0]], path[1:])
    elif isinstance(node, Sequence) and path[0] == "*":
        for item in node.items:
            yield from _texts_at(item, path[1:])
