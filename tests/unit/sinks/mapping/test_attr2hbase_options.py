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


@pytest.mark.parametrize(
    ("options", "tables"),
    [
        ({"table": "t"}, ("t",)),
        ({"table": "eu_%{topic}"}, ("eu_a", "eu_b")),
        ({"table": "eu_%{topic}", "when": "%{topic} == 'a'"}, ()),
        ({"table": "%{topic}_%{kind}"}, ()),
    ],
    ids=["fixed", "of-the-topic", "of-some-topics", "of-an-attribute"],
)
def test_tables_of_topics_are_known_if_nothing_else_decides(options: dict[str, str], tables: tuple[str, ...]):
    settings = Attr2HBase.settings_class().model_validate(options)
    assert settings.tables_of(["a", "b"]) == tables
