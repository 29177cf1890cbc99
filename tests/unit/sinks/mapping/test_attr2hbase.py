"""The attr2hbase mapping beyond Flume's, whose cases are in `unit/decorators/test_flume_tables.py`."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ingest.api import Delete, Durability, Event, MappingError, Priority, Put
from ingest.api.notation import name_to_bytes
from ingest.testing.events import event_before, settings_of
from sinks.mapping.attr2hbase import Attr2HBase, Attr2HBaseSettings
from sinks.mapping.mapper import Skipped
from tests.support.mapped import only
from tests.support.memos import memo_of

BATCH_MS = 1_700_000_000_000


def mapper(**options):
    return Attr2HBase(Attr2HBaseSettings.model_validate({"table": "t"} | options))


def cells_of(attributes, body=b"", **options):
    """Cells of an event with a row key, without system cells; None if nothing is written."""
    prefix = options.get("attr_prefix", "2hb_")
    event = Event(body, {prefix: b"row"} | attributes, timestamp_ms=5, host="h")
    mapped = only(mapper(**options).map(event, BATCH_MS))
    if mapped == Skipped("no_cells"):
        return None
    system = {b"sys:timestamp", b"sys:host", b"sys:priority"} if "sys_family" in options else set()
    assert system <= set(mapped[1].columns)
    return {column: value for column, value in mapped[1].columns.items() if column not in system} or None


def error_of(settings, event):
    with pytest.raises(MappingError) as caught:
        only(mapper(**settings).map(event, BATCH_MS))
    assert caught.value.hint
    return caught.value.code


class TestNames:
    def test_prefix_is_case_sensitive(self):
        assert cells_of({"2HB_f:q": b"v"}) is None

    def test_only_attributes_with_the_prefix_are_written(self):
        assert cells_of({"x-f:q": b"v", "2hb_f:q": b"w"}, attr_prefix="x-") == {b"f:q": b"v"}

    def test_values_are_bytes_and_may_be_empty(self):
        every = bytes(range(256))
        assert cells_of({"2hb_f:a": every, "2hb_f:b": b""}) == {b"f:a": every, b"f:b": b""}

    def test_names_of_any_bytes(self):
        assert cells_of({"2hb_f:\udcff\x00": b"v"}) == {b"f:\xff\x00": b"v"}

    def test_cache_of_names_is_bounded(self, monkeypatch):
        monkeypatch.setattr("sinks.mapping.attr2hbase._MAX_NAMES", 3)
        one = mapper()
        for number in range(10):
            mapped = only(one.map(Event(b"", {"2hb_": b"r", f"2hb_f:{number}": b"v"}), BATCH_MS))
            assert mapped[1].columns == {b"f:%d" % number: b"v"}
        assert len(memo_of(one).known) <= 3


class TestSystemCells:
    def test_three_cells_of_every_event(self):
        event = Event(b"", {"2hb_": b"123"}, timestamp_ms=0x130D6EA2B54, host="testhost")
        mapped = only(mapper(table="mytable", sys_family="sysColfam").map(event, BATCH_MS))
        columns = {
            b"sysColfam:timestamp": bytes.fromhex("00000130D6EA2B54"),
            b"sysColfam:host": b"testhost",
            b"sysColfam:priority": b"INFO",
        }
        assert mapped == ("mytable", Put(b"123", columns, BATCH_MS))

    def test_event_without_key_is_dropped(self):
        found = mapper(sys_family="sysFam", on_missing_key="drop").map(Event(b"", {"other": b"val0"}), BATCH_MS)
        assert found == Skipped("no_row_key")

    def test_event_with_only_a_key_has_no_cells(self):
        assert only(mapper(sys_family="").map(Event(b"", {"2hb_": b"rk"}), BATCH_MS)) == Skipped("no_cells")

    @pytest.mark.parametrize("durability", list(Durability))
    def test_durability(self, durability):
        mapped = only(mapper(durability=durability.value).map(Event(b"", {"2hb_": b"rk", "2hb_f:q": b"v"}), BATCH_MS))
        assert mapped[1].durability is durability

    def test_without_the_log(self):
        mapped = only(mapper(write_to_wal=False).map(Event(b"", {"2hb_": b"rk", "2hb_f:q": b"v"}), BATCH_MS))
        assert mapped == ("t", Put(b"rk", {b"f:q": b"v"}, BATCH_MS, durability=Durability.SKIP))

    def test_time_beyond_64_bits_is_an_error(self):
        event = Event(b"", {"2hb_": b"rk"}, timestamp_ms=2**63)
        assert error_of({"sys_family": "s"}, event) == "bad_timestamp"

    def test_negative_time_is_written_in_eight_bytes(self):
        event = Event(b"", {"2hb_": b"rk"}, timestamp_ms=-1)
        assert only(mapper(sys_family="s").map(event, BATCH_MS))[1].columns[b"s:timestamp"] == b"\xff" * 8


class TestBody:
    @pytest.mark.parametrize(
        ("options", "body", "expected"),
        [
            ({}, b"EventVal", None),
            ({"write_body": "f:q", "sys_family": "sys"}, b"EventVal", {b"f:q": b"EventVal"}),
            ({"write_body": "f:q"}, b"EventVal", {b"f:q": b"EventVal"}),
            ({}, b"", None),
            ({"write_body": "f:q", "sys_family": "sys"}, b"", None),
            ({"write_body": "f:q"}, b"", None),
            ({"write_body": ""}, b"EventVal", None),
        ],
        ids=["none", "sys", "no-sys", "empty-none", "empty-sys", "empty-no-sys", "empty-option"],
    )
    def test_body_is_written_if_not_empty_and_configured(self, options, body, expected):
        assert cells_of({}, body, **options) == expected

    def test_body_is_not_written_without_write_body(self):
        """As in an imported configuration."""
        assert cells_of({"2hb_f:a": b"1", "2hb_g:b": b"2"}, b"EventVal") == {b"f:a": b"1", b"g:b": b"2"}

    @pytest.mark.parametrize("column", ["f", "f:", ":", ":q", "f:q:", "a:b:c", "a::b", "::"])
    def test_invalid_column_is_rejected(self, column):
        with pytest.raises(ValidationError) as caught:
            mapper(write_body=column)
        assert [(error["type"], error["loc"]) for error in caught.value.errors()] == [("wrong_type", ("write_body",))]


class TestEqualColumns:
    def test_attribute_wins_over_body_and_system(self):
        event = Event(b"body", {"2hb_": b"r", "2hb_s:host": b"mine", "2hb_f:q": b"attribute"}, host="h")
        cells = only(mapper(sys_family="s", write_body="f:q").map(event, BATCH_MS))[1].columns
        assert (cells[b"s:host"], cells[b"f:q"]) == (b"mine", b"attribute")

    def test_body_wins_over_system(self):
        event = Event(b"body", {"2hb_": b"r"}, host="h")
        cells = only(mapper(sys_family="s", write_body="s:host").map(event, BATCH_MS))[1].columns
        assert cells[b"s:host"] == b"body"

    def test_later_attribute_wins(self):
        assert cells_of({"2hb_sys:x": b"1", "2hb_x": b"2"}, sys_family="sys") == {b"sys:x": b"2"}
        assert cells_of({"2hb_x": b"2", "2hb_sys:x": b"1"}, sys_family="sys") == {b"sys:x": b"1"}


class TestRowKey:
    def test_missing_key_is_an_error_by_default(self):
        assert error_of({}, Event(b"", {"2hb_f:q": b"v"})) == "no_row_key"

    def test_empty_key_is_an_error(self):
        assert error_of({}, Event(b"", {"2hb_": b"", "2hb_f:q": b"v"})) == "empty_row_key"

    def test_longest_key_is_written(self):
        event = Event(b"", {"2hb_": b"k" * 32_767, "2hb_f:q": b"v"})
        assert only(mapper().map(event, BATCH_MS))[1].row == b"k" * 32_767

    def test_too_long_key_is_an_error(self):
        assert error_of({}, Event(b"", {"2hb_": b"k" * 32_768, "2hb_f:q": b"v"})) == "row_key_too_long"

    def test_empty_prefix_takes_the_key_from_the_empty_name(self):
        mapped = only(mapper(attr_prefix="").map(Event(b"", {"": b"k", "f:q": b"v"}), BATCH_MS))
        assert mapped[1] == Put(b"k", {b"f:q": b"v"}, BATCH_MS)


class TestTable:
    def test_variables_of_the_table_are_expanded(self):
        event = Event(b"", {"2hb_": b"r", "2hb_f:q": b"v", "app": b"shop"})
        assert only(mapper(table="logs_%{app}").map(event, BATCH_MS))[0] == "logs_shop"

    @pytest.mark.parametrize("app", [b"", b"a b", b"a/b", b"\xff", b"a:b:c", b".a", b"-a", b"hbase:meta", b"default:t"])
    def test_invalid_table_name_is_an_error(self, app):
        event = Event(b"", {"2hb_": b"r", "2hb_f:q": b"v", "app": app})
        assert error_of({"table": "%{app}"}, event) == "bad_table_name"

    def test_table_may_have_a_namespace(self):
        event = Event(b"", {"2hb_": b"r", "2hb_f:q": b"v"})
        assert only(mapper(table="ns:logs").map(event, BATCH_MS))[0] == "ns:logs"

    def test_constant_name_is_checked_with_the_configuration(self):
        with pytest.raises(ValidationError) as caught:
            mapper(table="my table")
        assert caught.value.errors()[0]["type"] == "wrong_type"


EVENT = {"2hb_": b"r", "2hb_f:q": b"v"}


class TestTime:
    def test_cells_have_the_time_of_the_batch_by_default(self):
        assert only(mapper().map(Event(b"", dict(EVENT), timestamp_ms=-5), BATCH_MS))[1].timestamp_ms == BATCH_MS

    def test_cells_may_have_the_time_of_the_event(self):
        mapped = only(mapper(timestamp="event").map(Event(b"", dict(EVENT), timestamp_ms=5), BATCH_MS))
        assert mapped[1].timestamp_ms == 5

    @pytest.mark.parametrize("time", [-1, 2**63 - 1, 2**70])
    def test_invalid_event_time_is_an_error(self, time):
        assert error_of({"timestamp": "event"}, Event(b"", dict(EVENT), timestamp_ms=time)) == "bad_timestamp"


class TestRules:
    DEBUG = "%{priority} == 'DEBUG'"

    def put(self, priority, **options):
        event = Event(b"", {"2hb_": b"r", "2hb_f:q": b"v"}, priority=priority)
        return only(mapper(**options).map(event, BATCH_MS))[1]

    def test_skip_the_log(self):
        rules = [{"when": self.DEBUG, "write_to_wal": False}]
        assert self.put(Priority.DEBUG, rules=rules).durability is Durability.SKIP
        assert self.put(Priority.INFO, rules=rules).durability is Durability.SYNC

    def test_keep_the_log(self):
        rules = [{"when": self.DEBUG, "write_to_wal": True}]
        assert self.put(Priority.DEBUG, rules=rules, write_to_wal=False).durability is Durability.SYNC
        assert self.put(Priority.INFO, rules=rules, write_to_wal=False).durability is Durability.SKIP

    def test_rule_has_a_durability_of_its_own(self):
        rules = [{"when": self.DEBUG, "durability": "async"}]
        assert self.put(Priority.DEBUG, rules=rules, durability="fsync").durability is Durability.ASYNC
        assert self.put(Priority.INFO, rules=rules, durability="fsync").durability is Durability.FSYNC

    def test_rule_without_a_durability_keeps_that_of_the_sink(self):
        rules = [{"when": self.DEBUG, "delete": "row"}]
        assert self.put(Priority.DEBUG, rules=rules, durability="async").durability is Durability.ASYNC

    def test_first_rule_that_holds_wins(self):
        rules = [{"when": self.DEBUG}, {"when": "%{host} == ''", "delete": "row"}]
        assert isinstance(self.put(Priority.DEBUG, rules=rules), Put)
        assert isinstance(self.put(Priority.INFO, rules=rules), Delete)

    @pytest.mark.parametrize(
        ("delete", "expected"),
        [
            ("row", Delete(b"r", BATCH_MS)),
            ({"family": "cf"}, Delete(b"r", BATCH_MS, b"cf")),
            ({"column": "cf:q:r"}, Delete(b"r", BATCH_MS, b"cf", b"q:r")),
            ({"column": "cf:"}, Delete(b"r", BATCH_MS, b"cf", b"")),
        ],
        ids=["row", "family", "column", "empty-qualifier"],
    )
    def test_rule_deletes_a_row_family_or_column(self, delete, expected):
        assert self.put(Priority.DEBUG, rules=[{"when": self.DEBUG, "delete": delete}]) == expected

    def test_delete_without_the_log(self):
        rules = [{"when": self.DEBUG, "delete": "row", "write_to_wal": False}]
        assert self.put(Priority.DEBUG, rules=rules) == Delete(b"r", BATCH_MS, durability=Durability.SKIP)

    def test_delete_needs_no_cells(self):
        one = mapper(rules=[{"when": self.DEBUG, "delete": "row"}])
        mapped = only(one.map(Event(b"", {"2hb_": b"r"}, priority=Priority.DEBUG), BATCH_MS))
        assert mapped[1] == Delete(b"r", BATCH_MS)

    @pytest.mark.parametrize(
        "delete", ["rows", "", {}, {"family": ""}, {"family": "a:b"}, {"column": "cf"}, {"column": ":q"},
                   {"family": "a", "column": "a:b"}, {"row": "x"}]
    )  # fmt: skip
    def test_invalid_delete_is_rejected(self, delete):
        with pytest.raises(ValidationError) as caught:
            mapper(rules=[{"when": self.DEBUG, "delete": delete}])
        assert [(error["type"], error["loc"]) for error in caught.value.errors()] == [
            ("wrong_type", ("rules", 0, "delete"))
        ]

    def test_invalid_condition_is_rejected_with_its_column(self):
        with pytest.raises(ValidationError) as caught:
            mapper(rules=[{"when": "%{priority} =="}])
        (error,) = caught.value.errors()
        assert (error["type"], error["loc"]) == ("bad_expression", ("rules", 0, "when"))
        assert error["ctx"]["column"] > 0


class TestTombstones:
    def test_tombstone_deletes_the_row(self):
        event = Event(b"", {"2hb_": b"r", "2hb_f:q": b"v"}, tombstone=True)
        assert only(mapper().map(event, BATCH_MS)) == ("t", Delete(b"r", BATCH_MS))

    def test_tombstone_without_a_key_is_as_other_events(self):
        event = Event(b"", {}, tombstone=True)
        assert error_of({}, event) == "no_row_key"
        assert mapper(on_missing_key="drop").map(event, BATCH_MS) == Skipped("no_row_key")


class TestGuards:
    def error(self, attributes, **options):
        return error_of(options, Event(b"", {"2hb_": b"r"} | attributes))

    def test_only_allowed_families_are_written(self):
        assert cells_of({"2hb_web:q": b"v"}, families={"allow": ["web"]}) == {b"web:q": b"v"}
        assert self.error({"2hb_app:q": b"v"}, families={"allow": ["web"]}) == "family_not_allowed"

    def test_denied_families_are_refused(self):
        assert self.error({"2hb_app:q": b"v"}, families={"deny": ["app"]}) == "family_not_allowed"

    def test_cached_rejection_is_repeated(self):
        one = mapper(families={"deny": ["app"]})
        for _ in range(2):
            with pytest.raises(MappingError):
                only(one.map(Event(b"", {"2hb_": b"r", "2hb_app:q": b"v"}), BATCH_MS))

    @pytest.mark.parametrize("family", [".x", "a/b", "a\\b", "a\x00", "x" * 128, "recovered.edits"])
    def test_invalid_family_is_an_error(self, family):
        assert self.error({f"2hb_{family}:q": b"v"}) == "bad_family_name"

    def test_name_pattern_must_match_the_whole_qualifier(self):
        columns = {"name_pattern": "[a-z]+"}
        assert cells_of({"2hb_F:abc": b"v"}, columns=columns) == {b"F:abc": b"v"}
        assert self.error({"2hb_f:abc1": b"v"}, columns=columns) == "bad_column_name"

    def test_maximum_number_of_cells(self):
        columns = {"max_per_row": 2}
        assert cells_of({"2hb_f:a": b"", "2hb_f:b": b""}, columns=columns) == {b"f:a": b"", b"f:b": b""}
        assert self.error({"2hb_f:a": b"", "2hb_f:b": b"", "2hb_f:c": b""}, columns=columns) == "too_many_columns"

    def test_maximum_size_of_a_value(self):
        columns = {"max_value_bytes": "3B"}
        assert cells_of({"2hb_f:a": b"123"}, columns=columns) == {b"f:a": b"123"}
        assert self.error({"2hb_f:a": b"1234"}, columns=columns) == "value_too_large"

    @pytest.mark.parametrize("option", [{"sys_family": "internal"}, {"write_body": "internal:q"}])
    def test_own_columns_must_be_allowed(self, option):
        with pytest.raises(ValidationError) as caught:
            mapper(families={"deny": ["internal"]}, **option)
        assert caught.value.errors()[0]["type"] == "conflict"

    def test_invalid_name_pattern_is_rejected(self):
        with pytest.raises(ValidationError) as caught:
            mapper(columns={"name_pattern": "["})
        assert caught.value.errors()[0]["type"] == "bad_pattern"


@pytest.mark.parametrize("example", Attr2HBase.examples, ids=lambda example: example.title)
def test_examples_are_written(example):
    one = Attr2HBase(settings_of(Attr2HBaseSettings, example.settings))
    assert not isinstance(only(one.map(event_before(example), BATCH_MS)), Skipped)


def test_settings_survive_pickling():
    settings = mapper(table="%{app}", rules=[{"when": "%{host} == 'a'", "delete": "row"}]).settings
    assert pickle.loads(pickle.dumps(settings)) == settings  # noqa: S301 - our own


@given(
    st.dictionaries(st.sampled_from(["2hb_", "2hb_f:q", "2hb_g", "2hb_:", "x"]) | st.text(), st.binary()),
    st.binary(),
    st.sampled_from([{}, {"sys_family": "s"}, {"attr_prefix": ""}, {"write_body": "b:b"}]),
)
def test_any_event_is_mapped_dropped_or_an_error(attributes, body, options):
    try:
        mapped = only(mapper(**options).map(Event(body, attributes), BATCH_MS))
    except MappingError:
        return
    if not isinstance(mapped, Skipped):
        assert mapped[1].row == attributes[options.get("attr_prefix", "2hb_")]
        for column in mapped[1].columns:
            family, colon, _ = column.partition(b":")
            assert family
            assert colon


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1))
def test_qualifier_follows_the_first_colon(qualifier):
    assert cells_of({f"2hb_f:{qualifier}": b"v"}) == {b"f:" + name_to_bytes(qualifier): b"v"}


@pytest.mark.parametrize(
    ("name", "without", "with_sys"),
    [
        ("2hb_f:q", b"f:q", b"f:q"),
        ("2hb_f:", b"f:", b"s:f:"),
        ("2hb_f", None, b"s:f"),
        ("2hb_:q", None, b"s::q"),
        ("2hb_:", None, b"s::"),
    ],
)
def test_name_without_family_or_qualifier(name, without, with_sys):
    event = Event(b"", {"2hb_": b"rk", "2hb_a:b": b"x", name: b"1"})
    columns = [only(mapper(**sink).map(event, BATCH_MS))[1].columns for sink in ({}, {"sys_family": "s"})]
    assert [{each for each, value in found.items() if value == b"1"} for found in columns] == [
        set() if without is None else {without},
        {with_sys},
    ]
