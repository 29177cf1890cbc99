"""The columns that a worker remembers."""

import pytest

from ingest.api import Put
from sinks.writing import known_families
from sinks.writing.known_families import KnownFamilies


@pytest.fixture
def families(monkeypatch: pytest.MonkeyPatch) -> KnownFamilies:
    monkeypatch.setattr(known_families, "MAX_VALID_BYTES", 100)
    return KnownFamilies(lambda _table: frozenset({b"f"}), lambda: 0.0)


def test_columns_of_many_bytes_replace_earlier_ones(families: KnownFamilies) -> None:
    for number in range(20):
        families.add_valid("t", Put(b"r", {b"f:%03d" % number: b""}, 1))
        assert b"f:%03d" % number in families.valid_columns["t"]
    families.add_valid("t", Put(b"r", {b"f:" + b"x" * 20: b""}, 1))
    assert families.valid_columns["t"] == {b"f:" + b"x" * 20}


def test_columns_of_too_many_bytes_are_not_remembered(families: KnownFamilies) -> None:
    families.add_valid("t", Put(b"r", {b"f:" + b"x" * 99: b""}, 1))
    assert families.valid_columns["t"] == set()
