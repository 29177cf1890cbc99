"""
Find named patterns in a text: `decorator` is the decorator itself, `expansion` turns `%{NAME}` into regular
expressions, `library` holds the known patterns.
"""

from decorators.grok.decorator import Grok

__all__ = ["Grok"]
