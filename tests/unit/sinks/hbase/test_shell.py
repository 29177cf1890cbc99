"""Commands for the hbase shell."""

from ingest.api import FamilySpec, TableSpec
from sinks.hbase.shell import shell_alter, shell_attributes, shell_change, shell_create


def test_alter_with_two_families() -> None:
    assert shell_alter(
        "t", [FamilySpec(b"a"), FamilySpec(b"b", versions=3, ttl_s=60, compression="gz", bloom="none")]
    ) == (
        "alter 't', {NAME => 'a', VERSIONS => 1, COMPRESSION => 'NONE', BLOOMFILTER => 'ROW'}, "
        "{NAME => 'b', VERSIONS => 3, TTL => 60, COMPRESSION => 'GZ', BLOOMFILTER => 'NONE'}"
    )


def test_create_with_splits_that_are_not_text() -> None:
    spec = TableSpec("ns:t", (FamilySpec(b"it's"),), splits=(b"\x00\xff", b"m", b"#{x}"))
    assert shell_create(spec) == (
        "create 'ns:t', {NAME => \"it\\x27s\", VERSIONS => 1, COMPRESSION => 'NONE', BLOOMFILTER => 'ROW'}, "
        'SPLITS => ["\\x00\\xFF", \'m\', "\\x23{x}"]'
    )


def test_attributes_besides_the_options() -> None:
    spec = TableSpec("t", (FamilySpec(b"a"), FamilySpec(b"b")), attributes=((b"b", "IN_MEMORY", "true"),))
    assert shell_create(spec) == (
        "create 't', {NAME => 'a', VERSIONS => 1, COMPRESSION => 'NONE', BLOOMFILTER => 'ROW'}, "
        "{NAME => 'b', VERSIONS => 1, COMPRESSION => 'NONE', BLOOMFILTER => 'ROW', IN_MEMORY => 'true'}"
    )
    assert shell_attributes("t", b"b", {"IN_MEMORY": "true", "BLOCKCACHE": "false"}) == (
        "alter 't', {NAME => 'b', IN_MEMORY => 'true', BLOCKCACHE => 'false'}"
    )


def test_change_sets_ttl_forever() -> None:
    """It is the default of a new family, but not of a changed one."""
    options = "COMPRESSION => 'NONE', BLOOMFILTER => 'ROW'"
    assert (
        shell_change("t", FamilySpec(b"f")) == f"alter 't', {{NAME => 'f', VERSIONS => 1, TTL => 'FOREVER', {options}}}"
    )
    assert (
        shell_change("t", FamilySpec(b"f", ttl_s=5))
        == f"alter 't', {{NAME => 'f', VERSIONS => 1, TTL => 5, {options}}}"
    )
