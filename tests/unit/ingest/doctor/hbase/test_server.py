"""Properties with bytes in place of fractions, and the versions that know them."""

import pytest

from ingest.api import ConfigError
from ingest.doctor.hbase import settings_checks as checks
from ingest.doctor.hbase.server import BLOCK_CACHE_BYTES, MEMSTORE_BYTES, MIN_FREE_BYTES, VERSION, RegionServer
from ingest.formats.hadoop_site import Property

MIB = 1 << 20
ALL = (BLOCK_CACHE_BYTES, MIN_FREE_BYTES, MEMSTORE_BYTES)


def server(version: str | None = None, value: str = "64m") -> RegionServer:
    properties = {name: Property(value) for name in ALL}
    return RegionServer.of(properties | ({} if version is None else {VERSION: Property(version)}))


@pytest.mark.parametrize(
    ("version", "known"),
    [
        ("2.4.18", ()),
        ("2.5.10", ()),
        ("2.5.11", ALL[:1]),
        ("2.5.12", ALL[:1]),
        ("2.5.13", ALL[:2]),
        ("2.5.14", ALL),
        ("2.6.1", ()),
        ("2.6.2", ALL[:1]),
        ("2.6.3", ALL[:1]),
        ("2.6.4", ALL[:2]),
        ("2.6.4-hadoop3", ALL[:2]),
        ("2.6.5", ALL),
        ("2.7.0", ALL),
        ("3.0.0-alpha-4", ()),
        ("3.0.0-beta-1", ()),
        ("3.0.0", ALL),
        ("3.1.0-beta-1", ALL),
        ("10.0.0", ALL),
        (None, ALL),
    ],
)
def test_older_versions_ignore_sizes_in_bytes(version: str | None, known: tuple[str, ...]) -> None:
    found = server(version)
    sizes = (found.block_cache_bytes, found.min_free_bytes, found.memstore_bytes)
    assert [size is not None for size in sizes] == [name in known for name in ALL]
    assert found.ignored == tuple(sorted(set(ALL) - set(known)))
    assert found.needs_heap == bool(known)
    warnings = [each for each in checks.old_names(found) if each.check == "M3"]
    assert [each.message for each in warnings] == [f"HBase {version} does not know {name}" for name in found.ignored]
    assert {each.severity.value for each in warnings} <= {"warning"}


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1048576", MIB),
        ("1m", MIB),
        ("1MB", MIB),
        (" 1 megabytes ", MIB),
        ("1.5g", 1536 * MIB),
        ("2k", 2048),
        ("7b", 7),
        ("7 bytes", 7),
        ("1t", MIB * MIB),
        ("0", 0),
        ("-1", -1),
    ],
)
def test_size_is_written_as_hbase_reads_it(text: str, size: int) -> None:
    assert server(value=text).block_cache_bytes == size


@pytest.mark.parametrize("text", ["1.5", "m", "40%", "1 x", "1e3m"])
def test_size_that_hbase_cannot_read_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match=f'is "{text}", not a size'):
        server(value=text)
