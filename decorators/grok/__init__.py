"""
Find named patterns in a text: `decorator` is the step, `expansion` turns `%{NAME}` into regular expressions, `library`
holds the patterns everybody knows.
"""

from decorators.grok.decorator import Grok

__all__ = ["Grok"]
