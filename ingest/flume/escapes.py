"""
Translates Flume's escape sequences to templates.

Flume keeps text that is not a tag and removes unknown tags; both are errors in a template, so the translation writes
the equivalent text.

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
    A translated template.

    Attributes:
        notes: differences from the original, for the user.
        is_zoned: whether it depends on the time zone.
    """

    template: str
    notes: tuple[str, ...] = ()
    is_zoned: bool = False


def literal(text: str) -> str:
    """A template that renders exactly this text."""
    return text.replace("%", "%%")


def template_of(pattern: str) -> Translated:
    """The template that is equivalent to Flume's expression."""
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
                notes.append("%{rolltag} was set by roll sinks; here it is the event's attribute of that name")
        elif letter == "%" or letter in DATE_LETTERS:
            pieces.append(tag[0])
            is_zoned |= letter not in _SAME_EVERYWHERE
        else:
            notes.append(f'"{tag[0]}" is not a tag of Flume, which removed it with a warning; it is removed here, too')
    pieces.append(literal(pattern[end:]))
    return Translated("".join(pieces), tuple(dict.fromkeys(notes)), is_zoned)


def _attribute(name: str) -> str:
    """A tag for the attribute, quoted if the name is a core name of ours and not of Flume's."""
    is_hidden = name in CORE_NAMES and name not in _FLUMES_OWN
    return f"%{{'{name}'}}" if is_hidden else f"%{{{name}}}"
