"""Rules for the number of buckets of a salted table."""

MAX_BUCKETS = 256  # values of the byte that precedes the row key
_MULTIPLIER = 31  # of the hash: modulo a multiple of it, only the last bytes of the key decide the bucket
_SKEWED_FROM = 32  # buckets, a power of two: digits differ in their low bits only


def buckets_rejection(buckets: int) -> str | None:
    """Why a table cannot have this number of buckets; None if it can."""
    if not 1 <= buckets <= MAX_BUCKETS:
        return f"a table has 1 to {MAX_BUCKETS} buckets, not {buckets}"
    if buckets % _MULTIPLIER == 0:
        return f"{buckets} buckets are a multiple of {_MULTIPLIER}, which leaves most buckets empty; use {buckets + 1}"
    return None


def buckets_warning(buckets: int) -> str | None:
    """What to know about an allowed number of buckets; None if nothing."""
    if buckets >= _SKEWED_FROM and buckets & (buckets - 1) == 0:
        return (
            f"row keys with decimal numbers in them spread unevenly over {buckets} buckets, as over every power of two "
            f"from {_SKEWED_FROM}; use 16, or {buckets - 2}"
        )
    return None


def splits_of(buckets: int | None) -> tuple[bytes, ...]:
    """Split points that give each bucket a region; none without buckets."""
    return tuple(bytes([bucket]) for bucket in range(1, buckets or 1))
