"""
The library with the field names of the Elastic Common Schema, as Logstash's grok has them with `ecs_compatibility: v1`.

A field of objects, `[source][ip]` in Logstash, has a dotted name, `source.ip`, as everywhere here.
"""

import re

from decorators.grok.family import Family
from decorators.grok.library import FAMILIES

_CAPTURE = re.compile(r"(%\{\w+:|\(\?<)(\w[\w-]*)(?=[}>])")


def _with_fields(family: Family) -> dict[str, str]:
    return {
        name: _CAPTURE.sub(lambda found: found[1] + family.fields.get(found[2], found[2]), pattern)
        for name, pattern in {**family.patterns, **family.ecs}.items()
    }


ECS_LIBRARY = {name: pattern for family in FAMILIES for name, pattern in _with_fields(family).items()}
"""Name -> pattern."""
