"""Rules for the number of buckets of a salted table."""

MAX_BUCKETS = 256  # values of the byte that precedes the row key
_MULTIPLIER = 31  # of the hash: modulo a multiple of it, only the last bytes of the key decide the bucket
_SKEWED = (_MULTIPLIER - 1, _MULTIPLIER + 1)  # modulo a multiple, little more than the sum of the digits decides


def buckets_rejection(buckets: int) -> str | None:
    """Why a table cannot have this number of buckets; None if it can."""
    if not 1 <= buckets <= MAX_BUCKETS:
        return f"a table has 1 to {MAX_BUCKETS} buckets, not {buckets}"
    if buckets % _MULTIPLIER == 0:
        return (
            f"{buckets} buckets are a multiple of {_MULTIPLIER}, which leaves most buckets empty; use "
            f"{_nearest_good(buckets)}"
        )
    return None


def buckets_warning(buckets: int) -> str | None:
    """What to know about an allowed number of buckets; None if nothing."""
    if _is_skewed(buckets):
        return (
            f"row keys with decimal numbers in them spread unevenly over {buckets} buckets, as over every multiple of "
            f"{_SKEWED[0]} or {_SKEWED[1]}; use 16, or {_nearest_good(buckets)}"
        )
    return None


def splits_of(buckets: int | None) -> tuple[bytes, ...]:
    """Split points that give each bucket a region; none without buckets."""
    return tuple(bytes([bucket]) for bucket in range(1, buckets or 1))


def _is_skewed(buckets: int) -> bool:
    return any(buckets % number == 0 for number in _SKEWED)


def _nearest_good(buckets: int) -> int:
    """The nearest smaller number that is neither rejected nor warned about."""
    return next(number for number in range(buckets - 1, 0, -1) if number % _MULTIPLIER and not _is_skewed(number))
