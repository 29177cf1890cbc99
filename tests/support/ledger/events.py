"""
Events with a known outcome and known cells.

The same seed gives the same events. An event contains its producer and number, the row of the event WINDOW before it,
and a hash of its content. So a row shows whether it is complete, and which other row must exist.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

WINDOW = 1_009  # distance to the event that an event refers to; a prime, so that it may be in another partition
FAMILIES = (b"l", b"d")
HASH, PREVIOUS, PRODUCER, NUMBER = b"l:hash", b"l:prev", b"l:p", b"l:n"
BODY, ODD, ODD_NAME = b"d:body", b"d:odd", "d:a:größe😀".encode()
COLUMNS = frozenset({HASH, PREVIOUS, PRODUCER, NUMBER, BODY, ODD, ODD_NAME})
DROP_REASON = "ledger_rule"
POISON_CODE = "no_attribute"

_SIZES = (1, 127, 128, 255, 256, 1_023, 1_024, 4_095, 4_096)
_LARGE = (65_535, 65_536, 200_000)
_FIXED = (
    b"",
    bytes(range(256)),
    b"\0" * 7,
    b"\xff\xfe\xc3(\xed\xa0\x80",  # invalid UTF-8
    "😀 \N{REPLACEMENT CHARACTER} e\N{COMBINING ACUTE ACCENT}".encode(),
    "\N{RIGHT-TO-LEFT OVERRIDE}שלום مرحبا".encode(),
    b'{"json": [1, 2',
    b"%{key}-%{nanos}:%%\r\n\t,",
)


class Outcome(StrEnum):
    """The required outcome of an event."""

    STORED = "stored"
    DEAD_LETTERED = "dead_lettered"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Event:
    """
    One event.

    Attributes:
        key: key of the record, and row key.
        hash: 32 hex digits over body and attributes.
    """

    producer: int
    number: int
    outcome: Outcome
    key: bytes
    body: bytes
    headers: Sequence[tuple[str, bytes]]
    hash: bytes

    @property
    def cells(self) -> dict[bytes, bytes]:
        """Column -> value of its row."""
        return cells_of(self.body, self.headers)


@dataclass(frozen=True)
class Events:
    """
    All events of a run.

    Attributes:
        run: name of the run; row keys of two runs differ.
        poison: one of this many events fails in the chain; 0 for none.
        dropped: one of this many events is dropped by a rule; 0 for none.
        rows: number of rows, which events overwrite; None for a row for each event.
        sizes: number of an event -> size of its body.
        dead: number of an event -> error code of its dead letter, for failures that the test causes.
    """

    run: str
    seed: int
    poison: int = 61
    dropped: int = 17
    rows: int | None = None
    sizes: Mapping[int, int] | None = None
    dead: Mapping[int, str] | None = None

    def event(self, producer: int, number: int) -> Event:
        """The event with a number."""
        stream = hashlib.shake_256(f"{self.seed}|{producer}|{number}".encode())
        choice = stream.digest(16)
        body = self._body(number, choice, stream)
        previous = self.row(producer, number - WINDOW) if number >= WINDOW else b""
        headers = [
            ("pn", b"%d:%d" % (producer, number)),
            ("class", self._class(number, choice)),
            ("2hb_l:prev", previous),
            ("2hb_d:odd", _FIXED[choice[5] % len(_FIXED)]),
            ("2hb_" + ODD_NAME.decode(), choice[: choice[6] % 9]),
        ]
        digest = hash_of(cells_of(body, headers))
        headers.append(("2hb_l:hash", digest))
        return Event(
            producer, number, self.outcome(producer, number), self.row(producer, number), body, tuple(headers), digest
        )

    def outcome(self, producer: int, number: int) -> Outcome:
        """The required outcome of the event with a number."""
        if self.dead is not None and number in self.dead:
            return Outcome.DEAD_LETTERED
        choice = hashlib.shake_256(f"{self.seed}|{producer}|{number}".encode()).digest(16)
        return {b"P": Outcome.DEAD_LETTERED, b"D": Outcome.DROPPED}.get(self._class(number, choice), Outcome.STORED)

    def code(self, number: int) -> str:
        """Error code of the required dead letter."""
        return (self.dead or {}).get(number, POISON_CODE)

    def row(self, producer: int, number: int) -> bytes:
        """Row key; keys are spread over the whole table."""
        slot = number if self.rows is None else number % self.rows
        return hashlib.sha256(f"{self.run}|{producer}|{slot}".encode()).digest()[:16]

    def partition(self, number: int, partitions: int) -> int:
        """Where it is sent: a row is always in the same partition, as long as the topic has the same number."""
        return (number if self.rows is None else number % self.rows) % partitions

    def _class(self, number: int, choice: bytes) -> bytes:
        if self.dead is not None and number in self.dead:
            return b"K"  # passes the chain; the test makes it fail
        draw = int.from_bytes(choice[8:12], "big")
        if self.poison and draw % self.poison == 0:
            return b"P"
        return b"D" if self.dropped and draw % self.dropped == 1 else b"K"

    def _body(self, number: int, choice: bytes, stream: Any) -> bytes:
        if self.sizes is not None and number in self.sizes:
            size = self.sizes[number]
        elif number % 997 == 996:
            size = _LARGE[choice[0] % len(_LARGE)]
        elif choice[0] < 64:
            return _FIXED[choice[1] % len(_FIXED)]
        elif choice[0] < 72:
            size = _SIZES[choice[1] % len(_SIZES)]
        else:
            size = choice[1]
        return bytes(stream.digest(size)) if size else b""


def cells_of(body: bytes | None, headers: Sequence[tuple[str, bytes | None]]) -> dict[bytes, bytes]:
    """Column -> value that the chain sets for a record."""
    attributes = {name: value or b"" for name, value in headers}
    producer, _, number = attributes.get("pn", b"").partition(b":")
    cells = {name[4:].encode(): value for name, value in attributes.items() if name.startswith("2hb_")}
    return cells | {PRODUCER: producer, NUMBER: number, BODY: body or b""}


def hash_of(cells: Mapping[bytes, bytes]) -> bytes:
    """32 hex digits over all cells except the hash."""
    digest = hashlib.sha256()
    for column in sorted(cells):
        if column != HASH:
            value = cells[column]
            digest.update(b"%d %d " % (len(column), len(value)) + column + value)
    return digest.hexdigest()[:32].encode()


def chain() -> list[dict[str, Any]]:
    """The decorators for the events: some events are dropped, some fail, the rest become rows."""
    return [
        {"filter": {"drop": "%{class} == 'D'", "reason": DROP_REASON}},
        {
            "value": {
                "attribute": "2hb_d:odd",
                "value": "%{'no such attribute'}",
                "when": "%{class} == 'P'",
                "on_missing": "error",
            }
        },
        {"split": {"source": "pn", "separator": ":", "attributes": ["2hb_l:p", "2hb_l:n"]}},
        {"value": {"attribute": "2hb_d:body", "value": "%{body}"}},
        {"value": {"attribute": "2hb_", "value": "%{key}"}},
    ]
