"""The hbase mapping: the behaviour of Flume's sink, and its extensions."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ingest.api import Delete, Durability, Event, MappingError, Priority, Put
from ingest.decorating.names import BoundedMemo, K, T
from ingest.testing.events import event_before, random_events, settings_of
from sinks.mapping.hbase import HBase, HBaseSinkSettings
from sinks.mapping.mapper import Skipped
from tests.support.mapped import only
from tests.support.reads import Reads

BATCH_MS = 1_700_000_000_000
EVERY_BYTE = bytes(range(256))


def cell(value="%{body}", family="f", qualifier="q", **options):
    return {"family": family, "qualifier": qualifier, "value": value} | options


def mapper(*cells, row="%{key}", on_missing="error", **options):
    row_key = {"template": row, "on_missing": on_missing}
    content = {"table": "t", "row_key": row_key, "cells": list(cells) or [cell()]} | options
    return HBase(HBaseSinkSettings.model_validate(content))


def event(body=b"", key=b"r", **options):
    return Event(body, options.pop("attributes", {}), key=key, **options)


def cells_of(*cells, given=None, **options):
    mapped = only(mapper(*cells, **options).map(given or event(), BATCH_MS))
    return mapped if isinstance(mapped, Skipped) else mapped[1].columns


def error_of(one, given):
    with pytest.raises(MappingError) as caught:
        only(one.map(given, BATCH_MS))
    return caught.value


def problems_of(*cells, **options):
    with pytest.raises(ValidationError) as caught:
        mapper(*cells, **options)
    return [(error["type"], error["loc"]) for error in caught.value.errors()]


class TestFlume:
    """The cases of Flume's documentation; a triple (family, qualifier, value) is a cell."""

    def test_hbase_t_host_rowkey_family1_priority_body_family2_col2_badescape(self):
        triples = (cell("%{body}", "family1", "%{priority}"), cell("%{badescape}", "family2", "col2"))
        given = event(b"message0", attributes={"rowkey": b"row-key0"}, host="qwigibo")
        put = Put(b"qwigibo-row-key0", {b"family1:INFO": b"message0", b"family2:col2": b""}, BATCH_MS)
        assert only(mapper(*triples, row="%{host}-%{rowkey}").map(given, BATCH_MS)) == ("t", put)

    def test_hbase_t_nanos_f_body_body_f_host_host(self):
        one = mapper(cell("%{body}", qualifier="body"), cell("%{host}", qualifier="host"), row="%{nanos}")
        put = only(one.map(event(b"b", host="h1", nanos=17), BATCH_MS))[1]
        assert put == Put(b"17", {b"f:body": b"b", b"f:host": b"h1"}, BATCH_MS)

    def test_hbase_t_r_f_q_is_a_config_error(self):
        assert problems_of({"family": "f", "qualifier": "q"}, row="r") == [("missing", ("cells", 0, "value"))]

    def test_missing_attribute_gives_an_empty_value(self):
        assert cells_of(cell("%{none}")) == {b"f:q": b""}

    def test_empty_qualifier_is_allowed(self):
        assert cells_of(cell("v", qualifier=""), cell("w", "g", "%{none}")) == {b"f:": b"v", b"g:": b"w"}

    def test_empty_cells_are_written(self):
        assert cells_of(cell("%{a}"), cell("%{b}", qualifier="p")) == {b"f:q": b"", b"f:p": b""}

    def test_missing_attribute_in_the_row_key_of_an_imported_sink(self):
        """Flume wrote all such events to one row, without a warning."""
        one = mapper(row="%{host}-%{missing}", on_missing="empty")
        assert only(one.map(event(host="h"), BATCH_MS))[1].row == b"h-"

    def test_wal_off_in_an_imported_sink(self):
        assert only(mapper(write_to_wal=False).map(event(), BATCH_MS))[1].durability is Durability.SKIP

    def test_later_of_equal_cells_wins(self):
        assert cells_of(cell("1"), cell("2")) == {b"f:q": b"2"}
        assert cells_of(cell("1"), cell("2", qualifier="%{priority}"), cell("3", qualifier="INFO")) == {
            b"f:q": b"1",
            b"f:INFO": b"3",
        }


class TestBytes:
    def test_bytes_are_unchanged(self):
        given = event(EVERY_BYTE, attributes={"a": EVERY_BYTE})
        listed = (cell("%{body}"), cell("<%{a}>", qualifier="a"), cell("%{a}", qualifier="raw", encoding="raw"))
        assert cells_of(*listed, given=given) == {
            b"f:q": EVERY_BYTE,
            b"f:a": b"<" + EVERY_BYTE + b">",
            b"f:raw": EVERY_BYTE,
        }

    def test_row_key_and_qualifier_of_any_bytes(self):
        given = event(EVERY_BYTE, key=EVERY_BYTE)
        put = only(mapper(cell("v", qualifier="%{body}")).map(given, BATCH_MS))[1]
        assert (put.row, put.columns) == (EVERY_BYTE, {b"f:" + EVERY_BYTE: b"v"})

    @pytest.mark.parametrize(
        ("encoding", "body", "expected"),
        [
            ("utf8", b"7", b"7"),
            ("int32", b"7", b"\0\0\0\x07"),
            ("int64", b"7", b"\0" * 7 + b"\x07"),
            ("float64", b"7", b"@\x1c" + b"\0" * 6),
            ("hex", b"07", b"\x07"),
            ("base64", b"Bw==", b"\x07"),
            ("raw", b"7", b"7"),
        ],
    )
    def test_value_is_written_in_its_encoding(self, encoding, body, expected):
        assert cells_of(cell(encoding=encoding), given=event(body)) == {b"f:q": expected}

    def test_error_of_an_encoding_names_the_cell(self):
        error = error_of(mapper(cell(qualifier="%{host}", encoding="int64")), event(b"abc"))
        assert (error.code, str(error)) == ("not_a_number", 'the cell "f:…": "abc" is not a whole number')

    def test_empty_value_is_no_number(self):
        error = error_of(mapper(cell("%{none}", encoding="int64")), event())
        assert (error.code, "on_missing: unset" in error.hint) == ("not_a_number", True)

    def test_constant_is_encoded_at_construction(self):
        assert cells_of(cell("7", encoding="int32")) == {b"f:q": b"\0\0\0\x07"}
        assert problems_of(cell("x", encoding="int32"), cell("zz", encoding="hex")) == [
            ("wrong_type", ("cells", 0)),
            ("wrong_type", ("cells", 1)),
        ]


class TestOnMissing:
    GIVEN = event(b"b", attributes={"here": b"1"})

    def test_unset_leaves_the_cell_out(self):
        listed = (cell("%{none}", on_missing="unset"), cell("%{here}", qualifier="h", on_missing="unset"))
        assert cells_of(*listed, given=self.GIVEN) == {b"f:h": b"1"}

    def test_empty_attribute_is_not_missing(self):
        given = event(attributes={"x": b""})
        assert cells_of(cell("%{x}", on_missing="unset"), given=given) == {b"f:q": b""}

    def test_error_fails_the_event(self):
        error = error_of(mapper(cell("%{none}", on_missing="error")), self.GIVEN)
        assert (error.code, error.message) == ("no_attribute", 'no attribute "none" for the cell "f:q"')

    @pytest.mark.parametrize("name", ["family", "qualifier", "value"])
    def test_unset_applies_to_every_template_of_the_cell(self, name):
        listed = (cell(**{name: "x%{none}"}, on_missing="unset"), cell("1", "g"))
        assert cells_of(*listed, given=self.GIVEN) == {b"g:q": b"1"}

    @pytest.mark.parametrize("on_missing", ["empty", "unset", "error"])
    def test_every_template_is_rendered_once(self, on_missing):
        names = ["row", "family", "qualifier", "value"]
        given = event()
        given.attributes = Reads(dict.fromkeys(names, b"a"))
        row, family, qualifier, value = (f"%{{lower({name})}}" for name in names)
        assert cells_of(cell(value, family, qualifier, on_missing=on_missing), row=row, given=given) == {b"a:a": b"a"}
        assert given.attributes.of == dict.fromkeys(names, 1)

    @pytest.mark.parametrize("name", ["family", "qualifier"])
    def test_value_of_an_unset_cell_is_not_encoded(self, name):
        listed = cell(**{"value": "%{body}", name: "%{none}"}, encoding="int32", on_missing="unset")
        assert cells_of(listed, cell("1", "g"), given=self.GIVEN) == {b"g:q": b"1"}

    def test_core_names_are_never_missing(self):
        assert cells_of(cell("%{host}%{body}", on_missing="error"), given=self.GIVEN) == {b"f:q": b"b"}

    def test_default_is_not_missing(self):
        listed = cell("%{default(none, 'd')}", on_missing="error")
        assert cells_of(listed, given=self.GIVEN) == {b"f:q": b"d"}

    def test_event_without_cells_is_dropped(self):
        assert cells_of(cell("%{none}", on_missing="unset")) == Skipped("no_cells")


class TestRowKey:
    def test_missing_attribute_is_an_error(self):
        error = error_of(mapper(row="%{host}-%{missing}"), event(host="h"))
        assert error.code == "no_row_key"
        assert str(error).startswith('no attribute "missing" for the row key;')

    def test_messages_do_not_contain_the_template(self):
        made = mapper(row="%{hmac_sha256(missing, 'pepper')}-%{host}")
        assert "pepper" not in str(error_of(made, event(host="h")))
        listed = cell(qualifier="%{hmac_sha256(host, 'pepper')}", encoding="int64")
        assert "pepper" not in str(error_of(mapper(listed), event(b"x", host="h")))

    def test_missing_attribute_may_drop_the_event(self):
        assert only(mapper(row="%{missing}", on_missing="drop").map(event(), BATCH_MS)) == Skipped("no_row_key")

    def test_missing_attribute_may_be_empty(self):
        assert only(mapper(row="a%{missing}b", on_missing="empty").map(event(), BATCH_MS))[1].row == b"ab"

    @pytest.mark.parametrize("on_missing", ["error", "drop", "empty"])
    def test_empty_row_key_is_an_error(self, on_missing):
        given = event(key=b"", attributes={"x": b""})
        assert error_of(mapper(row="%{x}", on_missing=on_missing), given).code == "empty_row_key"

    def test_key_that_the_record_lacks_is_missing(self):
        keyless = event(key=b"")
        error = error_of(mapper(row="%{key}-1"), keyless)
        assert (error.code, error.message) == ("no_row_key", "no key for the row key")
        assert only(mapper(row="%{key}-1", on_missing="empty").map(keyless, BATCH_MS))[1].row == b"-1"
        assert only(mapper(row="%{default(key, 'k')}-1").map(keyless, BATCH_MS))[1].row == b"k-1"

    def test_only_a_longer_key_is_refused(self):
        assert only(mapper().map(event(key=b"k" * 32_767), BATCH_MS))[1].row == b"k" * 32_767
        assert error_of(mapper(), event(key=b"k" * 32_768)).code == "row_key_too_long"

    @pytest.mark.parametrize("template", ["", "k" * 32_768], ids=["empty", "too-long"])
    def test_constant_key_is_checked_with_the_configuration(self, template):
        assert problems_of(row=template) == [("out_of_range", ("row_key", "template"))]


class TestTable:
    def test_variables_of_the_table_are_expanded(self):
        assert only(mapper(table="logs_%{host}").map(event(host="web"), BATCH_MS))[0] == "logs_web"

    def test_invalid_table_name_is_an_error(self):
        assert error_of(mapper(table="%{host}"), event(host="a b")).code == "bad_table_name"

    def test_constant_name_is_checked_with_the_configuration(self):
        assert problems_of(table="my table") == [("wrong_type", ("table",))]


class TestNames:
    def test_family_from_the_event(self):
        assert cells_of(cell("v", "%{host}"), given=event(host="web")) == {b"web:q": b"v"}

    @pytest.mark.parametrize("host", ["", ".x", "a:b", "a/b", "x" * 128, "\udcff\0"])
    def test_invalid_family_is_an_error(self, host):
        assert error_of(mapper(cell("v", "%{host}")), event(host=host)).code == "bad_family_name"

    @pytest.mark.parametrize("family", ["", ".x", "a:b", "x" * 128])
    def test_constant_families_are_checked_with_the_configuration(self, family):
        assert problems_of(cell(), cell("v", family)) == [("conflict", ("cells", 1, "family"))]

    def test_denied_and_allowed_families(self):
        one = mapper(cell("v", "%{host}"), families={"deny": ["internal"], "allow": ["internal", "web"]})
        assert only(one.map(event(host="web"), BATCH_MS))[1].columns == {b"web:q": b"v"}
        for host in ("internal", "internal", "other"):
            assert error_of(one, event(host=host)).code == "family_not_allowed"

    @pytest.mark.parametrize("families", [{"deny": ["f"]}, {"allow": ["g"]}], ids=["deny", "allow"])
    def test_constant_families_must_be_allowed(self, families):
        found = problems_of(cell(), cell("v", "g", "%{host}"), families={"deny": [], **families})
        assert found == [("conflict", ("cells", 0, "family"))]

    def test_name_pattern_applies_to_qualifiers_from_the_event(self):
        one = mapper(cell("v", qualifier="FIXED"), cell("v", qualifier="%{host}"), columns={"name_pattern": "[a-z]+"})
        assert only(one.map(event(host="a"), BATCH_MS))[1].columns == {b"f:FIXED": b"v", b"f:a": b"v"}
        assert error_of(one, event(host="A")).code == "bad_column_name"

    def test_row_above_a_limit_fails(self):
        two = mapper(cell(qualifier="a"), cell("%{x}", qualifier="b", on_missing="unset"), columns={"max_per_row": 1})
        assert only(two.map(event(b"v"), BATCH_MS))[1].columns == {b"f:a": b"v"}
        assert error_of(two, event(b"v", attributes={"x": b""})).code == "too_many_columns"
        small = mapper(columns={"max_value_bytes": "3B"})
        assert error_of(small, event(b"1234")).code == "value_too_large"

    def test_caches_of_names_are_bounded(self, monkeypatch):
        memos = []

        class Remembered(BoundedMemo[K, T]):
            def __init__(self, *arguments, **options):
                super().__init__(*arguments, **options)
                memos.append(self)

        for module in ("sinks.mapping.hbase", "sinks.mapping.tables"):
            monkeypatch.setattr(f"{module}.BoundedMemo", Remembered)
            monkeypatch.setattr(f"{module}._MAX_NAMES", 3)
        one = mapper(cell("v", qualifier="%{body}"), table="t%{body}")
        for number in range(10):
            table, put = only(one.map(event(b"%d" % number), BATCH_MS))
            assert (table, put.columns) == (f"t{number}", {b"f:%d" % number: b"v"})
        assert [0 < len(memo.known) <= 3 for memo in memos] == [True, True]

    @pytest.mark.parametrize(
        ("listed", "own"),
        [
            ([cell()], {b"f"}),
            ([cell(), cell(family="g"), cell(family="g", qualifier="%{host}")], {b"f", b"g"}),
            ([cell(), cell(family="%{host}")], {b"f"}),
        ],
        ids=["one", "two", "of-the-event"],
    )
    def test_own_families_are_the_constant_ones(self, listed, own):
        assert mapper(*listed).settings.own_families == own


class TestTime:
    def test_cells_have_the_time_of_the_batch_by_default(self):
        assert only(mapper().map(event(timestamp_ms=-5), BATCH_MS))[1].timestamp_ms == BATCH_MS

    def test_cells_may_have_the_time_of_the_event(self):
        assert only(mapper(timestamp="event").map(event(timestamp_ms=5), BATCH_MS))[1].timestamp_ms == 5
        assert error_of(mapper(timestamp="event"), event(timestamp_ms=-1)).code == "bad_timestamp"


class TestDeletes:
    DEBUG = "%{priority} == 'DEBUG'"
    GIVEN = event(priority=Priority.DEBUG)

    @pytest.mark.parametrize(
        ("delete", "expected"),
        [
            ("row", Delete(b"r", BATCH_MS)),
            ({"family": "cf"}, Delete(b"r", BATCH_MS, b"cf")),
            ({"column": "cf:q:r"}, Delete(b"r", BATCH_MS, b"cf", b"q:r")),
        ],
        ids=["row", "family", "column"],
    )
    def test_rule_deletes_a_row_family_or_column(self, delete, expected):
        one = mapper(rules=[{"when": self.DEBUG, "delete": delete}])
        assert only(one.map(self.GIVEN, BATCH_MS)) == ("t", expected)
        assert isinstance(only(one.map(event(), BATCH_MS))[1], Put)

    def test_rule_needs_no_cells(self):
        one = mapper(cell("%{none}", on_missing="error"), rules=[{"when": self.DEBUG, "delete": "row"}])
        assert only(one.map(self.GIVEN, BATCH_MS))[1] == Delete(b"r", BATCH_MS)

    def test_rule_needs_a_row_key(self):
        one = mapper(row="%{none}", rules=[{"when": self.DEBUG, "delete": "row"}])
        assert error_of(one, self.GIVEN).code == "no_row_key"

    def test_rule_for_the_log(self):
        one = mapper(rules=[{"when": self.DEBUG, "write_to_wal": False}])
        assert [only(one.map(each, BATCH_MS))[1].durability for each in (self.GIVEN, event())] == ["skip", "sync"]

    def test_tombstone_deletes_the_row(self):
        assert only(mapper().map(event(tombstone=True), BATCH_MS)) == ("t", Delete(b"r", BATCH_MS))


class TestOptions:
    def test_at_least_one_cell(self):
        assert problems_of(cells=[]) == [("too_short", ("cells",))]

    @pytest.mark.parametrize(
        ("options", "path"),
        [
            ({"encoding": "int16"}, ("cells", 0, "encoding")),
            ({"on_missing": "drop"}, ("cells", 0, "on_missing")),
            ({"qualifier": 5}, ("cells", 0, "qualifier")),
            ({"value": "%{a"}, ("cells", 0, "value")),
            ({"type": "x"}, ("cells", 0, "type")),
        ],
        ids=lambda value: "" if isinstance(value, tuple) else "-".join(value),
    )
    def test_invalid_options_of_a_cell_have_their_place(self, options, path):
        assert [where for _, where in problems_of(cell() | options)] == [path]

    def test_row_key_without_template_has_a_hint(self):
        with pytest.raises(ValidationError) as caught:
            mapper(row_key="%{key}")
        (error,) = caught.value.errors()
        assert (error["type"], error["loc"]) == ("wrong_type", ("row_key",))
        assert error["ctx"]["hint"] == 'write row_key: {template: "…"}'

    def test_settings_survive_pickling(self):
        settings = mapper(cell("%{x}", on_missing="unset", encoding="int64"), table="%{host}").settings
        assert pickle.loads(pickle.dumps(settings)) == settings  # noqa: S301 - our own


@pytest.mark.parametrize("example", HBase.examples, ids=lambda example: example.title)
def test_examples_are_written(example):
    one = HBase(settings_of(HBaseSinkSettings, example.settings))
    assert not isinstance(only(one.map(event_before(example), BATCH_MS)), Skipped)


@given(
    st.builds(
        cell,
        st.sampled_from(["%{body}", "%{a}", "x", "%{a}%{host}"]),
        st.sampled_from(["f", "%{a}"]),
        st.sampled_from(["q", "%{a}", ""]),
        encoding=st.sampled_from(["utf8", "int32", "float64", "hex", "base64", "raw"]),
        on_missing=st.sampled_from(["empty", "unset", "error"]),
    ),
    st.sampled_from(["error", "drop", "empty"]),
)
def test_mapping_of_any_event_is_repeatable(listed, on_missing):
    try:
        one, again = (mapper(listed, row="%{key}%{b}", on_missing=on_missing) for _ in range(2))
    except ValidationError:
        return  # a constant that cannot be encoded
    for each in random_events(20):
        outcomes = []
        for tried in (one, again, one):
            try:
                outcomes.append(only(tried.map(each, BATCH_MS)))
            except MappingError as error:
                outcomes.append((error.code, str(error)))
        assert outcomes[0] == outcomes[1] == outcomes[2]
