"""Options in a file that are deprecated: they work, and a later version removes them."""

from collections.abc import Iterator
from typing import NamedTuple

from pydantic.fields import FieldInfo

from ingest.api import Model
from ingest.config.nodes import MappingNode, Node
from ingest.config.problems import Place
from ingest.config.translate import typed_nodes


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
    for kind, found in typed_nodes(annotation, node):
        if isinstance(kind, type) and issubclass(kind, Model) and isinstance(found, MappingNode):
            for name in found.entries:
                field = kind.model_fields.get(name)
                if field is not None and (replacement := _replacement(field)) is not None:
                    yield DeprecatedOption(found.keys[name], name, replacement)


def _replacement(field: FieldInfo) -> str | None:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    return str(extra["replacement"]) if extra.get("deprecated") else None
