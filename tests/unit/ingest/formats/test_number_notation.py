"""Numbers in other notations; the tests of convert cover them in detail."""

import pytest

from ingest.api import DecorateError
from ingest.formats.number_notation import number_reader


def test_separators_and_white_space_are_removed():
    assert number_reader(",", ".'")(b" +1.234'567,50\n") == b"1234567.5"


def test_decimal_point_of_another_notation_is_an_error():
    with pytest.raises(DecorateError, match=r'"1\.5" is not a number'):
        number_reader(",", "")(b"1.5")
