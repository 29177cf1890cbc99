"""Binds one component, `name: {options}`: from nodes to checked options."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from ingest.api import CatalogError, Finding, Model, Settings
from ingest.api.declared_table import Locator
from ingest.api.table_feature import TableFeature
from ingest.config.deprecated import deprecated_options
from ingest.config.keys import where_it_belongs
from ingest.config.model import Component
from ingest.config.nodes import MappingNode, Node, ScalarNode, SequenceNode, locations, plain, text_under
from ingest.config.problems import Kind, Place, Problem, Severity, listed
from ingest.config.references import expressions_in
from ingest.config.scalars import resolve
from ingest.config.translate import LocatedNode, problems_of, secret_scalars
from ingest.expressions import Condition, ExpressionSyntaxError, Pattern
from ingest.masks import Masks
from ingest.plugins.loader import Plugin
from ingest.suggest import DISTRIBUTE, OWN_CODE, SALTING, did_you_mean_ours

S = TypeVar("S", bound=Model)

NOT_IMPORTED = "not_imported"
"""
Placeholder kind for a decorator or sink of another system that an import could not translate.

A file that contains one is rejected. Options: `class`, the original's name, and `instead`, what to write.
"""


class Lookup(Locator, Protocol):
    """Finds components by type (`decorators`, `sinks`, `stores` or `sources`) and name; a catalog implements it."""

    def __call__(self, component_type: str, name: str) -> type[Model] | None:
        """The options of a component, None if the name is unknown; CatalogError if it cannot be imported."""

    def names(self, component_type: str) -> Sequence[str]:
        """All names of a component type."""

    def is_deterministic(self, name: str) -> bool:
        """Whether a decorator always gives the same result for the same event."""

    def holds_events(self, name: str) -> bool:
        """Whether a decorator buffers events until the end of a split."""

    def makes_events(self, name: str) -> bool:
        """Whether a decorator may turn one event into several."""

    def table_features(self) -> tuple[TableFeature[Any], ...]:
        """All features of tables, in the order in which an event passes their writers."""

    def with_plugins(self, plugins: Sequence[Plugin]) -> "Lookup":
        """A lookup that also has the components of these modules; CatalogError if one cannot be imported."""


class Binding:
    """
    The shared state of binding one file: the lookup of components, the problems found, and the secrets to mask.

    Attributes:
        failed_plugins: modules that could not be imported.
    """

    def __init__(self, lookup: Lookup, problems: list[Problem], masks: Masks) -> None:
        self.lookup = lookup
        self.problems = problems
        self.masks = masks
        self.failed_plugins: list[str] = []

    def problem(self, kind: Kind, location: Place, message: str, hint: str = "") -> None:
        """Report an error."""
        self.problems.append(Problem(kind, location, message, hint))

    def warning(self, kind: Kind, location: Place, message: str, hint: str = "") -> None:
        """Report a warning; the pipeline can still run."""
        self.problems.append(Problem(kind, location, message, hint, Severity.WARNING))

    def report(self, finding: Finding, location: Place, see: str = "") -> None:
        """Report what settings or a feature have found; `see` is the hint of a finding without one."""
        severity = Severity.ERROR if finding.is_error else Severity.WARNING
        kind = Kind(finding.kind.replace("_", "-"))
        self.problems.append(Problem(kind, location, finding.message, finding.hint or see, severity))

    def mapping(self, node: Node, what: str) -> MappingNode | None:
        """The node as a mapping, an empty one for null; reports a problem and returns None for anything else."""
        if isinstance(node, MappingNode):
            return node
        if isinstance(node, ScalarNode) and node.value is None:
            return MappingNode(node.place)
        self.problem(Kind.WRONG_TYPE, node.place, f"{what} must be a mapping of names to values")
        return None

    def options(
        self, model: type[Model], node: Node, owner: str, location: Place, context: dict[str, object] | None = None
    ) -> Model | None:
        """The checked options; None, with problems reported, if they are invalid."""
        if isinstance(node, ScalarNode) and node.value is None:
            node = MappingNode(node.place)
        self._mask_secrets(model, node, owner)
        self._warn_of_deprecated(model, node, owner)
        located = LocatedNode(node, owner, location, model, where_it_belongs)
        try:
            return model.model_validate(plain(node), context=context)
        except ValidationError as error:
            if not _convert_expanded(error, located):
                self.problems.extend(problems_of(error, located))
                return None
        try:
            return model.model_validate(plain(node), context=context)
        except ValidationError as error:
            self.problems.extend(problems_of(error, located))
            return None

    def _warn_of_deprecated(self, model: type[Model], node: Node, owner: str) -> None:
        for found in deprecated_options(model, node):
            message = f'"{found.name}" of {owner} is deprecated, and a later version removes it'
            self.warning(Kind.DEPRECATED, found.place, message, f"use {found.replacement}")

    def component(
        self, node: Node, component_type: str, owner: str, context: dict[str, object], base: type[S]
    ) -> Component[S] | None:
        """A component whose options are of the class `base`; None, with problems reported, if it is invalid."""
        parts = self.kind_and_options(
            node, owner, self.lookup.names(component_type) if isinstance(node, MappingNode) else ()
        )
        if parts is None:
            return None
        kind, options, location = parts
        if kind == NOT_IMPORTED:
            original, instead = text_under(options, "class"), text_under(options, "instead")
            message = (
                f'"{original.text}" was not imported' if original else f"a {_SINGULAR[component_type]} was not imported"
            )
            self.problem(Kind.NOT_IMPORTED, location, message, instead.text if instead else "")
            return None
        try:
            model = self.lookup(component_type, kind)
        except CatalogError as error:
            self.problem(Kind.UNKNOWN_COMPONENT, location, error.message, error.hint or "")
            return None
        if model is None:
            names = self.lookup.names(component_type)
            if self.failed_plugins:
                hint = f"it may belong to the plugin {listed(self.failed_plugins)}, which cannot be used"
            elif component_type == "decorators" and kind in OWN_CODE:
                hint = "write a custom decorator in Python, and name its file under `plugins`"
            elif component_type == "decorators" and kind in SALTING:
                hint = DISTRIBUTE
            else:
                hint = did_you_mean_ours(kind, names) or f"there are {listed(names, len(names))}"
            self.problem(Kind.UNKNOWN_COMPONENT, location, f'there is no {_SINGULAR[component_type]} "{kind}"', hint)
            return None
        settings = self.options(model, options, kind, location, context)
        zone = str(context.get("timezone", "UTC"))
        is_valid = self._check_expressions(LocatedNode(options, kind, location, model), zone)
        if not isinstance(settings, base) or not is_valid:
            return None
        self._add_lint_warnings(settings, LocatedNode(options, kind, location, model), zone)
        return Component(kind, settings, location, locations(options))

    def kind_and_options(self, node: Node, owner: str, names: Sequence[str]) -> tuple[str, Node, Place] | None:
        """
        The kind of a component, its options and the place of the kind; bare text is a component without options.

        Reports a problem and returns None for anything else; `names`, the known kinds, improve its hint.
        """
        match node:
            case ScalarNode(value=str(kind)) if kind:
                return kind, MappingNode(node.place), node.place
            case MappingNode() if len(node.entries) == 1:
                ((kind, options),) = node.entries.items()
                return kind, options, node.keys[kind]
            case MappingNode() if len(node.entries) > 1:
                first, second = list(node.entries)[:2]
                value = node.entries[first]
                is_unindented = isinstance(value, ScalarNode) and value.value is None and second not in names
                common = [name for name in node.entries if name in Settings.model_fields]
                if common and len(node.entries) == len(common) + 1:
                    (kind,) = node.entries.keys() - set(common)
                    hint = f"options of every decorator go inside: `{kind}: {{…, {common[0]}: …}}`"
                elif is_unindented:
                    hint = f'indent the options of "{first}" further'
                else:
                    hint = "write each component as `name: {options}`"
                self.problem(
                    Kind.CONFLICT,
                    node.keys[second],
                    f"a {owner} has one key, not {listed(node.entries)}",
                    hint,
                )
            case _:
                self.problem(Kind.WRONG_TYPE, node.place, f"a {owner} is written `name: {{options}}`")
        return None

    def _mask_secrets(self, model: type[Model], node: Node, owner: str) -> None:
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
                    f"a secret of {owner} is in plain text in the file",
                    "write ${secret:NAME} or ${VARIABLE}",
                )

    def _check_expressions(self, located: LocatedNode, zone: str) -> bool:
        """
        Whether the conditions and patterns that `ingest.api` declares as plain text are valid; reports problems.

        Works on nodes, so these are checked even if other options are invalid.
        """
        before = len(self.problems)
        for path in _CONDITIONS:
            for scalar in _texts_at(located.node, path):
                try:
                    Condition.parse(scalar.text, zone)
                except ExpressionSyntaxError as error:
                    self.problem(Kind.BAD_EXPRESSION, scalar.at(error.column), error.message)
        for scalar in _texts_at(located.node, ("columns", "name_pattern")):
            try:
                Pattern.parse(scalar.text)
            except ExpressionSyntaxError as error:
                message = error.message.removeprefix("bad pattern: ")
                self.problem(Kind.BAD_PATTERN, scalar.at(error.column), message)
        return len(self.problems) == before

    def _add_lint_warnings(self, settings: Model, located: LocatedNode, zone: str) -> None:
        """Report a warning for each expression that is valid but probably a mistake."""
        lint_warnings = [
            (path, warning) for path, expression in expressions_in(settings) for warning in expression.lint_warnings
        ]
        if isinstance(settings, Settings) and settings.when is not None:
            condition = Condition.parse(settings.when, zone)
            if condition.references:  # a constant one is reported as unreachable
                lint_warnings += [(("when",), warning) for warning in condition.lint_warnings]
        for path, warning in lint_warnings:
            node, found, _ = located.follow(path)
            if isinstance(node, ScalarNode) and found == path:
                self.warning(Kind.DOUBTFUL, node.at(warning.column), warning.message, warning.hint)
        if isinstance(settings, Settings):
            for option, message in settings.lint_warnings().items():
                self.warning(Kind.DOUBTFUL, located.follow((option,))[0].place, message)


_CONDITIONS = (("when",), ("rules", "*", "when"))
_SINGULAR = {
    "decorators": "decorator",
    "sinks": "sink",
    "stores": "store",
    "sources": "source",
    "processors": "processor",
}


def _convert_expanded(error: ValidationError, located: LocatedNode) -> bool:
    """
    Convert values with expanded variables to the type that the option expects; whether any value changed.

    The type of `${VAR}` cannot be chosen in the file: unquoted it may be read as a number, and inside { } YAML requires
    quotes, so it is read as text.
    """
    changed = False
    for details in error.errors(include_url=False, include_input=False, include_context=False):
        node, _, _ = located.follow(details["loc"])
        if not isinstance(node, ScalarNode) or not node.expanded or node.secret:
            continue
        value = node.value
        if details["type"] == "string_type":
            node.value = node.text
        elif details["type"] in _REPARSED and (found := resolve(node.text)) is not None:
            node.value = found
        changed = changed or node.value != value
    return changed


_REPARSED = frozenset({"int_type", "float_type", "bool_type"})


def _texts_at(node: Node, path: Sequence[str]) -> Iterator[ScalarNode]:
    """The texts at a path, in which `*` matches every item of a list."""
    if not path:
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            yield node
    elif isinstance(node, MappingNode) and path[0] in node.entries:
        yield from _texts_at(node.entries[path[0]], path[1:])
    elif isinstance(node, SequenceNode) and path[0] == "*":
        for item in node.items:
            yield from _texts_at(item, path[1:])
