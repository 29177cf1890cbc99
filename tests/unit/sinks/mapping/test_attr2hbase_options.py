"""Families in the options of attr2hbase."""

import pytest

from sinks.mapping.attr2hbase import Attr2HBase


@pytest.mark.parametrize(
    ("options", "own"),
    [
        ({}, set()),
        ({"sys_family": "sys"}, {b"sys"}),
        ({"write_body": "raw:line"}, {b"raw"}),
        ({"sys_family": "sys", "write_body": "sys:line"}, {b"sys"}),
    ],
    ids=["none", "system-cells", "body", "both-the-same"],
)
def test_own_families_are_those_of_the_options(options: dict[str, str], own: set[bytes]):
    settings = Attr2HBase.settings_class().model_validate({"table": "t"} | options)
    assert settings.own_families == own
