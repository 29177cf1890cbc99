"""Blobs on which each command of a blob store has something to do, and the steps at which it may be killed."""

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

from ingest.api import FamilySpec, Store, TableSpec
from ingest.clock import now_ms
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.open_tables import OpenTables
from sinks.blobs.pointers import cell_reference
from sinks.blobs.status import BlobState
from sinks.blobs.tables import BlobTables
from tests.support.blob_findings import findings

STEPS: Mapping[str, Sequence[str]] = {
    "put": ("put_begun", "put_block_written", "put_unpinned"),
    "pin": ("pin_written",),
    "sweep": ("sweep_dropping", "sweep_deleting", "sweep_purging", "sweep_emptied"),
    "check": ("check_repaired",),
    "unpin": ("unpin_begun",),
}
"""Command -> its failpoints."""
COMMANDS = {"put": "blob put", "pin": "blob pin", "unpin": "blob unpin"} | {
    name: f"admin blob {name}" for name in ("sweep", "check")
}
NEW = random.Random(1).randbytes(25_000)
"""What `put` stores, in three blocks."""
_OPTIONS = BlobOptions(block_bytes=10_000)
_HOUR_MS = 3_600_000


class BlobsToWorkOn(NamedTuple):
    """
    Blobs that were stored an hour ago.

    Attributes:
        owner: the table that has them.
        pinned: without a reference; `pin` adds one.
        kept: with a reference, which `unpin` removes; and an orphaned block.
        old: without a reference, in two blocks; a sweep deletes it.
        dangling: with the reference of a cell that does not exist, which a sweep removes.
    """

    owner: str
    pinned: bytes
    kept: bytes
    old: bytes
    dangling: bytes

    @classmethod
    def stored(cls, store: Store[Any], owner: str) -> Self:
        """Store them in the blob store of a table."""
        store.ensure_table(TableSpec(owner, (FamilySpec(b"d"),)))
        blobs = _blobs(store, owner, ago_ms=_HOUR_MS)
        blobs.prepare()
        kept = blobs.put_bytes(b"kept", references=[b"r"]).id
        status = blobs.stat(kept)
        orphaned = replace(status, generation=status.generation - 1)
        OpenTables(store, BlobTables(f"{owner}_blobs")).blocks.write(kept, orphaned, 0, b"orphaned")
        return cls(
            owner,
            blobs.put_bytes(b"pinned").id,
            kept,
            blobs.put_bytes(b"old" * 5_000).id,
            blobs.put_value(b"dangling", cell_reference(b"row", b"d:q")).id,
        )

    def arguments(self, command: str, path: str) -> Sequence[str]:
        """The arguments of a command after the table; `path` has `NEW`."""
        return {
            "put": (path, "--reference", "r"),
            "pin": (self.pinned.hex(), "m"),
            "unpin": (self.kept.hex(), "r"),
            "sweep": (),
            "check": ("--repair",),
        }[command]

    def check(self, store: Store[Any], *commands: str) -> None:
        """Check what some commands have done, and that nothing else has changed."""
        blobs = _blobs(store, self.owner)
        assert len(found := findings(blobs)) == ("check" not in commands), found
        assert blobs.open(self.kept).read() == b"kept"
        assert blobs.references(self.kept) == ([] if "unpin" in commands else [b"r"])
        assert blobs.references(self.pinned) == ([b"m"] if "pin" in commands else [])
        if "put" in commands:
            new = hashlib.sha256(NEW).digest()
            assert (blobs.open(new).read(), blobs.references(new)) == (NEW, [b"r"])
        is_swept = "sweep" in commands
        assert (blobs.stat(self.old).state is BlobState.PURGED) == is_swept
        assert bool(blobs.references(self.dangling)) != is_swept


def damage(store: Store[Any], owner: str) -> list[str]:
    """What is damaged in the blob store of a table."""
    return [each.detail for each in findings(_blobs(store, owner)) if each.kind.is_damage]


def _blobs(store: Store[Any], owner: str, *, ago_ms: int = 0) -> BlobStore:
    name = f"{owner}_blobs"
    return BlobStore(store, name, _OPTIONS, owner=owner, clock_ms=lambda: now_ms() - ago_ms)
