"""Unique names."""

import itertools
import os
import re

_NUMBERS = itertools.count(1)


def unique(what: str) -> str:
    """A unique name for a topic, table or group: letters, digits and underscores, with prefix `what`."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '_', what).strip('_')}_{os.getpid()}_{next(_NUMBERS)}"
