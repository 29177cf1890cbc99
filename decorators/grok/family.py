"""Patterns of one family, with the names of what they capture."""

import re
from collections.abc import Mapping
from typing import NamedTuple

_CAPTURE = re.compile(r"(%\{\w+:|\(\?<)(\w[\w-]*)(?=[}>])")


class Family(NamedTuple):
    """
    Patterns of lines that one program writes, or several that write alike, and of parts of these lines.

    Attributes:
        patterns: name -> pattern, with the captures of Logstash's older names.
        fields: name of a capture -> field of the Elastic Common Schema with the same value.
        ecs: name -> pattern for the schema, where a field has another value than any capture of the usual pattern;
            its captures are fields, or have a name of `fields`.
    """

    patterns: Mapping[str, str]
    fields: Mapping[str, str]
    ecs: Mapping[str, str] = {}


def renamed(pattern: str, names: Mapping[str, str]) -> str:
    """A pattern with other names of captures, by old name; a capture that has no other one keeps its name."""
    return _CAPTURE.sub(lambda found: found[1] + names.get(found[2], found[2]), pattern)
