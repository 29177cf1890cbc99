"""
Flume's escape expressions as our templates.

Flume passes over what is no tag and leaves out tags it does not know; here both are errors, so a template is written
that gives the same.

Source: Event.escapeString of Flume 0.9.
"""

import re
from dataclasses import dataclass

from ingest.expressions.grammar import CORE_NAMES, DATE_LETTERS

_TAG = re.compile(r"%(?:(?P<letter>[A-Za-z0-9_%])|\{(?P<name>[A-Za-z0-9_.-]+)\})")
_FLUMES_OWN = frozenset({"host", "hostname", "nanos", "priority", "body", "timestamp"})
_ROLLTAG = "rolltag"
_SAME_EVERYWHERE = frozenset("st%")  # letters: seconds and milliseconds since 1970


@dataclass(frozen=True, slots=True)
class Translated:
    """
    A template.

    Attributes:
        notes: what the reader should know of it.
        is_zoned: whether what it gives depends on the time zone.
    """

    template: str
    notes: tuple[str, ...] = ()
    is_zoned: bool = False


def literal(text: str) -> str:
    """A template that gives this text, whatever is in it."""
    return text.replace("%", "%%")


def template_of(pattern: str) -> Translated:
    """A template that gives what Flume's expression gave."""
    pieces: list[str] = []
    notes: list[str] = []
    is_zoned = False
    end = 0
    for tag in _TAG.finditer(pattern):
        pieces.append(literal(pattern[end : tag.start()]))
        end = tag.end()
        letter, name = tag["letter"], tag["name"]
        if name is not None:
            pieces.append(_attribute(name))
            if name == _ROLLTAG:
                notes.append("%{rolltag} was set by roll sinks; here it is what the event has under that name")
        elif letter == "%" or letter in DATE_LETTERS:
            pieces.append(tag[0])
            is_zoned |= letter not in _SAME_EVERYWHERE
        else:
            notes.append(f'"{tag[0]}" is no tag of Flume, which left it out with a warning; so does this')
    pieces.append(literal(pattern[end:]))
    return Translated("".join(pieces), tuple(dict.fromkeys(notes)), is_zoned)


def _attribute(name: str) -> str:
    """A tag that means the attribute also where our language has a part of the event of that name."""
    is_hidden = name in CORE_NAMES and name not in _FLUMES_OWN
    return f"%{{'{name}'}}" if is_hidden else f"%{{{name}}}"
