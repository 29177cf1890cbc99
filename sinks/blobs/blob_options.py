"""How blobs are stored."""

from dataclasses import dataclass
from enum import StrEnum

from ingest.api.blobs import MIN_SWEEP_AFTER_S

MIB = 1 << 20
PIN_AGAIN_MS = MIN_SWEEP_AFTER_S * 1000 // 2
"""A writer of pointers pins their blobs again after a call that lasted so long, whatever its own `sweep_after` is."""
HEARTBEAT_MS = MIN_SWEEP_AFTER_S * 1000 // 4
"""Time between two heartbeats of a writer of blocks, whatever its own `sweep_after` is."""


class BlobCompression(StrEnum):
    """Compression of the blocks of a blob."""

    NONE = "none"
    LZ4 = "lz4"
    ZSTD = "zstd"


@dataclass(frozen=True, slots=True)
class BlobOptions:
    """
    The options of a blob store.

    Attributes:
        block_bytes: size of a block before its compression; the last block of a blob may be shorter.
        read_ahead_bytes: blocks that a reader fetches in one call, before their compression; at least one block.
        compression: of each block by itself.
        sweep_after_s: a blob without references is deleted after this time, and so is what a killed writer has left; at
            least `MIN_SWEEP_AFTER_S`.

    Raises:
        ValueError: `sweep_after_s` is less.
    """

    block_bytes: int = 1_000_000
    read_ahead_bytes: int = 4 * MIB
    compression: BlobCompression = BlobCompression.NONE
    sweep_after_s: float = 24 * 3600.0

    def __post_init__(self) -> None:
        if self.sweep_after_s < MIN_SWEEP_AFTER_S:
            raise ValueError(f"sweep_after_s is {self.sweep_after_s}, it must be at least {MIN_SWEEP_AFTER_S}")

    @property
    def sweep_after_ms(self) -> int:
        """`sweep_after_s` in milliseconds."""
        return int(self.sweep_after_s * 1000)
