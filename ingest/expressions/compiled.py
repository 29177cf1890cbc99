"""Compiled expressions: closures over events, with what they read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ingest.api.event import Event, Priority
from ingest.api.notation import name_to_bytes
from ingest.expressions.grammar import is_name, is_number, quoted
from ingest.expressions.numbers import Number as Numeric


class LintWarning(NamedTuple):
    """
    A part of an expression that is valid but probably a mistake.

    Attributes:
        column: of the part in the text, from 1.
        hint: what to write instead; may be "".
    """

    column: int
    message: str
    hint: str


Value = Callable[[Event], bytes | None]
Count = Callable[[Event], Numeric | None]


@dataclass(frozen=True, slots=True)
class Expression:
    """
    A compiled node.

    Attributes:
        value: its bytes for an event, None if absent.
        number: its number for an event, if it is always a number, such as an offset; else None.
        constant: its bytes if they are the same for every event, else None.
        attributes: names of the attributes it reads, in the order of the text.
        core: the core names it reads.
        filled: as `value`, but empty if absent; None if it has to be derived from `value`.
        integer: its number for an event, if that is always an integer, written as `value`; else None.
        parts: the arguments of which it consists.
        branch: which of two expressions it is for an event; None if it is no choice.
        asked: what only the condition of a choice reads; it is never the reason why a value is absent.
    """

    value: Value
    number: Count | None = None
    constant: bytes | None = None
    attributes: tuple[str, ...] = ()
    core: frozenset[str] = frozenset()
    filled: Callable[[Event], bytes] | None = None
    integer: Callable[[Event], int] | None = None
    parts: tuple["Expression", ...] = ()
    branch: Callable[[Event], "Expression"] | None = None
    asked: frozenset[str] = frozenset()

    @property
    def may_lack(self) -> tuple[str | None, ...]:
        """What it reads that an event may lack: attributes, and None for the key."""
        return (*self.attributes, None) if "key" in self.core else self.attributes

    @property
    def references(self) -> frozenset[str]:
        """All it reads: core names, and attributes as `attribute:NAME`."""
        return self.core | {f"attribute:{name}" for name in self.attributes} | self.asked

    def lacking(self, event: Event) -> Iterator[str | None]:
        """What of `may_lack` an event lacks, in their order; nothing of an argument that `if` does not choose."""
        if self.branch is not None:
            yield from self.branch(event).lacking(event)
        elif self.parts:
            for part in self.parts:
                yield from part.lacking(event)
        else:
            yield from (
                name for name in self.may_lack if (not event.key if name is None else name not in event.attributes)
            )


def constant(data: bytes) -> Expression:
    """An expression with a constant value."""
    return Expression(value=lambda _event: data, constant=data)


def attribute_hint(text: str) -> str:
    """A hint for quoted text that may be the name of an attribute."""
    if is_name(text) and not is_number(text):
        return f"for the attribute write %{{{text}}}, inside a function {text} without quotes"
    return f"for the attribute write %{{{quoted(text)}}}" if ":" in text else ""


_PRIORITIES = {priority: priority.value.encode("ascii") for priority in Priority}


def core(name: str, value: Callable[[Event], bytes]) -> Expression:
    """An expression that reads one core name, and is never absent."""
    return Expression(value, core=frozenset({name}), filled=value)


def _core_number(name: str, number: Callable[[Event], int]) -> Expression:
    def value(event: Event) -> bytes:
        return b"%d" % number(event)

    return Expression(value, number, core=frozenset({name}), filled=value, integer=number)


_HOST = core("host", lambda event: name_to_bytes(event.host))
CORE = {
    "body": core("body", lambda event: event.body),
    "host": _HOST,
    "hostname": _HOST,
    "key": Expression(lambda event: event.key or None, core=frozenset({"key"}), filled=lambda event: event.key),
    "nanos": _core_number("nanos", lambda event: event.nanos),
    "offset": _core_number("offset", lambda event: event.origin.offset),
    "partition": _core_number("partition", lambda event: event.origin.partition),
    "priority": core("priority", lambda event: _PRIORITIES[event.priority]),
    "timestamp": _core_number("timestamp", lambda event: event.timestamp_ms),
    "topic": core("topic", lambda event: name_to_bytes(event.origin.topic)),
}
"""Core name -> its expression."""
