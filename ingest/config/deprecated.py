"""Options in a file that are deprecated: they work, and a later version removes them."""

from collections.abc import Iterator
from typing import NamedTuple, get_args, get_origin

from pydantic.fields import FieldInfo

from ingest.api import Model
from ingest.config.nodes import MappingNode, Node, SequenceNode
from ingest.config.problems import Place
from ingest.config.translate import branches


class DeprecatedOption(NamedTuple):
    """
    A deprecated option that a file sets.

    Attributes:
        place: of its name.
        replacement: what to write instead.
    """

    place: Place
    name: str
    replacement: str


def deprecated_options(annotation: object, node: Node) -> Iterator[DeprecatedOption]:
    """The deprecated options among those of a node, also in nested options, lists and mappings."""
    for branch in branches(annotation):
        if isinstance(branch, type) and issubclass(branch, Model) and isinstance(node, MappingNode):
            for name, child in node.entries.items():
                if (field := branch.model_fields.get(name)) is None:
                    continue
                if (replacement := _replacement(field)) is not None:
                    yield DeprecatedOption(node.keys[name], name, replacement)
                yield from deprecated_options(field.annotation, child)
        elif get_origin(branch) is dict and isinstance(node, MappingNode):
            for child in node.entries.values():
                yield from deprecated_options(get_args(branch)[1], child)
        elif get_origin(branch) is list and isinstance(node, SequenceNode):
            for child in node.items:
                yield from deprecated_options(get_args(branch)[0], child)


def _replacement(field: FieldInfo) -> str | None:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    return str(extra["replacement"]) if extra.get("deprecated") else None
