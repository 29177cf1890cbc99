"""Patterns of one family, with the names of what they capture."""

from collections.abc import Mapping
from typing import NamedTuple


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
