"""Times of day, as `02:00`."""

import re

_TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
PATTERN = rf"^{_TIME_OF_DAY.pattern}$"
"""Of the text of an option."""


def seconds_of_day(text: str | None) -> int | None:
    """Seconds from midnight to a time of day; None for another text."""
    found = _TIME_OF_DAY.fullmatch(text or "")
    return None if found is None else int(found[1]) * 3600 + int(found[2]) * 60
