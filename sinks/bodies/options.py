"""How bodies are stored."""

from dataclasses import dataclass
from enum import StrEnum

MIB = 1 << 20


class BodyCompression(StrEnum):
    """Compression of the blocks of a body."""

    NONE = "none"
    LZ4 = "lz4"
    ZSTD = "zstd"


@dataclass(frozen=True, slots=True)
class BodyOptions:
    """
    The options of a body store.

    Attributes:
        block_bytes: size of a block before its compression; the last block of a body may be shorter.
        read_ahead_bytes: blocks that a reader fetches in one call, before their compression; at least one block.
        compression: of each block by itself.
        sweep_after_s: a body without references is deleted after this time, and so is what a killed writer has left.
    """

    block_bytes: int = 1_000_000
    read_ahead_bytes: int = 4 * MIB
    compression: BodyCompression = BodyCompression.NONE
    sweep_after_s: float = 24 * 3600.0

    @property
    def sweep_after_ms(self) -> int:
        """`sweep_after_s` in milliseconds."""
        return int(self.sweep_after_s * 1000)
