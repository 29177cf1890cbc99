"""Names that were probably meant, for whoever is given one that there is not."""

import difflib
from collections.abc import Iterable

_MAX_NAME = 100  # letters; nobody misspells longer names
_BEGIN = 4  # letters that are enough to say how a name begins


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one; None when no name is."""
    if len(name) > _MAX_NAME:
        return None
    known = sorted(known)
    begun = [other for other in known if other.startswith(name)]
    if len(name) >= _BEGIN and len(begun) == 1:  # cut short, which difflib rates low where much is left out
        return begun[0]
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return near[0]
    # case and the two ways to join words are the usual slips that difflib rates too low
    return {_folded(other): other for other in known}.get(_folded(name))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest of the known names, or ""."""
    near = nearest(name, known)
    return "" if near is None else f'did you mean "{near}"?'


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")
