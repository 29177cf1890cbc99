"""What blob stores count."""

from collections import Counter


def counted_blobs(
    table: str, stored: int = 0, stored_bytes: int = 0, deduplicated: int = 0
) -> Counter[tuple[str, str]]:
    """As `WriteCounts.counted`, without zeros."""
    amounts = {"blobs_stored": stored, "blobs_stored_bytes": stored_bytes, "blobs_deduplicated": deduplicated}
    return Counter({(name, table): amount for name, amount in amounts.items() if amount})
