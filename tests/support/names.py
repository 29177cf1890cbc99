"""Names that no other test has used."""

import itertools
import os
import re

_NUMBERS = itertools.count(1)


def unique(what: str) -> str:
    """A name for a topic, table or group: letters, digits and underscores, begins with `what`."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '_', what).strip('_')}_{os.getpid()}_{next(_NUMBERS)}"
