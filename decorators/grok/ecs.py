"""
The library with the field names of the Elastic Common Schema, as Logstash's grok has them with `ecs_compatibility: v1`.

A field of objects, `[source][ip]` in Logstash, has a dotted name, `source.ip`, as everywhere here.
"""

from decorators.grok.family import renamed
from decorators.grok.library import FAMILIES

ECS_LIBRARY = {
    name: renamed(pattern, family.fields)
    for family in FAMILIES
    for name, pattern in {**family.patterns, **family.ecs}.items()
}
"""Name -> pattern."""
