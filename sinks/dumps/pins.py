"""Pins: a dump that has one does not expire, until the pin does."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ingest.api import ConfigError, NotFoundError
from ingest.durable.lock import this_process
from ingest.durable.record import Record, UnreadableRecordError
from sinks.dumps.errors import DumpNotAvailableError
from sinks.dumps.layout import PINS, Moment
from sinks.dumps.listing import complete_dump
from sinks.files.root import Root

DEFAULT_TTL_MS = 24 * 3_600_000
"""How long a pin is valid without a renewal."""
_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class Pin(Record, kind="pin"):
    """
    A pin.

    Attributes:
        id: unique.
        dump: that it keeps.
        owner: who has created it, for people.
        expires_ms: time from which it has no effect, ms since the epoch.
    """

    id: str
    dump: str
    owner: str
    expires_ms: Annotated[Moment, Field(alias="expires")]

    @property
    def path(self) -> str:
        """Of its file, below the root."""
        return f"{PINS}/{self.id}{_SUFFIX}"

    def write(self, root: Root) -> None:
        """Create or renew it, durably."""
        root.make_folder(PINS)
        root.write(self.path, self.to_bytes())


def create_pin(root: Root, dump: str, now_ms: int, *, owner: str = "", ttl_ms: int = DEFAULT_TTL_MS) -> Pin:
    """
    Pin a complete dump; it does not expire when this returns.

    Args:
        root: that has it.
        dump: its name.
        now_ms: ms since the epoch.
        owner: for people; this process by default.
        ttl_ms: how long it is valid.

    Raises:
        DumpNotAvailableError: the dump is not complete, or has expired in the meantime.
        ConfigError: the time is not positive.
        OSError: of the file system.
    """
    if ttl_ms <= 0:
        raise ConfigError("a pin is valid for at least a millisecond", hint="write --for 24h")
    pin = Pin(secrets.token_hex(16), dump, owner or this_process(), now_ms + ttl_ms)
    pin.write(root)
    # the expiry reads the pins again after it has removed `_SUCCESS`, so one of the two sees the other
    if complete_dump(root, dump) is None:
        root.remove_file(pin.path)
        raise DumpNotAvailableError(
            f'there is no complete dump "{dump}" in "{root}"', hint="'attr2hbase dump ls' lists them"
        )
    return pin


def remove_pin(root: Root, pin_id: str) -> None:
    """
    Remove a pin.

    Raises:
        NotFoundError: there is none of this id.
        OSError: of the file system.
    """
    if not pin_id.isalnum() or not root.exists(f"{PINS}/{pin_id}{_SUFFIX}"):
        raise NotFoundError(f'there is no pin "{pin_id}" in "{root}"', hint="'attr2hbase dump ls' lists the pins")
    root.remove_file(f"{PINS}/{pin_id}{_SUFFIX}")


def pins(root: Root, on_unreadable: Callable[[str], None] = lambda _path: None) -> list[Pin]:
    """
    The pins of a root, also those that have expired.

    Args:
        root: that has them.
        on_unreadable: called with the path of each file that is no pin.
    """
    found = []
    for name in root.file_names(PINS):
        path = f"{PINS}/{name}"
        if not name.endswith(_SUFFIX):
            continue
        try:
            found.append(Pin.of(root.read(path), path))
        except FileNotFoundError:
            continue
        except UnreadableRecordError:
            on_unreadable(path)
    return found
