"""Edge cases of last_n."""

import pytest

from ingest.api import NotMergeableError
from sinks.updates.processors.last_n import LastN

FIVE = LastN(LastN.settings_class()(n=5))


@pytest.mark.parametrize(
    ("values", "merged"),
    [
        ((b"90", b"100", b"120"), b'["120","100","90"]'),
        ((b"90", b"100", b"120", b"115", b"110"), b'["110","115","120","100","90"]'),
        ((b"90", b"100", b"120", b"115", b"110", b"105"), b'["105","110","115","120","100"]'),
    ],
)
def test_prices(values: tuple[bytes, ...], merged: bytes) -> None:
    """The example of HBaseHUT."""
    assert FIVE.merge([FIVE.update(value) for value in values]) == merged


@pytest.mark.parametrize(
    ("value", "update"),
    [
        (b"", b'[""]'),
        (b'{"b64":"AA=="}', b'["{\\"b64\\":\\"AA==\\"}"]'),
        (b"\x00", b'["\\u0000"]'),
        (b"\xff", b'[{"b64":"/w=="}]'),
        ("größe".encode(), '["größe"]'.encode()),
    ],
)
def test_every_value_has_one_form(value: bytes, update: bytes) -> None:
    assert FIVE.update(value) == update


@pytest.mark.parametrize(
    "stored", [b"", b"1", b"{}", b"[1]", b"[null]", b'[{"b64":"?"}]', b'[{"b":1}]', b'["a"', b"\xff"]
)
def test_other_bytes_are_no_array_of_last_n(stored: bytes) -> None:
    with pytest.raises(NotMergeableError):
        FIVE.merge([stored, *[FIVE.update(b"x")] * 6])
