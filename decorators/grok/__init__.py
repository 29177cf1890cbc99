"""
Find named patterns in text.

`decorator` has the decorator, `expansion` turns `%{NAME}` into regular expressions, `library` has the known patterns.
"""

from decorators.grok.decorator import Grok

__all__ = ["Grok"]
