"""
Find named patterns in text.

`decorator` has the decorator, `expansion` turns `%{NAME}` into regular expressions, `library` has the known patterns,
of families with a file each, and `ecs` the same with fields of ECS.
"""

from decorators.grok.decorator import Grok

__all__ = ["Grok"]
