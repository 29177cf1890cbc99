"""A table for scans with patterns, and the rows and seeks that they take."""

import itertools

import pytest

USERS, ROWS_OF_ACTION = range(1, 101), range(25)
ROWS = [
    b"%04d_%s_%03d" % key for key in itertools.product(USERS, (b"buy", b"login", b"logout", b"view"), ROWS_OF_ACTION)
]

# patterns, rows returned, seeks, rows touched
COUNTS = [
    pytest.param(("????_login_",), 2500, 112, 2611, id="an action"),
    pytest.param(("????_login_", "????_view_"), 5000, 201, 5200, id="two actions"),
    pytest.param(("0050_login_",), 25, 1, 26, id="a prefix"),
    pytest.param(("????_nosuch_",), 0, 112, 111, id="no such action"),
    pytest.param(("??5?_login_",), 250, 14, 263, id="a digit"),
]
REVERSE_COUNTS = [pytest.param(*case.values[:2], id=case.id) for case in COUNTS]
