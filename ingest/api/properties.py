"""Rules for the properties of a table."""

import re
from collections.abc import Mapping

BUCKETS = "buckets"
"""Not a property, although some stores keep it beside them: it changes by rules of its own."""
_NAME = re.compile(r"[a-z0-9_.-]+")


def check_property(name: str, *values: str | None) -> None:
    """
    Check the arguments of `Store.set_property`.

    Raises:
        ValueError: the name has other characters than a to z, 0 to 9, `_`, `.` and `-`, or is `buckets`; or a value
            is empty.
    """
    if not _NAME.fullmatch(name) or name == BUCKETS:
        raise ValueError(f'"{name}" cannot be the name of a property')
    if "" in values:
        raise ValueError(f'a value of property "{name}" is empty; None is no value')


def with_property(
    properties: Mapping[str, str], name: str, before: str | None, value: str | None
) -> Mapping[str, str] | None:
    """
    The properties of a table after `Store.set_property`; None if the present value is neither `before` nor `value`.

    Args:
        properties: of the table; returned itself if it has the value already.
        name: of the property.
        before: the expected value; None for no property.
        value: the new value; None removes the property.
    """
    present = properties.get(name)
    if present == value:
        return properties
    if present != before:
        return None
    others = {other: text for other, text in properties.items() if other != name}
    return others if value is None else others | {name: value}
