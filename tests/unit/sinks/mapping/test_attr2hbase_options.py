"""What the options of attr2hbase say about families."""

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
def test_families_the_options_name_are_the_sinks_own(options: dict[str, str], own: set[bytes]):
    settings = Attr2HBase.settings_class().model_validate({"table": "t"} | options)
    assert settings.own_families == own
